"""Texts to points: each token's place is the mean of its normalised states over chosen layers.

For equal weights over the layers the mean is what the Wasserstein barycentre of a text's layers
comes to: with a token's weight the same in each of them, moving every token's points to their mean
is a fixed point of the barycentre's iteration (Cuturi and Doucet 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from infolm_metric.baryscore import encoder
from infolm_metric.baryscore.settings import Settings
from infolm_metric.kernel.checkpoints import Checkpoint
from infolm_metric.kernel.reading import Reader, Reading
from infolm_metric.kernel.tokens import Template, TokenizedText, Window, windows

# Tokens that one forward pass may hold, by device, where the caller leaves the choice to us.
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 16_384}

Layers = tuple[int, ...]
"""Indices of hidden states, of which 0 is the embeddings."""


@dataclass(frozen=True)
class Piece:
    """A window of a text: which text it belongs to, and what is read in it."""

    text: int
    window: Window


class States(Reader[encoder.Encoder]):
    """An encoder and the points of texts, kept between calls."""

    def _open(self, name: str, revision: str | None) -> Checkpoint:
        return encoder.open_encoder(name, revision)

    def _load(self, checkpoint: Checkpoint, device: str | None, dtype: str) -> encoder.Encoder:
        return encoder.load(checkpoint, device, dtype)

    def of(
        self,
        readings: Sequence[Reading],
        settings: Settings,
        layers: Sequence[Layers],
        report: Callable[[float], object] = lambda share: None,
    ) -> dict[bytes, Tensor]:
        """The points of each text by its token ids, float64 [layers, tokens, hidden] on the CPU.

        Those of its maskable tokens; of all its tokens where it has no maskable one. The model
        reads a text once. `report` is told the share of the tokens that is done.
        """
        model, limit = self.model(settings), self.limit(settings)
        self._store.shrink(settings.reuse_memory)
        found: dict[bytes, Tensor] = {}
        missing: dict[bytes, Reading] = {}
        for reading in readings:
            ids = reading.key[0]
            if ids not in found and ids not in missing:
                stored = [self._store.get((ids, limit, chosen)) for chosen in layers]
                kept = [points for points in stored if points is not None]
                if len(kept) == len(layers):
                    found[ids] = torch.stack(kept)
                else:
                    missing[ids] = reading
        pieces = [
            Piece(number, window)
            for number, reading in enumerate(missing.values())
            for window in read_windows(reading.text, model.checkpoint.template, limit)
        ]
        rows = None if settings.batch_size == "auto" else int(settings.batch_size)
        done, total = 0, sum(len(piece.window.ids) for piece in pieces)
        points: dict[int, Tensor] = {}
        sizes = [len(own_tokens(reading)) for reading in missing.values()]
        for batch in batches(pieces, rows, model.device.type):
            tokens = torch.from_numpy(np.stack([piece.window.ids for piece in batch]))
            means = mean_states(model.states(tokens), layers).cpu()
            for row, (number, window) in enumerate((each.text, each.window) for each in batch):
                if number not in points:
                    shape = (len(layers), sizes[number], means.shape[-1])
                    points[number] = torch.empty(shape, dtype=torch.float64)
                points[number][:, window.own] = means[:, row, window.positions]
            done += tokens.numel()
            report(done / total)
        report(1.0)
        for number, key in enumerate(missing):
            found[key] = points[number]
            for chosen, own in zip(layers, points[number], strict=True):
                self._store.put((key, limit, chosen), own)
        return found


def read_windows(text: TokenizedText, template: Template, limit: int | None) -> list[Window]:
    """The windows of a text; without a maskable token it has its special ones, read as they are."""
    if text.maskable.any():
        return windows(text, template, limit)
    every = np.arange(len(text.ids))
    return [Window(text.ids, every, every)]


def own_tokens(reading: Reading) -> np.ndarray:
    """Ids of the tokens that a text has points for: its maskable ones; all if there is none."""
    text = reading.text
    return text.tokens if text.maskable.any() else text.ids


def batches(pieces: Sequence[Piece], rows: int | None, device: str) -> Iterator[list[Piece]]:
    """The pieces in batches of equal length, longest first; no padding.

    `rows` None chooses by the tokens that one pass may hold.
    """
    alike: dict[int, list[Piece]] = {}
    for piece in pieces:
        alike.setdefault(len(piece.window.ids), []).append(piece)
    most = TOKENS_PER_BATCH.get(device, TOKENS_PER_BATCH["cpu"])
    for length in sorted(alike, reverse=True):
        size = rows or max(1, most // length)
        for start in range(0, len(alike[length]), size):
            yield alike[length][start : start + size]


def mean_states(hidden: Sequence[Tensor], layers: Sequence[Layers]) -> Tensor:
    """The mean of the normalised states over each choice of layers, float64.

    `hidden` are [texts, tokens, hidden] each; the result is [layers, texts, tokens, hidden].
    """
    needed = sorted({index for chosen in layers for index in chosen})
    units = {
        index: torch.nn.functional.normalize(hidden[index].double(), dim=-1) for index in needed
    }
    means = []
    for chosen in layers:
        total = units[chosen[0]].clone()
        for index in chosen[1:]:
            total += units[index]
        means.append(total.div_(len(chosen)))
    return torch.stack(means)
