"""Texts to points: each token's place is the mean of its normalised states over chosen layers.

For equal weights over the layers the mean is what the Wasserstein barycentre of a text's layers
comes to: with a token's weight the same in each of them, moving every token's points to their mean
is a fixed point of the barycentre's iteration (Cuturi and Doucet 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from infolm_metric.baryscore import encoder
from infolm_metric.baryscore.settings import Settings
from infolm_metric.kernel.checkpoints import Checkpoint, no_numbers
from infolm_metric.kernel.tokens import Template, TokenizedText, Window, of_a_length, windows
from infolm_metric.kernel.weighed_texts import Reader, WeighedText

# Tokens that one forward pass may hold, by device, where the caller leaves the choice to us.
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 16_384}

Layers = tuple[int, ...]
"""Indices of hidden states, of which 0 is the embeddings."""


class States(Reader[encoder.Encoder]):
    """An encoder and the points of texts, kept between calls."""

    def _open(self, settings: Settings) -> Checkpoint:
        return encoder.open_encoder(settings.model_name_or_path, settings.model_revision)

    def _load(self, opened: Checkpoint, settings: Settings) -> encoder.Encoder:
        return encoder.load(opened, settings.device, settings.dtype)

    def of(
        self,
        weighed_texts: Sequence[WeighedText],
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
        missing: dict[bytes, WeighedText] = {}
        for weighed_text in weighed_texts:
            ids = weighed_text.key[0]
            if ids not in found and ids not in missing:
                kept = self._store.stacked((ids, limit, chosen) for chosen in layers)
                if kept is None:
                    missing[ids] = weighed_text
                else:
                    found[ids] = kept
        pieces = [
            (number, window)
            for number, weighed_text in enumerate(missing.values())
            for window in read_windows(weighed_text.text, model.checkpoint.template, limit)
        ]
        rows = None if settings.batch_size == "auto" else int(settings.batch_size)
        lengths = [len(window.ids) for _, window in pieces]
        most = TOKENS_PER_BATCH.get(model.device.type, TOKENS_PER_BATCH["cpu"])
        done, total = 0, sum(lengths)
        points: dict[int, Tensor] = {}
        sizes = [len(own_tokens(weighed_text)) for weighed_text in missing.values()]
        for indices in of_a_length(lengths, rows, most):
            batch = [pieces[index] for index in indices]
            tokens = torch.from_numpy(np.stack([window.ids for _, window in batch]))
            means = mean_states(model.states(tokens), layers).cpu()
            if not means.isfinite().all():
                raise no_numbers("states", settings.dtype)
            for row, (number, window) in enumerate(batch):
                if number not in points:
                    shape = (len(layers), sizes[number], means.shape[-1])
                    points[number] = torch.empty(shape, dtype=torch.float64, device="cpu")
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


def own_tokens(weighed_text: WeighedText) -> np.ndarray:
    """Ids of the tokens that a text has points for: its maskable ones; all if there is none."""
    text = weighed_text.text
    return text.tokens if text.maskable.any() else text.ids


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
