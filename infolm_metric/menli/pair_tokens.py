"""Two texts as a model of natural language inference reads them: one sequence, cut where too long.

Texts are tokenised once each, and joined as the tokenizer joins two texts: a candidate with eleven
references in both directions is still tokenised once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infolm_metric.kernel.tokens import of_a_length

# Tokens that one forward pass reads, by device, where the caller leaves the choice to us.
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 65_536}
PROBE = ("a dog ran", "the dog ran to a city")


@dataclass(frozen=True)
class PairTemplate:
    """What a tokenizer puts before, between and behind two texts, found by joining a probe.

    `kinds` are the token types of the five parts: these three around the texts, and the texts, in
    the order in which they stand; None where the model has none. `cut_left` tells at which side a
    text is cut.
    """

    before: tuple[int, ...]
    between: tuple[int, ...]
    behind: tuple[int, ...]
    kinds: tuple[int, int, int, int, int] | None
    cut_left: bool = False

    @property
    def overhead(self) -> int:
        """Number of special tokens around two texts."""
        return len(self.before) + len(self.between) + len(self.behind)

    def kept(self, first: int, second: int, limit: int | None) -> tuple[int, int]:
        """How many tokens of two texts of these lengths are read: the longer one is cut first.

        >>> template = PairTemplate((1,), (2,), (2,), None)
        >>> template.kept(5, 90, 23), template.kept(50, 90, 23), template.kept(5, 6, None)
        ((5, 15), (10, 10), (5, 6))
        """
        room = first + second if limit is None else limit - self.overhead
        if first + second <= room:
            return first, second
        short = min(first, second)
        lengths = (short, room - short) if short <= room // 2 else (room // 2, room - room // 2)
        return lengths if first <= second else lengths[::-1]

    def join(self, first: np.ndarray, second: np.ndarray, limit: int | None) -> JoinedPair:
        """Two texts, int64 [tokens] each without special tokens, as one sequence."""
        lengths = self.kept(len(first), len(second), limit)
        one, two = (
            text[len(text) - length :] if self.cut_left else text[:length]
            for text, length in zip((first, second), lengths, strict=True)
        )
        parts = (self.before, one, self.between, two, self.behind)
        ids = np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])
        return JoinedPair(ids, tuple(map(len, parts)))

    def token_types(self, pair: JoinedPair) -> list[int] | None:
        """The token type of each of a pair's tokens, if the model has any."""
        if self.kinds is None:
            return None
        return np.repeat(self.kinds, pair.lengths).tolist()


@dataclass(frozen=True)
class JoinedPair:
    """A premise and a hypothesis in one sequence, and the lengths of its five parts."""

    ids: np.ndarray  # int64 [tokens]
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """Pairs of equal length, and which ones they are."""

    ids: Tensor  # int64 [pairs, tokens]
    token_types: Tensor | None  # int64 [pairs, tokens]
    owners: tuple[int, ...]


def find_pair_template(name: str, tokenizer: Any) -> PairTemplate:
    """How a tokenizer joins two texts; ValueError if it is not by putting tokens around them."""
    one, two = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in PROBE)
    probe = tokenizer(*PROBE, return_special_tokens_mask=True)
    ids = probe["input_ids"]
    inner = np.flatnonzero(~np.asarray(probe["special_tokens_mask"], dtype=bool))
    if len(ids) > len(inner) == len(one) + len(two):
        start, middle = int(inner[0]), int(inner[len(one)])
        stops = (start, start + len(one), middle, middle + len(two), len(ids))
        before, _, between, _, behind = (
            tuple(ids[begin:end]) for begin, end in zip((0, *stops), stops, strict=False)
        )
        kinds = probe.get("token_type_ids")
        template = PairTemplate(
            before,
            between,
            behind,
            None if kinds is None else _kinds(kinds, stops),
            getattr(tokenizer, "truncation_side", "right") == "left",
        )
        joined = template.join(np.asarray(one), np.asarray(two), None)
        if joined.ids.tolist() == ids and kinds == template.token_types(joined):
            return template
    raise ValueError(
        f"the tokenizer of {name!r} joins two texts in a way that is not known here: "
        f"{tokenizer.convert_ids_to_tokens(ids)}; choose another model of natural language "
        "inference"
    )


def _kinds(kinds: Sequence[int], stops: Sequence[int]) -> tuple[int, int, int, int, int]:
    """The token type of each of the five parts; 0 for an empty one."""
    starts = (0, *stops)
    one, two, three, four, five = (
        kinds[begin] if begin < end else 0 for begin, end in zip(starts, stops, strict=False)
    )
    return one, two, three, four, five


def check_limit(name: str, limit: int | None, given: int | None, overhead: int) -> int | None:
    """Tokens that two texts may have together: `given`, or else the model's `limit`.

    >>> check_limit("m", 512, None, 3), check_limit("m", 512, 100, 3)
    (512, 100)
    """
    if given is None and limit is not None and limit < overhead + 2:
        raise ValueError(
            f"{name!r} reads {limit} tokens at most, which is no room for two texts; choose "
            "another model, or set the model_max_length of its tokenizer right"
        )
    if given is None:
        return limit
    if given < overhead + 2:
        raise ValueError(
            f"max_length must be at least {overhead + 2}, because the tokenizer adds "
            f"{overhead} special tokens to two texts, got {given}"
        )
    if limit is not None and given > limit:
        raise ValueError(f"max_length must be at most {limit}, what {name!r} can read, got {given}")
    return given


def batches(
    pairs: Sequence[JoinedPair], template: PairTemplate, rows: int | None, device: str
) -> Iterator[Batch]:
    """Batches of pairs of equal length; no padding.

    `rows` None chooses by the tokens that one pass may hold.
    """
    most = TOKENS_PER_BATCH.get(device, TOKENS_PER_BATCH["cpu"])
    # BART-like models read only pairs together that hold as many end tokens.
    end = template.behind[-1] if template.behind else -1
    alike: dict[int, list[int]] = {}
    for owner, pair in enumerate(pairs):
        alike.setdefault(int(np.count_nonzero(pair.ids == end)), []).append(owner)
    for group in alike.values():
        for places in of_a_length((len(pairs[owner].ids) for owner in group), rows, most):
            owners = [group[place] for place in places]
            types = [template.token_types(pairs[owner]) for owner in owners]
            yield Batch(
                torch.from_numpy(np.stack([pairs[owner].ids for owner in owners])),
                None if template.kinds is None else torch.from_numpy(np.asarray(types)),
                tuple(owners),
            )
