"""Tokenization, truncation and windows of long texts, and batches of texts of equal length."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from infolm_metric.core.checks import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PROBE = "The cat's 3rd CAFÉ, naïve   in 東京: ½ #tag 🙂\n[MASK]"
TEXTS_PER_STEP = 1000  # texts tokenized at a time
# Maximum tokens per forward pass by device type, for batch_size="auto".
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 65_536}

Batched = TypeVar("Batched")


@dataclass(frozen=True)
class Template:
    """Special tokens that a tokenizer adds around a text, and the id of its mask token."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    mask: int  # -1 if the tokenizer has none

    @property
    def overhead(self) -> int:
        """Number of special tokens around a text."""
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True)
class TokenizedText:
    """Token ids of a text, including special tokens, after truncation."""

    ids: np.ndarray  # int64 [tokens]
    maskable: np.ndarray  # bool [tokens]
    too_long: bool = False  # exceeded the maximum length before truncation

    @property
    def tokens(self) -> np.ndarray:
        """Ids of the maskable tokens, int64 [maskable]."""
        tokens: np.ndarray = self.ids[self.maskable]
        return tokens


@dataclass(frozen=True)
class Window:
    """Part of a long text that fits the model.

    Windows overlap, but each maskable token of the text is encoded in only one window.
    """

    ids: np.ndarray  # int64 [tokens]
    indices: np.ndarray  # of the tokens among the text's maskable tokens, int64 [indices]
    positions: np.ndarray  # of these tokens in `ids`, int64 [indices]


def check_max_length(
    max_length: int | None, special_tokens: int, limit: int | None = None, texts: int = 1
) -> None:
    """Check that `max_length` is within the limit and leaves room for a token per text."""
    least = special_tokens + texts
    if max_length is not None and max_length < least:
        content = "one token" if texts == 1 else "one token of each text"
        raise InputError(
            f"max_length must be at least {least} ({content} and {special_tokens} special tokens), "
            f"got {max_length!r}"
        )
    if max_length is not None and limit is not None and max_length > limit:
        remedy = ". Use long_text='window' for longer texts." if texts == 1 else ""
        raise InputError(
            f"max_length must be at most {limit}, the model's maximum length, got "
            f"{max_length!r}{remedy}"
        )


def device_limit(limits: Mapping[str, int], device: str) -> int:
    """Return the limit for a device type. Types without an entry have the CPU's limit.

    >>> device_limit(TOKENS_PER_BATCH, "mps")
    4096
    """
    return limits.get(device, limits["cpu"])


def equal_length_batches(
    lengths: Iterable[int], rows: int | None, most_tokens: int
) -> Iterator[list[int]]:
    """Yield batches of indices of equally long texts, longest first, so that none is padded.

    A batch has at most `rows` texts, or at most `most_tokens` tokens if `rows` is None.

    >>> list(equal_length_batches([2, 3, 2], 1, 8)), list(equal_length_batches([2, 3, 2], None, 8))
    ([[1], [0], [2]], [[1], [0, 2]])
    """
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length, []).append(index)
    for length, group in sorted(groups.items(), reverse=True):
        size = rows or max(1, most_tokens // length)
        for start in range(0, len(group), size):
            yield group[start : start + size]


def pack(
    groups: Iterable[Batched], cost: Callable[[Batched], float], limit: float
) -> Iterator[list[Batched]]:
    """Yield lists of consecutive groups that cost at most `limit` in total, or of a single group.

    >>> list(pack([3, 1, 1, 5], cost=float, limit=4))
    [[3, 1], [1], [5]]
    """
    packed: list[Batched] = []
    room = limit
    for group in groups:
        if packed and cost(group) > room:
            yield packed
            packed, room = [], limit
        packed.append(group)
        room -= cost(group)
    if packed:
        yield packed


def packed_batches(
    lengths: Sequence[int], rows: int | None, most_tokens: int
) -> Iterator[list[list[int]]]:
    """Yield batches that consist of groups of texts of equal length, longest first.

    A batch has at most `rows` texts, or at most `most_tokens` tokens if `rows` is None.

    >>> list(packed_batches([2, 3, 2], None, 8))
    [[[1], [0, 2]]]
    """
    groups = equal_length_batches(lengths, rows, most_tokens)
    return pack(
        groups, lambda group: len(group) * (1 if rows else lengths[group[0]]), rows or most_tokens
    )


def find_template(tokenizer: PreTrainedTokenizerBase) -> Template:
    """Tokenize a probe to find the special tokens that `tokenizer` adds around a text."""
    probe = tokenizer("a", return_special_tokens_mask=True)
    ids, special = probe["input_ids"], np.asarray(probe["special_tokens_mask"], dtype=bool)
    positions = np.flatnonzero(~special)
    mask = -1 if tokenizer.mask_token_id is None else int(tokenizer.mask_token_id)
    return Template(tuple(ids[: positions[0]]), tuple(ids[positions[-1] + 1 :]), mask)


def tokenize(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], max_length: int | None, long_text: str
) -> Iterator[TokenizedText]:
    """Tokenize texts. `max_length` includes special tokens.

    Positions that the tokenizer flags as special are not maskable. Unknown tokens and special
    strings in the text are maskable. Depending on `long_text`, texts longer than `max_length` are
    truncated ("truncate"), returned whole ("window") or rejected with an InputError ("error").
    """
    for start in range(0, len(texts), TEXTS_PER_STEP):
        encoded = tokenizer(
            list(texts[start : start + TEXTS_PER_STEP]),
            return_special_tokens_mask=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            # Truncated below, because truncation by the tokenizer changes state that threads share.
            truncation=False,
            padding=False,
            verbose=False,
        )
        rows = zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True)
        for offset, (ids, special) in enumerate(rows):
            text = TokenizedText(
                np.asarray(ids, dtype=np.int64),
                ~np.asarray(special, dtype=bool),
                max_length is not None and len(ids) > max_length,
            )
            if text.too_long and long_text == "error":
                raise InputError(
                    f"texts must have at most max_length={max_length!r} tokens, got {len(ids)}: "
                    f"{texts[start + offset][:60]!r}.... Shorten the text, or set "
                    f"long_text='truncate' or long_text='window'."
                )
            if text.too_long and long_text == "truncate":
                assert max_length is not None
                text = _truncate(text, max_length, tokenizer.truncation_side)
            yield text


def _truncate(text: TokenizedText, max_length: int, side: str) -> TokenizedText:
    """Truncate a text on the tokenizer's truncation side."""
    positions = np.flatnonzero(text.maskable)
    first, last = positions[0], positions[-1] + 1
    surplus = len(text.ids) - max_length
    cut = slice(first, first + surplus) if side == "left" else slice(last - surplus, last)
    return TokenizedText(np.delete(text.ids, cut), np.delete(text.maskable, cut), True)


def windows(text: TokenizedText, template: Template, max_length: int | None) -> list[Window]:
    """Divide a text with maskable tokens into overlapping windows. A short text is one window."""
    positions = np.flatnonzero(text.maskable)
    if max_length is None or len(text.ids) <= max_length:
        return [Window(text.ids, np.arange(len(positions)), positions)]
    first, last = int(positions[0]), int(positions[-1]) + 1
    body = text.ids[first:last]
    width = max_length - template.overhead
    final = len(body) - width
    starts = np.append(np.arange(0, final, max(1, width // 2)), final)
    # Each token belongs to the window with the nearest center. A search from the left assigns ties
    # to the earlier window.
    centres = starts + (width - 1) / 2
    owner = np.searchsorted((centres[1:] + centres[:-1]) / 2, positions - first, side="left")
    pieces = []
    for number, start in enumerate(starts):
        indices = np.flatnonzero(owner == number)
        if len(indices):
            tokens = body[start : start + width].tolist()
            ids = np.asarray([*template.prefix, *tokens, *template.suffix], dtype=np.int64)
            in_window = positions[indices] - first - start + len(template.prefix)
            pieces.append(Window(ids, indices, in_window))
    return pieces


@dataclass(frozen=True)
class WeightedText:
    """Tokens of a text and their weights."""

    key: tuple[bytes, bytes]  # equal for equal tokens with equal weights
    text: TokenizedText
    log_weights: np.ndarray  # float64 [maskable]
    zero_weight: bool = False  # all IDF weights are 0, so uniform weights are used

    @property
    def few_weighted(self) -> bool:
        """True if fewer than half of the tokens have more than 1% of the largest weight."""
        least = self.log_weights.max(initial=-np.inf) + math.log(0.01)
        return 2 * int((self.log_weights > least).sum()) < len(self.log_weights)

    @classmethod
    def of(cls, text: TokenizedText, table: np.ndarray | None) -> WeightedText:
        """Weight tokens by the IDF weights in `table`, [vocab], or uniformly if it is None.

        Weights sum to 1 over the maskable positions. If all IDF weights are 0, the weights are
        uniform. The logarithm of a zero weight is -inf.
        """
        tokens = text.tokens
        weights = np.ones(len(tokens)) if table is None else table[tokens]
        zero = bool(len(tokens)) and not weights.any()
        if zero:
            weights = np.ones(len(tokens))
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights / weights.sum()) if len(tokens) else np.zeros(0)
        return cls((text.ids.tobytes(), log_weights.tobytes()), text, log_weights, zero)


def tokenizer_fingerprint(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return a hash of everything that determines a tokenizer's output, 16 hexadecimal digits.

    The hash depends on vocabulary, normalization and word splitting, and possibly on the version of
    the `tokenizers` library. It does not change when a tokenizer is used, saved or loaded.

    >>> from transformers import BertTokenizer
    >>> words = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "cat": 5}
    >>> cased, lower = (BertTokenizer(vocab=words, do_lower_case=lower) for lower in (False, True))
    >>> tokenizer_fingerprint(cased) == tokenizer_fingerprint(lower)
    False
    """
    if not hasattr(tokenizer, "all_special_ids"):
        raise InputError(
            "tokenizer must be a tokenizer of transformers, such as InfoLMScorer(...).tokenizer, "
            f"got {tokenizer!r:.60}"
        )
    if tokenizer.is_fast:
        backend = tokenizer.backend_tokenizer
        if backend.truncation is not None or backend.padding is not None:  # from its last call
            # On a copy, because changing the user's tokenizer could affect other threads.
            backend = type(backend).from_str(backend.to_str())
            backend.no_truncation()
            backend.no_padding()
        rules = backend.to_str()
    else:  # written in Python: hash its vocabulary and the ids of PROBE
        vocabulary = sorted(tokenizer.get_vocab().items())
        rules = json.dumps([type(tokenizer).__name__, vocabulary, tokenizer(PROBE)["input_ids"]])
    special = json.dumps(sorted(tokenizer.all_special_ids))
    return hashlib.sha256((special + rules).encode()).hexdigest()[:16]
