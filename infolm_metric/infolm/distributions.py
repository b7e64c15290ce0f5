"""Texts to distributions: the model, its tokenizer, and the distributions kept for reuse."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from infolm_metric.infolm import masked_lm, masking
from infolm_metric.infolm.aggregation import Accumulator, log_predictions
from infolm_metric.infolm.comparison import interpolated, masks_of
from infolm_metric.infolm.explanation import TextView
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.checkpoints import Checkpoint, no_numbers
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.weighed_texts import Key, Reader, WeighedText


class Distributions(Reader[masked_lm.MaskedLM]):
    """A masked language model and the distributions of texts, kept between calls."""

    def _open(self, settings: Settings) -> Checkpoint:
        return masked_lm.open_masked_lm(settings.model_name_or_path, settings.model_revision)

    def _load(self, opened: Checkpoint, settings: Settings) -> masked_lm.MaskedLM:
        return masked_lm.load(opened, settings.device, settings.dtype)

    def of(
        self,
        weighed_texts: Sequence[WeighedText],
        settings: Settings,
        temperatures: Sequence[float],
        report: Callable[[float], object] = lambda share: None,
    ) -> dict[Key, Tensor]:
        """log p of each text at each temperature: key -> float64 [temperatures, vocab].

        The model reads a text once, however many readings weigh it. `report` is told the share of
        the masks that is done.
        """
        self.model(settings)  # another one than the last call's empties the store
        self._store.shrink(settings.reuse_memory)
        distinct = {weighed_text.key: weighed_text for weighed_text in weighed_texts}
        stored = {
            key: self._store.stacked(self._names(key, settings, temperatures)) for key in distinct
        }
        found = {key: log_p for key, log_p in stored.items() if log_p is not None}
        missing = [weighed_text for key, weighed_text in distinct.items() if key not in found]
        done = sum(masks_of(distinct[key]) for key in found)
        total = done + sum(map(masks_of, missing))

        def tell(read: int) -> None:
            report((done + read) / total)

        made = self._made(_alike(missing, settings.masks_per_pass), settings, temperatures, tell)
        report(1.0)
        for key, log_p in made.items():
            for name, row in zip(self._names(key, settings, temperatures), log_p, strict=True):
                self._store.put(name, row)
        return {**found, **made}

    def _names(self, key: Key, settings: Settings, temperatures: Sequence[float]) -> list[Hashable]:
        """What a text's distributions are stored under, one for each temperature."""
        kind = (self.limit(settings), settings.masks_per_pass)
        return [(key, *kind, heat) for heat in temperatures]

    def _made(
        self,
        groups: Sequence[Sequence[WeighedText]],
        settings: Settings,
        temperatures: Sequence[float],
        tell: Callable[[int], object],
    ) -> dict[Key, Tensor]:
        """What the model says of the texts; `tell` is told how many masks it has read."""
        sums, read = Accumulator(temperatures), 0
        for owner, log_weights, logits in self._predict(groups, settings):
            sums.add(logits, log_weights, owner)
            read += int(log_weights.isfinite().sum())
            tell(read)
        made = {
            weighed_text.key: log_p
            for index, group in enumerate(groups)
            for weighed_text, log_p in zip(group, sums.log_sums(index), strict=True)
        }
        if any(log_p[:, 0].isnan().any() for log_p in made.values()):  # as then all of a row are
            raise no_numbers(
                "predictions",
                settings.dtype,
                f" and temperature {min(temperatures):g}",
                "give a temperature that is not so near to 0, or ",
            )
        return made

    def _predict(
        self, groups: Sequence[Sequence[WeighedText]], settings: Settings
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Every position of the texts that is read: whose, its log weights, and its logits.

        int64 [positions], float64 [positions, weightings] and [positions, vocab]; those of a text
        come in order. The readings of a group are of one text, and differ in their weights.
        """
        model = self.model(settings)
        template, size = model.checkpoint.template, model.checkpoint.size
        limit, masks = self.limit(settings), settings.masks_per_pass
        windows: list[masking.MaskedWindow] = []
        for index, group in enumerate(groups):
            log_weights = np.stack([weighed_text.log_weights for weighed_text in group], axis=1)
            windows += masking.split(index, group[0].text, log_weights, template, limit, masks)
        count = None if settings.batch_size == "auto" else int(settings.batch_size)
        for batch in masking.batches(windows, template.mask, count, size, model.device.type):
            owner = batch.texts.repeat_interleave(batch.positions.shape[1])
            weights = batch.log_weights.flatten(0, 1)
            done = 0
            for logits in model.logits(batch.ids, batch.positions):
                part = slice(done, done + len(logits))
                yield owner[part], weights[part], logits
                done += len(logits)

    def remark(  # type: ignore[override]
        self, weighed_texts: Sequence[WeighedText], settings: Settings
    ) -> Remarks:
        """What there is to remark; a text is as one of one token where all are masked at once."""
        found, masks = super().remark(weighed_texts, settings), settings.masks_per_pass
        if masks <= 1:
            return found
        hidden = sum(
            0 < len(each.log_weights) <= masks and bool(np.isfinite(each.log_weights).all())
            for each in weighed_texts
        )
        words = {
            "one_token": f"of at most {masks} tokens: masks_per_pass={masks!r} masks all "
            "of them at once, so that the model reads masks alone, and texts of as many tokens "
            f"score as copies; masks_per_pass=1 tells them apart"
        }
        return replace(found, one_token=hidden, words={**found.words, **words})

    def view(self, weighed_text: WeighedText, settings: Settings) -> TextView:
        """The predictions at every position of a text, those of weight 0 included."""
        steps = self._predict([[WeighedText.of(weighed_text.text, None)]], settings)
        logits = torch.cat([logits for _, _, logits in steps])
        log_p = log_predictions(logits, settings.temperature)
        tokenizer = self.opened(settings).tokenizer
        ids, log_weights = weighed_text.text.tokens.tolist(), weighed_text.log_weights
        if not ids:
            ids, log_weights = [tokenizer.mask_token_id], np.zeros(1)
        weights = torch.from_numpy(log_weights).to(log_p.device)
        mean = torch.logsumexp(log_p + weights[:, None], dim=0)
        (mixed,) = interpolated(mean[None], [weighed_text], settings.interpolation)
        return TextView(tokenizer.convert_ids_to_tokens(ids), weights.exp(), log_p, mixed)


def _alike(weighed_texts: Iterable[WeighedText], masks: int) -> list[list[WeighedText]]:
    """The readings in groups that the same masked contexts serve: those of equal tokens.

    Where a context has several masks, which positions it masks depends on those of some weight.
    """
    groups: dict[tuple[bytes, bytes], list[WeighedText]] = {}
    for weighed_text in weighed_texts:
        kept = b"" if masks <= 1 else (weighed_text.log_weights > -np.inf).tobytes()
        groups.setdefault((weighed_text.key[0], kept), []).append(weighed_text)
    return list(groups.values())
