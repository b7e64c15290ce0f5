"""Texts to distributions: the model, its tokenizer, and the distributions kept for reuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from infolm_metric.infolm import masked_lm, masking
from infolm_metric.infolm.aggregation import Accumulator, log_predictions
from infolm_metric.infolm.comparison import interpolated, masks_of
from infolm_metric.infolm.explanation import TextView, view_text
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.checkpoints import Checkpoint
from infolm_metric.kernel.reading import Key, Reader, Reading


class Distributions(Reader[masked_lm.MaskedLM]):
    """A masked language model and the distributions of texts, kept between calls."""

    def _open(self, name: str, revision: str | None) -> Checkpoint:
        return masked_lm.open_masked_lm(name, revision)

    def _load(self, checkpoint: Checkpoint, device: str | None, dtype: str) -> masked_lm.MaskedLM:
        return masked_lm.load(checkpoint, device, dtype)

    def of(
        self,
        readings: Sequence[Reading],
        settings: Settings,
        temperatures: Sequence[float],
        report: Callable[[float], object] = lambda share: None,
    ) -> dict[Key, Tensor]:
        """log p of each text at each temperature: key -> float64 [temperatures, vocab].

        The model reads a text once, however many readings weigh it. `report` is told the share of
        the masks that is done.
        """
        model = self.model(settings)
        limit = self.limit(settings)
        self._store.shrink(settings.reuse_memory)
        found: dict[Key, Tensor] = {}
        missing: dict[Key, Reading] = {}
        kind = (limit, settings.masks_per_pass)
        for reading in readings:
            if reading.key not in found and reading.key not in missing:
                stored = [self._store.get((reading.key, *kind, heat)) for heat in temperatures]
                kept = [distribution for distribution in stored if distribution is not None]
                if len(kept) == len(stored):
                    found[reading.key] = torch.stack(kept)
                else:
                    missing[reading.key] = reading
        masks = {reading.key: masks_of(reading) for reading in readings}
        done, total = sum(masks[key] for key in found), sum(masks.values())
        groups = _alike(missing.values(), settings.masks_per_pass)
        sums = Accumulator(temperatures)
        for owner, log_weights, logits in self._predict(groups, model, limit, settings):
            sums.add(logits, log_weights, owner)
            done += int(log_weights.isfinite().sum())
            report(done / total)
        report(1.0)
        for index, group in enumerate(groups):
            for reading, log_p in zip(group, sums.log_sums(index), strict=True):
                found[reading.key] = log_p
                for heat, distribution in zip(temperatures, log_p, strict=True):
                    self._store.put((reading.key, *kind, heat), distribution)
        return found

    def _predict(
        self,
        groups: Sequence[Sequence[Reading]],
        model: masked_lm.MaskedLM,
        limit: int | None,
        settings: Settings,
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Every position of the texts that is read: whose, its log weights, and its logits.

        int64 [positions], float64 [positions, weightings] and [positions, vocab]; those of a text
        come in order. The readings of a group are of one text, and differ in their weights.
        """
        template, size = model.checkpoint.template, model.checkpoint.size
        windows = [
            window
            for index, group in enumerate(groups)
            for window in masking.split(
                index,
                group[0].text,
                np.stack([reading.log_weights for reading in group], axis=1),
                template,
                limit,
                settings.masks_per_pass,
            )
        ]
        count = None if settings.batch_size == "auto" else int(settings.batch_size)
        for batch in masking.batches(windows, template.mask, count, size, model.device.type):
            owner = torch.tensor(batch.texts).repeat_interleave(torch.tensor(batch.sizes))
            owner = owner.repeat_interleave(batch.positions.shape[1])
            log_weights = batch.log_weights.flatten(0, 1)
            done = 0
            for logits in model.logits(batch.ids, batch.positions, batch.sizes):
                part = slice(done, done + len(logits))
                yield owner[part], log_weights[part], logits
                done += len(logits)

    def view(self, reading: Reading, settings: Settings) -> TextView:
        """The predictions at every position of a text, those of weight 0 included."""
        model = self.model(settings)
        limit = self.limit(settings)
        uniform = Reading.of(reading.text, None)
        steps = self._predict([[uniform]], model, limit, settings)
        logits = torch.cat([logits for _, _, logits in steps])
        view = view_text(
            reading.text.tokens,
            reading.log_weights,
            log_predictions(logits, settings.temperature),
            model.checkpoint.tokenizer,
        )
        (mixed,) = interpolated(view.log_distribution[None], [reading], settings.interpolation)
        return replace(view, log_distribution=mixed)


def _alike(readings: Iterable[Reading], masks: int) -> list[list[Reading]]:
    """The readings in groups that the same masked contexts serve: those of equal tokens.

    Where a context has several masks, which positions it masks depends on those of some weight.
    """
    groups: dict[tuple[bytes, bytes], list[Reading]] = {}
    for reading in readings:
        kept = b"" if masks <= 1 else (reading.log_weights > -np.inf).tobytes()
        groups.setdefault((reading.key[0], kept), []).append(reading)
    return list(groups.values())
