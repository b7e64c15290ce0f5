"""Distributions beside each other: what is compared with what, and by which measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.single_pairs import SinglePairs
from infolm_metric.kernel.weighed_texts import Key, WeighedText

COMPARED_ELEMENTS = 1 << 22  # entries of the distributions compared in one step


def own_tokens(weighed_text: WeighedText) -> tuple[np.ndarray, np.ndarray]:
    """A text's distinct tokens, int64, and the logarithms of their weights in it, float64."""
    tokens, owner = np.unique(weighed_text.text.tokens, return_inverse=True)
    with np.errstate(divide="ignore"):
        return tokens, np.log(np.bincount(owner, np.exp(weighed_text.log_weights), len(tokens)))


def masks_of(weighed_text: WeighedText) -> int:
    """Number of masked contexts the model has to read for a text."""
    return max(1, int((weighed_text.log_weights > -np.inf).sum()))


def interpolated(log_p: Tensor, weighed_texts: Sequence[WeighedText], share: float) -> Tensor:
    """log((1 - share) p + share m), m being a text's own tokens by weight: [texts, vocab], float64.

    Jelinek-Mercer interpolation (Zhai and Lafferty 2004). A text without tokens keeps its p.
    """
    if not share:
        return log_p
    owns = [own_tokens(weighed_text) for weighed_text in weighed_texts]
    sizes = np.asarray([len(tokens) for tokens, _ in owns])
    rows = torch.from_numpy(np.arange(len(owns)).repeat(sizes)).to(log_p.device)
    columns, log_mass = (
        torch.from_numpy(np.concatenate([own[part] for own in owns])).to(log_p.device)
        for part in (0, 1)
    )
    with np.errstate(divide="ignore"):
        rest = torch.from_numpy(np.where(sizes > 0, np.log(1.0 - share), 0.0))
    mixed = log_p + rest.to(log_p.device)[:, None]
    mixed[rows, columns] = torch.logaddexp(mixed[rows, columns], log_mass + math.log(share))
    return mixed


class Comparison(NamedTuple):
    """One row of results: a measure, its settings, a temperature and a way to weigh tokens."""

    measure: str
    settings: Settings
    temperature: int  # index
    weighting: int  # index

    @property
    def asked(self) -> measures.Asked:
        """What to compare by."""
        own = self.settings
        return measures.Asked(self.measure, own.symmetrize, own.alpha, own.beta)


def compare_singles(
    singles: SinglePairs, found: Mapping[Key, Tensor], comparisons: Sequence[Comparison]
) -> np.ndarray:
    """Every comparison of every single pair, float64 [comparisons, single pairs].

    `found` holds log p [temperatures, vocab] of every text.
    """
    candidates, references = singles.sides
    step = max(1, COMPARED_ELEMENTS // next(iter(found.values())).numel())
    values = np.empty((len(comparisons), len(references)))
    alike: dict[tuple[int, float], list[int]] = {}
    for row, c in enumerate(comparisons):
        alike.setdefault((c.temperature, c.settings.interpolation), []).append(row)
    for start in range(0, len(references), step):
        part = slice(start, start + step)
        for (heat, share), rows in alike.items():
            log_q, log_p = (
                interpolated(
                    torch.stack([found[weighed_text.key][heat] for weighed_text in side[part]]),
                    side[part],
                    share,
                )
                for side in (candidates, references)
            )
            asked = [comparisons[row].asked for row in rows]
            values[rows, part] = measures.compare_each(asked, log_p, log_q).cpu().numpy()
    return values
