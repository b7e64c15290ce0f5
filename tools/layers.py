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

from infolm_metric import BaryScorer, BERTScorer
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

WIDTHS = (1, 5)  # numbers of layers in a window
CHRF = next(entry for entry in study.ENTRIES if entry.names == ("chrF",))


@dataclass(frozen=True)
class CachingEncoder(Encoder):
    """Encoder that caches the hidden states of all layers."""

    # Token ids of a text -> hidden states, [layers, tokens, hidden]
    cache: dict[tuple[int, ...], torch.Tensor] = field(default_factory=dict)

    def states(self, ids: IdGroups, layers: Sequence[int]) -> list[torch.Tensor]:
        keys = [tuple(text) for group in ids for text in group.tolist()]
        missing = [group for group in ids if not {*map(tuple, group.tolist())} <= {*self.cache}]
        if missing:
            states = torch.stack(super().states(missing, range(self.checkpoint.states or 0)))
            parts = states.split([group.numel() for group in missing], 1)
            for group, part in zip(missing, parts, strict=True):
                texts = part.split(group.shape[1], 1)
                self.cache.update(zip(map(tuple, group.tolist()), texts, strict=True))
        return [torch.cat([self.cache[key][layer] for key in keys]) for layer in layers]


class LayerScorer(BaryScorer):
    """BaryScore scorer whose encoder caches the hidden states of all layers."""

    def load(self, checkpoint: Any, settings: Any) -> CachingEncoder:
        encoder = super().load(checkpoint, settings)
        return CachingEncoder(**vars(encoder))

    def windows(self) -> dict[str, tuple[int, ...]]:
        """Return all windows of WIDTHS layers, and the window of all layers, by name."""
        states = self.models.checkpoint(self.settings).states
        windows = [range(first, first + w) for w in WIDTHS for first in range(states - w + 1)]
        return {
            f"layers {w[0]}-{w[-1]}" if len(w) > 1 else f"layer {w[0]}": tuple(w)
            for w in (*windows, range(states))
        }


class LayerBERTScorer(BERTScorer):
    """BERTScore scorer with the encoder of a LayerScorer."""

    encoder: CachingEncoder

    def load(self, checkpoint: Any, settings: Any) -> CachingEncoder:
        return self.encoder


def layer_entry(scorer: LayerScorer) -> Entry:
    """Return the entry of BERTScore and BaryScore with all layers and windows."""
    windows, common = scorer.windows(), {"idf": False, "reuse_memory": 0}
    bert_scorer = LayerBERTScorer(model_name_or_path=scorer.settings.model_name_or_path, **common)
    single = {f"BERTScore {name}": w[0] for name, w in windows.items() if len(w) == 1}
    names = [f"{metric} {name}" for metric in ("BaryScore", UNIFORM) for name in windows]

    def score(texts: Texts) -> Scores:
        sides = texts.predictions, texts.references
        bert_scorer.encoder = scorer.models.model(scorer.settings)
        scores: Scores = {}
        for name, layer in single.items():
            rule = "mean" if texts.average else "max"
            result = bert_scorer.score(*sides, layer=layer, multi_reference=rule)
            scores[name] = np.asarray(result["scores"])
        tables = {"BaryScore": study.idf_table(texts.corpus, scorer), UNIFORM: False}
        for metric, table in tables.items():
            for name, layers in windows.items():
                rule = "mean" if texts.average else "min"
                result = scorer.score(*sides, layers=layers, idf=table, multi_reference=rule)
                scores[f"{metric} {name}"] = -np.asarray(result["scores"])
        bert_scorer.encoder.cache.clear()
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
