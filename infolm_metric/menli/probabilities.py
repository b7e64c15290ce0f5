"""Pairs of texts to probabilities: the model, its tokenizer, and what is kept of pairs read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from infolm_metric.kernel.kept_model import KeptModel
from infolm_metric.kernel.pairs import Pair
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.menli import nli_model
from infolm_metric.menli.pair_tokens import JoinedPair, check_limit
from infolm_metric.menli.settings import Settings

Tokens = Mapping[str, np.ndarray]
"""The tokens of each text, int64 [tokens] without special ones."""

# A pair that is kept takes some 600 bytes, of which 24 are its probabilities.
OVERHEAD = 25


class Probabilities(KeptModel[nli_model.NLICheckpoint, nli_model.NLIModel]):
    """A model of natural language inference and what it said of pairs, kept between calls."""

    def _named(self, settings: Settings) -> tuple[Any, ...]:
        return *super()._named(settings), settings.labels

    def _open(self, settings: Settings) -> nli_model.NLICheckpoint:
        return nli_model.open_nli(
            settings.model_name_or_path, settings.model_revision, settings.labels
        )

    def _load(self, opened: nli_model.NLICheckpoint, settings: Settings) -> nli_model.NLIModel:
        return nli_model.load(opened, settings.device, settings.dtype)

    def source(self, settings: Settings) -> nli_model.NLICheckpoint:
        """What was opened; raises ValueError if its labels do not do for the formulas."""
        source = self.opened(settings)
        if not source.labels.three_way and (wrong := [n for n in settings.names if n != "e"]):
            raise ValueError(
                f"formula={wrong[0]!r} needs a model that tells neutral texts from "
                f"contradictions; {settings.model_name_or_path!r} has two labels, entailment and "
                f"not; use formula='e', or a model of three"
            )
        return source

    def limit(self, settings: Settings) -> int | None:
        """Tokens that two texts may have together, special ones included."""
        source = self.source(settings)
        return check_limit(
            source.checkpoint.name,
            source.checkpoint.limit,
            settings.max_length,
            source.template.overhead,
        )

    def tokens(self, texts: Iterable[str], settings: Settings) -> Tokens:
        """Each text as the model reads it, before it is cut."""
        distinct = list(dict.fromkeys(texts))
        found = nli_model.tokens_of(self.source(settings), distinct)
        return dict(zip(distinct, found, strict=True))

    def check_lengths(self, pairs: Iterable[Pair], settings: Settings) -> None:
        """Raise ValueError if two texts are too long together."""
        template, limit = self.source(settings).template, self.limit(settings)
        listed = list(pairs)
        tokens = self.tokens((text for one, group in listed for text in (one, *group)), settings)
        for candidate, group in listed:
            for reference in group:
                lengths = len(tokens[reference]), len(tokens[candidate])
                if template.kept(*lengths, limit) != lengths:
                    raise ValueError(
                        f"two texts have {sum(lengths) + template.overhead} tokens together, more "
                        f"than max_length={limit!r}: {candidate[:60]!r}... and "
                        f"{reference[:60]!r}...; shorten them, or give "
                        f"long_text='truncate'"
                    )

    def of(
        self,
        couples: Sequence[tuple[str, str]],
        tokens: Tokens,
        settings: Settings,
        report: Callable[[float], object] = lambda share: None,
    ) -> np.ndarray:
        """e, n and c of each (premise, hypothesis), float64 [couples, 3]; equal ones are read once.

        `report` is told the share that is done.
        """
        model, limit = self.model(settings), self.limit(settings)
        template = model.source.template
        self._store.shrink(settings.reuse_memory // OVERHEAD)
        keys, missing = [], dict[bytes, JoinedPair]()
        found: dict[bytes, torch.Tensor] = {}
        for premise, hypothesis in couples:
            pair = template.join(tokens[premise], tokens[hypothesis], limit)
            key = blake2b(repr(pair.lengths).encode() + pair.ids.tobytes()).digest()[:16]
            keys.append(key)
            if key not in found and key not in missing:
                kept = self._store.get(key)
                if kept is None:
                    missing[key] = pair
                else:
                    found[key] = kept
        done = 0

        def count(pairs: int) -> None:
            nonlocal done
            done += pairs
            report(done / len(missing))

        rows = None if settings.batch_size == "auto" else int(settings.batch_size)
        for key, row in zip(
            missing, model.probabilities(list(missing.values()), rows, count), strict=True
        ):
            found[key] = row
            self._store.put(key, row)
        report(1.0)
        return torch.stack([found[key] for key in keys]).numpy()

    def remark(self, pairs: Sequence[Pair], tokens: Tokens, settings: Settings) -> Remarks:
        """What there is to remark on the texts of some pairs."""
        source, limit = self.source(settings), self.limit(settings)
        unknown = source.checkpoint.tokenizer.unk_token_id
        texts = [text for candidate, group in pairs for text in (candidate, *group)]
        cut = 0
        for candidate, group in pairs:
            lengths = [(len(tokens[text]), len(tokens[candidate])) for text in group]
            kept = [source.template.kept(*each, limit) for each in lengths]
            cut += sum(after[0] < before[0] for after, before in zip(kept, lengths, strict=True))
            cut += any(after[1] < before[1] for after, before in zip(kept, lengths, strict=True))
        return Remarks(
            texts=len(texts),
            too_long=cut,
            empty=sum(not len(tokens[text]) for text in texts),
            unknown_tokens=sum(int((tokens[text] == unknown).sum()) for text in texts),
            tokens=sum(len(tokens[text]) for text in texts),
            unread=source.checkpoint.count_unread(tokens[text] for text in texts),
            limit=limit,
            words={
                "empty": "without a token: read as they are, and what follows from nothing says "
                "little",
                "too_long": f"too long for {limit} tokens with the other text of their pair: cut, "
                "the longer one first",
            },
        )


def over_references(
    values: np.ndarray, probabilities: np.ndarray, counts: Sequence[int], how: str
) -> tuple[np.ndarray, np.ndarray]:
    """The score of each pair from those against its references, [couples] -> [pairs].

    And the probabilities behind it, [pairs, 3]: those of the best reference, or their means.
    """
    kept: list[tuple[float, np.ndarray]] = []
    start = 0
    for count in counts:
        own, shown = values[start : start + count], probabilities[start : start + count]
        best = int(own.argmax())
        kept.append((own.mean(), shown.mean(0)) if how == "mean" else (own[best], shown[best]))
        start += count
    return np.array([value for value, _ in kept]), np.stack([shown for _, shown in kept])
