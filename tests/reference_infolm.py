"""Literal float64 implementation of InfoLM, slow on purpose, to check the package against.

It shares no code with the package. Every masked context goes through the model alone, without
batching, padding or any other shortcut that could hide a mistake.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer

Position = tuple[list[int], int, int]
"""Token ids of a masked context, index of its mask, and original token id."""

Measure = Callable[[Tensor, Tensor, float | None, float | None], float]


def _log_power_sum(log_p: Tensor, log_q: Tensor, s: float, t: float) -> Tensor:
    """Compute log S(s, t), S(s, t) = sum p^s q^t."""
    return torch.logsumexp(s * log_p + t * log_q, -1)


def _kl(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    return (log_p.exp() * (log_p - log_q)).sum().item()


def _alpha(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    assert alpha is not None
    power_sum = _log_power_sum(log_p, log_q, alpha, 1 - alpha).exp().item()
    return (power_sum - 1) / (alpha * (alpha - 1))


def _renyi(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    assert alpha is not None
    return _log_power_sum(log_p, log_q, alpha, 1 - alpha).item() / (alpha - 1)


def _ab(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    assert alpha is not None and beta is not None
    total = alpha + beta
    p_term = _log_power_sum(log_p, log_q, total, 0).item() / (beta * total)
    q_term = _log_power_sum(log_p, log_q, 0, total).item() / (alpha * total)
    cross_term = _log_power_sum(log_p, log_q, alpha, beta).item() / (alpha * beta)
    return p_term + q_term - cross_term


def _beta(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    return _ab(log_p, log_q, 1.0, beta)


def _l1(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    return (log_p.exp() - log_q.exp()).abs().sum().item()


def _l2(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    return (log_p.exp() - log_q.exp()).square().sum().sqrt().item()


def _l_infinity(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    return (log_p.exp() - log_q.exp()).abs().max().item()


def _fisher_rao(log_p: Tensor, log_q: Tensor, alpha: float | None, beta: float | None) -> float:
    affinity = _log_power_sum(log_p, log_q, 0.5, 0.5).exp().item()
    return 2 / math.pi * math.acos(min(affinity, 1.0))


REFERENCE_MEASURES: dict[str, Measure] = {
    "kl_divergence": _kl,
    "alpha_divergence": _alpha,
    "renyi_divergence": _renyi,
    "beta_divergence": _beta,
    "ab_divergence": _ab,
    "l1_distance": _l1,
    "l2_distance": _l2,
    "l_infinity_distance": _l_infinity,
    "fisher_rao_distance": _fisher_rao,
}
"""Name -> function of (log p of the reference, log q of the candidate, alpha, beta).

Log-probabilities are finite float64 tensors [vocab]. The formulas are not stabilized: they lose
digits near their singular parameters, `fisher_rao_distance` has an error of up to 3e-8 near 0, and
equal distributions may give a tiny number of either sign.
"""


def symmetrize_measure(
    name: str,
    log_p: Tensor,
    log_q: Tensor,
    alpha: float | None = None,
    beta: float | None = None,
    symmetrize: str = "jeffreys",
) -> float:
    """Compute a measure of reference p and candidate q, both [vocab], symmetrized as requested.

    >>> p, q = torch.tensor([0.5, 0.5]).double().log(), torch.tensor([0.25, 0.75]).double().log()
    >>> round(symmetrize_measure("kl_divergence", p, q, symmetrize="none"), 4)
    0.1438
    >>> round(symmetrize_measure("kl_divergence", p, q, symmetrize="reverse"), 4)
    0.1308
    >>> round(symmetrize_measure("kl_divergence", p, q), 4)
    0.1373
    """
    measure = REFERENCE_MEASURES[name]
    if name.endswith("_distance"):
        return measure(log_p, log_q, alpha, beta)
    log_m = torch.logaddexp(log_p, log_q) - math.log(2)

    def divergence(left: Tensor, right: Tensor) -> float:
        return measure(left, right, alpha, beta)

    return {
        "jeffreys": lambda: (divergence(log_p, log_q) + divergence(log_q, log_p)) / 2,
        "jensen": lambda: (divergence(log_p, log_m) + divergence(log_q, log_m)) / 2,
        "none": lambda: divergence(log_p, log_q),
        "reverse": lambda: divergence(log_q, log_p),
    }[symmetrize]()


def window_starts(length: int, window: int) -> list[int]:
    """Return the starts of the windows over `length` tokens.

    >>> window_starts(length=10, window=4)
    [0, 2, 4, 6]
    >>> window_starts(length=11, window=4)
    [0, 2, 4, 6, 7]
    """
    step = max(1, window // 2)
    return [*range(0, length - window, step), length - window]


def nearest_window(index: int, starts: Sequence[int], window: int) -> int:
    """Return the start of the window with the centre nearest to token `index`, ties to the earlier.

    >>> [nearest_window(index, [0, 2, 4, 6], 4) for index in range(10)]
    [0, 0, 0, 2, 2, 4, 4, 6, 6, 6]
    >>> [nearest_window(index, [0, 2, 4], 5) for index in range(9)]
    [0, 0, 0, 0, 2, 2, 4, 4, 4]
    """
    # Distances are doubled, so that centres between two tokens are integers.
    return min(starts, key=lambda start: (abs(2 * index - (2 * start + window - 1)), start))


class ReferenceInfoLM:
    """InfoLM with a model from a folder: positions, distributions and scores.

    `masked=False` leaves all tokens visible, as with masks_per_pass=0.
    """

    def __init__(self, folder: str | Path, masked: bool = True) -> None:
        self.masked = masked
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForMaskedLM.from_pretrained(folder).double().eval()
        self.logits = cache(self._logits)  # many settings need the same contexts
        ids, body = self._encode("a")
        self.prefix, self.suffix = ids[: body[0]], ids[body[-1] + 1 :]
        self.max_length = min(self.tokenizer.model_max_length, self._model_positions())

    def _model_positions(self) -> int:
        """Return the number of tokens for which the model has positions.

        RoBERTa-like models reserve the rows up to the padding index for padding. Only these models
        have a padding index in their position embeddings.
        """
        offset = 0
        for name, module in self.model.named_modules():
            padding_index = getattr(module, "padding_idx", None)
            if name.endswith("position_embeddings") and padding_index is not None:
                offset = padding_index + 1
        return self.model.config.max_position_embeddings - offset

    def _encode(self, text: str, **options: object) -> tuple[list[int], list[int]]:
        """Return token ids with special tokens, and the indices of the text's own tokens."""
        encoded = self.tokenizer(text, return_special_tokens_mask=True, verbose=False, **options)
        flags = encoded["special_tokens_mask"]
        return encoded["input_ids"], [index for index, flag in enumerate(flags) if not flag]

    def positions(
        self, text: str, max_length: int | None = None, long_text: str = "truncate"
    ) -> list[Position]:
        """Return every masked context of a text, in the order of its tokens.

        A text without maskable tokens has a single context with a mask as its only token.
        """
        max_length = self.max_length if max_length is None else max_length
        mask_id = self.tokenizer.mask_token_id
        ids, maskable = self._encode(text)
        if not maskable:
            return [([*self.prefix, mask_id, *self.suffix], len(self.prefix), mask_id)]
        if len(ids) > max_length and long_text == "error":
            raise ValueError(f"a text of {len(ids)} tokens, but max_length is {max_length}")
        if len(ids) > max_length and long_text == "window":
            return self._windowed_positions([ids[index] for index in maskable], max_length)
        ids, maskable = self._encode(text, truncation=True, max_length=max_length)
        return [
            (
                [*ids[:index], mask_id if self.masked else ids[index], *ids[index + 1 :]],
                index,
                token,
            )
            for index in maskable
            for token in (ids[index],)
        ]

    def _windowed_positions(self, tokens: list[int], max_length: int) -> list[Position]:
        """Mask every token once, in the window with the nearest centre."""
        window = max_length - len(self.prefix) - len(self.suffix)
        starts = window_starts(len(tokens), window)
        positions = []
        for index, token in enumerate(tokens):
            start = nearest_window(index, starts, window)
            context = [*self.prefix, *tokens[start : start + window], *self.suffix]
            position = len(self.prefix) + index - start
            if self.masked:
                context[position] = self.tokenizer.mask_token_id
            positions.append((context, position, token))
        return positions

    def _logits(self, context: tuple[int, ...]) -> Tensor:
        """Return the logits of a context, [tokens, vocab]."""
        ids = torch.tensor([context])
        with torch.no_grad():
            return self.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]

    def log_distribution(
        self,
        text: str,
        temperature: float = 1.0,
        weights: Mapping[int, float] | None = None,
        max_length: int | None = None,
        long_text: str = "truncate",
        interpolation: float = 0.0,
    ) -> Tensor:
        """Compute log p(. | text), float64 [vocab], interpolated with the text's own tokens.

        `weights` maps token ids to weights (None: uniform). If all tokens of the text have weight
        0, the weights are uniform.
        """
        log_predictions, gammas = [], []
        for context, position, token in self.positions(text, max_length, long_text):
            logits = self.logits(tuple(context))[position]
            log_predictions.append(torch.log_softmax(logits / temperature, -1))
            gammas.append(1.0 if weights is None else weights[token])
        if sum(gammas) == 0:
            gammas = [1.0] * len(gammas)
        gamma = torch.tensor(gammas, dtype=torch.float64) / sum(gammas)
        log_p = torch.logsumexp(torch.stack(log_predictions) + gamma.log()[:, None], 0)
        if not interpolation or not self._encode(text)[1]:
            return log_p
        mixed = (1 - interpolation) * log_p.exp()
        for (_, _, token), weight in zip(
            self.positions(text, max_length, long_text), gamma.tolist(), strict=True
        ):
            mixed[token] += interpolation * weight
        return mixed.log()

    def idf_table(
        self, documents: Sequence[str], max_length: int | None = None, long_text: str = "truncate"
    ) -> dict[int, float]:
        """Compute log((N + 1) / (df + 1)) for every token id of the model.

        A document contains the tokens that scoring would mask, without the special tokens that
        the tokenizer adds.
        """
        contents = [
            {token for _, _, token in self.positions(document, max_length, long_text)}
            if self._encode(document)[1]
            else set()
            for document in documents
        ]
        return {
            token: math.log((len(contents) + 1) / (sum(token in tokens for tokens in contents) + 1))
            for token in range(self.model.config.vocab_size)
        }

    def distinct_documents(
        self, documents: Sequence[str], max_length: int | None, long_text: str
    ) -> int:
        """Count the documents that are distinct after tokenization and truncation."""
        texts = (
            tuple(token for _, _, token in self.positions(document, max_length, long_text))
            if self._encode(document)[1]
            else ()
            for document in documents
        )
        return len(set(texts))

    def score(
        self,
        candidates: Sequence[str],
        references: Sequence[str | Sequence[str]],
        measure: str,
        alpha: float | None = None,
        beta: float | None = None,
        temperature: float = 1.0,
        idf: bool | str | Mapping[int, float] = False,
        symmetrize: str = "jeffreys",
        multi_reference: str = "min",
        max_length: int | None = None,
        long_text: str = "truncate",
        interpolation: float = 0.0,
    ) -> list[float]:
        """Score each candidate against its reference or references.

        `idf` is False, True or "references", "separate", or a table as idf_table returns it.
        """
        listed = [[group] if isinstance(group, str) else list(group) for group in references]
        table = partial(self.idf_table, max_length=max_length, long_text=long_text)
        log_distribution = partial(
            self.log_distribution,
            temperature=temperature,
            max_length=max_length,
            long_text=long_text,
            interpolation=interpolation,
        )
        reference_weights: Mapping[int, float] | None = None
        candidate_weights: Mapping[int, float] | None = None
        if isinstance(idf, Mapping):
            reference_weights = candidate_weights = idf
        elif idf:
            documents = [[text for texts in listed for text in texts]]
            documents += [list(candidates)] if idf == "separate" else []
            if all(self.distinct_documents(side, max_length, long_text) > 1 for side in documents):
                reference_weights, candidate_weights = table(documents[0]), table(documents[-1])

        scores = []
        for candidate, texts in zip(candidates, listed, strict=True):
            log_q = log_distribution(candidate, weights=candidate_weights)
            values = []
            for text in texts:
                log_p = log_distribution(text, weights=reference_weights)
                values.append(symmetrize_measure(measure, log_p, log_q, alpha, beta, symmetrize))
            combined = {"min": min(values), "mean": sum(values) / len(values)}
            scores.append(combined[multi_reference])
        return scores
