"""Compare BERTScore and BaryScore on the layers of an encoder, and print Markdown tables.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.layers DATA --model MODEL --scores FOLDER --attacks attacked.jsonl

MODEL is "bundled" or the folder of an encoder, with or without a masked-LM head. Scores are saved
in a subfolder of FOLDER named after the model, and --share 0 prints tables from saved scores. The
other options are described in tools/study.py. Attacks are optional.

The first table contains segment-level Kendall and detected attacks for BERTScore with each layer,
and for BaryScore with windows of layers and either IDF or uniform weights. Layer 0 means the
embeddings. The second table contains each metric's best layers on all data sets but one, and their
result on the held-out data set. These layers and BaryScore's default layers are then compared with
BERTScore and chrF on the held-out data set, as in `tools.study agree`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bert_score.utils import greedy_cos_idf
from torch.nn.utils.rnn import pad_sequence

from infolm_metric import BaryScorer
from infolm_metric.models.encoders import IdGroups
from infolm_metric.models.hidden_states import Encoder
from tools import study
from tools.data import READERS
from tools.study import (
    UNIFORM,
    Attacks,
    Entry,
    Scores,
    Texts,
    agreement_tables,
    best_elsewhere,
    score_share,
    text_kendall,
)
from tools.tables import show

PAIRS = 16  # per BERTScore batch
WIDTHS = (1, 5)  # numbers of layers in a window
CHRF = next(entry for entry in study.ENTRIES if entry.names == ("chrF",))


@dataclass(frozen=True)
class CachingEncoder(Encoder):
    """Encoder that caches the hidden states of all layers."""

    # Token ids of a group of texts -> hidden states, [layers, texts, tokens, hidden]
    cache: dict[tuple[Any, ...], torch.Tensor] = field(default_factory=dict)

    def states(self, ids: IdGroups, layers: Sequence[int]) -> list[torch.Tensor]:
        keys = [tuple(map(tuple, group.tolist())) for group in ids]
        if missing := {k: group for k, group in zip(keys, ids, strict=True) if k not in self.cache}:
            groups = list(missing.values())
            states = torch.stack(super().states(groups, range(self.checkpoint.states or 0)))
            parts = states.split([group.numel() for group in groups], 1)
            for key, group, part in zip(missing, groups, parts, strict=True):
                self.cache[key] = part.unflatten(1, group.shape)
        return [torch.cat([self.cache[key][at].flatten(0, 1) for key in keys]) for at in layers]


class LayerScorer(BaryScorer):
    """BaryScore scorer that also computes BERTScore from the same hidden states."""

    def load(self, checkpoint: Any, settings: Any) -> CachingEncoder:
        encoder = super().load(checkpoint, settings)
        return CachingEncoder(encoder.model, encoder.checkpoint, encoder.device)

    def windows(self) -> dict[str, tuple[int, ...]]:
        """Return all windows of WIDTHS layers, and the window of all layers, by name."""
        states = self.models.checkpoint(self.settings).states
        windows = [range(first, first + w) for w in WIDTHS for first in range(states - w + 1)]
        return {
            f"layers {w[0]}-{w[-1]}" if len(w) > 1 else f"layer {w[0]}": tuple(w)
            for w in (*windows, range(states))
        }

    def bert_scores(self, texts: Texts) -> np.ndarray:
        """Return BERTScore F1 by layer, [layers, references], for texts in the cache."""
        states = {
            ids: group[:, row].transpose(0, 1)
            for batch, group in self.models.model(self.settings).cache.items()
            for row, ids in enumerate(batch)
        }
        run: Any = self.prepare(self.settings.replace(layers="all"))
        tokenized = [[*run.tokenize(side)] for side in texts.pairs()[::-1]]
        parts = []
        for start in range(0, len(tokenized[0]), PAIRS):
            inputs = []
            for side in tokenized:
                batch = side[start : start + PAIRS]
                rows = [states[tuple(text.ids.tolist())] for text in batch]
                weights = [torch.from_numpy(text.maskable).float() for text in batch]
                masks = [torch.ones_like(row, dtype=torch.bool) for row in weights]
                inputs += [pad_sequence(rows, True, 2.0)]
                inputs += [pad_sequence(masks, True), pad_sequence(weights, True)]
            parts.append(greedy_cos_idf(*inputs, all_layers=True)[2].double().numpy())
        return np.concatenate(parts, axis=1)


def layer_entry(scorer: LayerScorer) -> Entry:
    """Return the entry of BERTScore and BaryScore with all layers and windows."""
    windows = scorer.windows()
    single = [f"BERTScore {name}" for name, layers in windows.items() if len(layers) == 1]
    names = [f"{metric} {name}" for metric in ("BaryScore", UNIFORM) for name in windows]

    def score(texts: Texts) -> Scores:
        tables = {"BaryScore": study.idf_table(texts.corpus, scorer), UNIFORM: False}
        scores: Scores = {}
        for metric, table in tables.items():
            for name, layers in windows.items():
                result = scorer.score(
                    texts.predictions,
                    texts.references,
                    layers=layers,
                    idf=table,
                    multi_reference="mean" if texts.average else "min",
                )
                scores[f"{metric} {name}"] = -np.asarray(result["scores"])
        scores |= zip(single, texts.reduce(scorer.bert_scores(texts)), strict=True)
        scorer.models.model(scorer.settings).cache.clear()
        return scores

    return Entry((*single, *names), score)


def main() -> None:
    arguments = study.parse(__doc__)
    title = Path(arguments.model).name
    arguments.scores /= title
    scorer = LayerScorer(model_name_or_path=arguments.model, idf=False, reuse_memory=0)
    default = f"BaryScore {list(scorer.windows())[-2]}"  # the last five layers
    entry = layer_entry(scorer)
    sets = {name: READERS[name](arguments.data) for name in arguments.sets}
    entries = [entry, CHRF]
    scores = {name: score_share(data, arguments, entries) for name, data in sets.items()}
    detected = {}
    if arguments.attacks:
        attacks = Attacks.read(arguments.attacks)
        columns = attacks.complete(arguments.scores, entries)
        detected = {metric: attacks.detection_rate(column) for metric, column in columns.items()}
    taus = {
        name: {metric: text_kendall(data, scores[name][metric]) for metric in scores[name]}
        for name, data in sets.items()
    }
    rows = []
    for metric in (*entry.names, *CHRF.names):
        values = [taus[name][metric] for name in sets]
        values += [np.mean(values), detected.get(metric, np.nan)]
        rows.append([metric, *(f"{100 * value:.1f}" for value in values)])
    titles = [data.title for data in sets.values()]
    show(f"Layers of {title}", ["metric", *titles, "mean", "attacks detected"], rows, arguments.csv)
    rows, tested = [], {}
    for test, data in sets.items():
        columns = {"chrF": scores[test]["chrF"], "BaryScore, default": scores[test][default]}
        for family in ("BERTScore", "BaryScore", UNIFORM):
            settings = [name for name in entry.names if name.startswith(f"{family} layer")]
            best, mean = best_elsewhere(taus, settings, test)
            cells = [f"{100 * value:.1f}" for value in (mean, taus[test][best])]
            rows.append([data.title, best, *cells])
            columns[family] = scores[test][best]
        tested[test] = columns
    header = ["reported on", "best of its metric on other data", "tau on other data", "tau"]
    show(f"Chosen layers of {title}", header, rows, arguments.csv)
    for test, data in sets.items():
        for words, *table in agreement_tables(data, tested[test], arguments.resamples):
            show(f"{title} on {words}", *table, arguments.csv)


if __name__ == "__main__":
    main()
