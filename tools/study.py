"""Correlate metrics with human judgments, and print Markdown tables.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.study score DATA --scores FOLDER [--sets wmt15 ...] [--metrics InfoLM ...]
    python -m tools.study agree DATA --scores FOLDER [--csv results]
    python -m tools.study choose DATA --scores FOLDER [--csv results]
    python -m tools.study trade DATA --scores FOLDER --attacks attacks.jsonl --csv results
    python -m tools.study published DATA

DATA is the folder described in tools/data.py.

- `score` saves the scores of all texts in FOLDER. To resume it, repeat the command. Samples are
  scored in a fixed random order. --share 0.5 scores the first half. A file belongs to one metric
  and model: with another NLI model, only the entailment is computed again.
- `agree` prints system-level Pearson and segment-level Kendall correlations with 95% bootstrap
  intervals, for the metrics in --metrics (default: TABULATED). It also counts the criteria on which
  a metric is significantly better or worse than BERTScore and chrF. The tests are Williams' test at
  the system level and the bootstrap at the segment level, with Holm correction per table.
- `choose` selects the settings with the best mean segment-level Kendall on all data sets but one,
  and reports their correlation on the held-out data set.
- `trade` compares the fraction of detected attacks with segment-level Kendall, for MENLI combined
  with other metrics at different weights. An attack is detected if the paraphrase scores better
  than the attacked text. attacks.jsonl is the output of `infolm attack`.
- `published` compares correlations with the values that Colombo et al. 2022 published.

With --model FOLDER, `score`, `agree` and `choose` use this encoder instead of the bundled one for
BERTScore, BaryScore with uniform weights, and their combinations with MENLI, which are computed as
in `combine_with` from the saved scores of both metrics. The package
has baselines for the encoders in ENCODERS.

IDF weights are computed on all references of a data set. Values are multiplied by 100, and higher
is better.
"""

import argparse
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import sentence_bleu, sentence_chrf, sentence_ter

from infolm_metric import IDF, BaryScorer, BERTScorer, InfoLMScorer, MENLIScorer
from infolm_metric.core.settings import BUNDLED, field_types
from infolm_metric.menli.combination import scaled
from infolm_metric.meta_evaluation import agreement, correlation, holm
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS
from infolm_metric.scoring.scorer import Scorer
from tools.data import READERS, DataSet, read_json_lines
from tools.tables import show

Scores = dict[str, np.ndarray]  # metric -> [rows], higher is better, NaN if not scored
CHUNK = 160  # rows scored between saves
ROUGE = RougeScorer(["rougeL"], use_stemmer=True)
TEMPERATURES, INTERPOLATIONS = (1.0, 2.0), (0.0, 0.1, 0.2, 0.3, 0.5)
COMPARISONS = ("BERTScore", "chrF")
STATISTICS = {"system": ("pearson", "system-level r"), "segment": ("kendall", "segment-level tau")}
ONE_PASS = "InfoLM 1 pass T{:g} lambda{:g}"
WEIGHTS = (*(step / 20 for step in range(1, 11)), 0.6, 0.7, 0.8, 0.9)
UNIFORM = "BaryScore uniform"  # as in combine_with="baryscore"
COMBINABLE: dict[str, Any] = {"BERTScore": BERTScorer, UNIFORM: BaryScorer}
# Settings of BERTScore and BaryScore with an encoder, by the name of its folder.
ENCODERS: dict[str, dict[str, dict[str, Any]]] = {
    BUNDLED: {},
    "all-mpnet-base-v2": {"BERTScore": {"layer": 7}, UNIFORM: {"layers": "6-10"}},
}
NLI = "MENLI e avg"
COMBINATION = "MENLI with {} {:g}"
TABULATED = (  # not all metrics, because the Holm correction gets stricter with each test
    *("BLEU", "chrF", "TER", "ROUGE-L", "BERTScore", "BaryScore", UNIFORM, "InfoLM"),
    *(ONE_PASS.format(1, 0), ONE_PASS.format(2, 0.1), NLI),
    *(COMBINATION.format(partner, 0.2) for partner in COMBINABLE),
)
CHOICES = (  # name prefixes of the settings to compare
    *("InfoLM 1 pass", "BaryScore", "MENLI with BERTScore", f"MENLI with {UNIFORM}", "MENLI with"),
)
TABLE_2 = {  # Pearson, Spearman and Kendall in Table 2 of Colombo et al. 2022
    ("correctness", "data_coverage"): (97.6, 85.2, 73.3),
    ("correctness", "fluency"): (80.0, 81.1, 61.6),
    ("correctness", "relevance"): (99.1, 89.7, 75.0),
    ("data_coverage", "relevance"): (96.0, 93.8, 81.6),
    ("fluency", "text_structure"): (99.5, 99.7, 98.3),
    ("data_coverage", "BLEU"): (55.7, 50.2, 36.6),
    ("fluency", "BLEU"): (89.4, 90.5, 78.3),
    ("relevance", "BLEU"): (63.0, 65.2, 51.6),
}


@dataclass(frozen=True)
class Texts:
    """Texts to score, and the corpus for IDF weights."""

    predictions: list[str]
    references: list[list[str]]
    corpus: tuple[str, ...]
    average: bool  # whether to average over references instead of taking the best score

    def rows(self, indices: Iterable[int]) -> "Texts":
        texts = [(self.predictions[row], self.references[row]) for row in indices]
        return Texts(*map(list, zip(*texts, strict=True)), self.corpus, self.average)

    def pairs(self) -> tuple[list[str], list[str]]:
        """Return parallel lists of candidates and references, with one entry per reference."""
        groups = list(zip(self.predictions, self.references, strict=True))
        candidates = [text for text, group in groups for _ in group]
        return candidates, [reference for _, group in groups for reference in group]

    def reduce(self, scores: np.ndarray) -> np.ndarray:
        """Reduce scores per reference to scores per row, [..., references] -> [..., rows]."""
        counts = np.asarray([len(group) for group in self.references])
        starts = np.cumsum(counts) - counts
        if self.average:
            return np.add.reduceat(scores, starts, axis=-1) / counts
        return np.maximum.reduceat(scores, starts, axis=-1)


@dataclass(frozen=True)
class Entry:
    """Metrics that are computed together."""

    names: tuple[str, ...]
    score: Callable[[Texts], Scores]
    scorer: Callable[[], Any] | None = None  # loads the scorer whose model the scores depend on


@cache
def load_scorer(kind: type, model: str = BUNDLED, **settings: Any) -> Any:
    return kind(model_name_or_path=model, **settings)


def suffix(model: str) -> str:
    """Return the suffix of a metric's name that names an encoder, "" for the bundled one."""
    return "" if model == BUNDLED else f", {Path(model).name}"


@cache
def idf_table(corpus: tuple[str, ...], scorer: Any) -> IDF:
    """Return the IDF weights of a corpus for a scorer's tokenizer."""
    return IDF.from_corpus(list(corpus), scorer.tokenizer)


def package_entry(
    title: str,
    kind: type[Scorer[Any]],
    model: str = BUNDLED,
    idf: bool | None = None,
    **settings: Any,
) -> Entry:
    """Return the entry of a metric from this package. `idf=True` computes IDF on the corpus."""
    best = "max" if kind.higher_is_better else "min"
    rules = get_args(field_types(kind.settings_type)["multi_reference"])
    average = "mean" if "mean" in rules else best
    load = partial(load_scorer, kind, model, **settings)

    def score(texts: Texts) -> Scores:
        scorer = load()
        options = {"multi_reference": average if texts.average else best}
        if idf is not None:
            options["idf"] = idf and idf_table(texts.corpus, scorer)
        result = scorer.score(texts.predictions, texts.references, **options)
        scores = np.asarray(result["scores"])
        return {title: scores if result.higher_is_better else -scores}

    return Entry((title,), score, load)


def one_pass(texts: Texts) -> Scores:
    """Score texts with InfoLM without masks, for all TEMPERATURES and INTERPOLATIONS."""
    scorer = load_scorer(InfoLMScorer)
    rows = scorer.sweep(
        texts.predictions,
        texts.references,
        masking="none",
        temperatures=TEMPERATURES,
        interpolations=INTERPOLATIONS,
        idfs=[idf_table(texts.corpus, scorer)],
        multi_reference="mean" if texts.average else "min",
    )
    return {
        ONE_PASS.format(settings.temperature, settings.interpolation): -np.asarray(result["scores"])
        for settings, result in rows
    }


def encoder_settings(title: str, model: str) -> dict[str, Any]:
    """Return the layers of BERTScore or BaryScore for an encoder."""
    return ENCODERS.get(Path(model).name, {}).get(title, {})


def combine_with(scores: Scores, model: str) -> Scores:
    """Combine MENLI with BERTScore and BaryScore, for all WEIGHTS, as `combine_with` does."""
    combined: Scores = {}
    for title, kind in COMBINABLE.items():
        name = f"{title}{suffix(model)}"
        scorer = load_scorer(kind, model, **encoder_settings(title, model))
        if NLI not in scores or name not in scores:
            continue
        other = scorer.settings.replace(idf=False)
        nli = load_scorer(MENLIScorer)
        ends = nli.prepare(nli.settings.replace(combine_with=other)).other.range
        if not scorer.higher_is_better:  # these scores are negated
            ends = (-ends[1], -ends[0])
        column = scaled(scores[name], ends).clip(0, 1)
        for weight in WEIGHTS:
            values = weight * scores[NLI] + (1 - weight) * column
            combined[COMBINATION.format(name, weight)] = values
    return combined


def over_references(title: str, score: Callable[[list[str], list[str]], Any]) -> Entry:
    """Return the entry of a metric that compares lists of candidates and references."""
    return Entry((title,), lambda texts: {title: texts.reduce(np.asarray(score(*texts.pairs())))})


def pairwise(title: str, score: Callable[[str, str], float]) -> Entry:
    """Return the entry of a metric that compares a candidate with a reference."""
    return over_references(title, lambda *sides: [*map(score, *sides)])


ENTRIES = (
    pairwise("BLEU", lambda text, reference: sentence_bleu(text, [reference]).score),
    pairwise("chrF", lambda text, reference: sentence_chrf(text, [reference]).score),
    pairwise("TER", lambda text, reference: -sentence_ter(text, [reference]).score),
    pairwise("ROUGE-L", lambda text, reference: ROUGE.score(reference, text)["rougeL"].fmeasure),
    package_entry("BERTScore", BERTScorer),
    package_entry("BaryScore", BaryScorer, idf=True),
    package_entry(UNIFORM, BaryScorer, idf=False),
    Entry(tuple(ONE_PASS.format(t, x) for t in TEMPERATURES for x in INTERPOLATIONS), one_pass),
    package_entry(NLI, MENLIScorer),
    package_entry("InfoLM", InfoLMScorer, idf=True),
)


def entries(model: str) -> tuple[Entry, ...]:
    """Return the metrics of the study, with another encoder if it is not the bundled one."""
    if model == BUNDLED:
        return ENTRIES
    return *ENTRIES, *(
        package_entry(
            f"{title}{suffix(model)}", kind, model, idf=False, **encoder_settings(title, model)
        )
        for title, kind in COMBINABLE.items()
    )


def score_path(folder: Path, name: str, entry: Entry) -> Path:
    """Return the path of an entry's saved scores on a data set, which names the model."""
    model = entry.scorer and entry.scorer().prepare().signature.fields["model"]
    file = f"{entry.names[0]} {model}" if model else entry.names[0]
    return folder / name / f"{file.replace(' ', '_')}.npz"


def load_scores(folder: Path, name: str, model: str = BUNDLED) -> Scores:
    """Load the saved scores on a data set, and combine MENLI with BERTScore and BaryScore."""
    scores: Scores = {}
    for entry in entries(model):
        if (path := score_path(folder, name, entry)).exists():
            scores |= dict(np.load(path))
    return scores | combine_with(scores, model)


def is_whole(scores: Any) -> bool:
    return bool(np.isfinite(scores).all())


def complete(
    folder: Path, name: str, texts: Texts, order: Sequence[int], entries: Iterable[Entry]
) -> Scores:
    """Score the rows without saved scores, in the given order, and save after each chunk."""
    results: Scores = {}
    for entry in entries:
        path, start = score_path(folder, name, entry), time.perf_counter()
        path.parent.mkdir(parents=True, exist_ok=True)
        empty = {title: np.full(len(texts.predictions), np.nan) for title in entry.names}
        scores = empty | (dict(np.load(path)) if path.exists() else {})
        rows = [row for row in order if any(np.isnan(column[row]) for column in scores.values())]
        for start_row in range(0, len(rows), CHUNK):
            chunk = rows[start_row : start_row + CHUNK]
            for title, values in entry.score(texts.rows(chunk)).items():
                scores[title][chunk] = values
            part = path.with_suffix(".part.npz")
            np.savez(part, **scores)
            part.replace(path)
        if rows:
            seconds = time.perf_counter() - start
            print(f"{name}: {entry.names[0]}: {len(rows)} rows, {seconds:.0f} s", flush=True)
        results |= scores
    return results


def load_texts(data: DataSet) -> Texts:
    """Return the texts of a data set. The corpus consists of all references."""
    corpus = tuple(text for group in data.references for text in group)
    return Texts(data.predictions, data.references, corpus, data.average)


def score_share(data: DataSet, arguments: argparse.Namespace, entries: Iterable[Entry]) -> Scores:
    """Score a random fraction (--share) of a data set. The scores of other rows are NaN."""
    order = data.random_order().tolist()
    order = order[: round(arguments.share * len(order))]
    return complete(arguments.scores, data.name, load_texts(data), order, entries)


def score(arguments: argparse.Namespace) -> None:
    metrics = {*arguments.metrics}
    chosen = [each for each in entries(arguments.model) if not metrics or metrics & {*each.names}]
    for name in arguments.sets:
        score_share(READERS[name](arguments.data), arguments, chosen)


def text_kendall(data: DataSet, scores: np.ndarray) -> float:
    """Return the mean segment-level Kendall over languages and criteria, from complete samples."""
    return float(
        np.mean(
            [
                correlation(human, grid, "kendall", "segment")
                for name, grid in data.grids(scores).items()
                for human in data.parts[name].human.values()
            ]
        )
    )


def agreement_tables(
    data: DataSet, scores: Scores, resamples: int, comparisons: Sequence[str] = COMPARISONS
) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield the title, header and rows of one table per level, with one column per criterion."""
    tables = {
        name: agreement(
            part.human,
            {metric: data.grids(column)[name] for metric, column in scores.items()},
            against=comparisons,
            length=part.lengths,
            resamples=resamples,
        )
        for name, part in data.parts.items()
    }
    first = next(iter(tables.values()))
    columns = [(name, word) for name, table in tables.items() for word in table.names("criterion")]
    dropped = sum(max(table.dropped.values(), default=0) for table in tables.values())
    remark = f", {dropped} incomplete samples dropped" if dropped else ""
    for level in first.names("level"):
        statistic, symbol = STATISTICS[level]

        def cells(metric: str, statistic: str, level: str = level) -> list[Any]:
            return [tables[name].find(metric, word, level, statistic) for name, word in columns]

        by_metric = {metric: cells(metric, statistic) for metric in first.names("metric")}
        tests = [
            (comparison, metric, np.sign(cell.value - base.value), cell.p_values[comparison])
            for comparison in comparisons
            for metric in by_metric
            if metric != comparison
            for cell, base in zip(by_metric[metric], by_metric[comparison], strict=True)
        ]
        adjusted = holm([p for *_, p in tests])
        significant = Counter(test[:3] for test, p in zip(tests, adjusted, strict=True) if p < 0.05)
        rows = []
        for metric, row_cells in by_metric.items():
            row = [
                f"{100 * cell.value:.1f} [{100 * cell.low:.0f}, {100 * cell.high:.0f}]"
                for cell in row_cells
            ]
            for group in (row_cells, cells(metric, "partial")):
                row.append(f"{100 * np.mean([cell.value for cell in group]):.1f}")
            for comparison in comparisons:
                better, worse = (significant[comparison, metric, sign] for sign in (1, -1))
                row.append("" if metric == comparison else f"+{better} -{worse}")
            rows.append([metric, *row])
        names = [f"{name} {word}".strip().replace("_", " ") for name, word in columns]
        header = ["metric", *names, f"mean {symbol}", "mean r given length"]
        header += [f"vs {comparison}" for comparison in comparisons]
        yield f"{data.title}: {symbol}{remark}", header, rows


def compared_with(model: str) -> tuple[str, ...]:
    """Return the metrics to compare with: BERTScore with the same encoder, and chrF."""
    return tuple(f"{x}{suffix(model)}" if x in COMBINABLE else x for x in COMPARISONS)


def agree(arguments: argparse.Namespace) -> None:
    """Print correlations with human judgments. Incomplete metrics have a separate table."""
    model, end = arguments.model, suffix(arguments.model)
    comparisons = compared_with(model)
    tabulated = TABULATED
    if end:
        names = [f"{title}{end}" for title in COMBINABLE]
        tabulated = (*names, *(COMBINATION.format(name, 0.2) for name in names), "BERTScore")
    for name in arguments.sets:
        data, scores = READERS[name](arguments.data), load_scores(arguments.scores, name, model)
        names = [*dict.fromkeys((*(arguments.metrics or tabulated), *comparisons))]
        whole = {name: scores[name] for name in names if is_whole(scores.get(name, np.nan))}
        rest = {name: scores[name] for name in names if name in scores and name not in whole}
        base = {metric: whole[metric] for metric in comparisons}
        for part in [whole, rest | base] if rest else [whole]:
            tables = agreement_tables(data, part, arguments.resamples, comparisons)
            for title, header, rows in tables:
                show(f"{title}{end}", header, rows, arguments.csv)


def best_elsewhere(
    taus: Mapping[str, Mapping[str, float]], settings: Iterable[str], test: str
) -> tuple[str, float]:
    """Return the settings with the best mean over all data sets except `test`, and this mean."""
    others = [by_setting for name, by_setting in taus.items() if name != test]
    means = {name: float(np.mean([tau[name] for tau in others])) for name in settings}
    return max(means.items(), key=lambda item: item[1])


def choose(arguments: argparse.Namespace) -> None:
    """Print the best settings on all data sets but one, and their results on the held-out one.

    Settings are compared on the rows for which all of them, and the comparisons, have scores.
    """
    model, end = arguments.model, suffix(arguments.model)
    sets = {name: READERS[name](arguments.data) for name in arguments.sets if name != "summeval11"}
    scores = {name: load_scores(arguments.scores, name, model) for name in sets}
    common = [
        name for name in next(iter(scores.values())) if all(name in x for x in scores.values())
    ]
    comparisons = compared_with(model)
    for prefix in CHOICES:
        settings = [name for name in common if name.startswith(prefix) and end in name]
        if not settings:
            continue
        taus, rows = {}, []
        for name, data in sets.items():
            columns = {metric: scores[name][metric] for metric in (*settings, *comparisons)}
            missing = ~np.isfinite([*columns.values()]).all(0)
            taus[name] = {
                metric: text_kendall(data, np.where(missing, np.nan, column))
                for metric, column in columns.items()
            }
            rows.append([data.title, int((~missing).sum())])
        for row, test in zip(rows, sets, strict=True):
            best, mean = best_elsewhere(taus, settings, test)
            values = [mean, *(taus[test][metric] for metric in (best, *comparisons))]
            row += [best, *(f"{100 * value:.1f}" for value in values)]
        header = ["reported on", "rows", f"best of {len(settings)}", "tau on other data", "tau"]
        show(f"Chosen: {prefix}{end}", [*header, *comparisons], rows, arguments.csv)


@dataclass(frozen=True)
class Attacks:
    """Attack cases, with the texts to score.

    `file` is the name for saved scores. `texts` are distinct pairs of a text and its original
    reference (anchor). `paraphrases` and `adversaries` (attacked texts) are rows of `texts`. They
    and the `names` of the attacks are [cases].
    """

    file: str
    texts: Texts
    paraphrases: list[int]
    adversaries: list[int]
    names: np.ndarray

    @classmethod
    def read(cls, path: Path) -> "Attacks":
        """Read the cases with a paraphrase from the output of `infolm attack`."""
        cases = [row for row in read_json_lines(path) if row.get("paraphrase")]
        rows: dict[tuple[str, str], int] = {}
        columns = [
            [rows.setdefault((case[key], case["anchor"]), len(rows)) for case in cases]
            for key in ("paraphrase", "adversary")
        ]
        predictions, anchors = map(list, zip(*rows, strict=True))
        corpus = tuple(dict.fromkeys(anchors))
        texts = Texts(predictions, [[anchor] for anchor in anchors], corpus, False)
        file = f"attacks-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
        return cls(file, texts, *columns, np.asarray([case["attack"] for case in cases]))

    def complete(self, folder: Path, entries: Iterable[Entry]) -> Scores:
        return complete(folder, self.file, self.texts, range(len(self.texts.predictions)), entries)

    def detection_rate(self, scores: np.ndarray) -> float:
        """Return the fraction of cases whose paraphrase scores better, averaged over attacks."""
        good, bad = scores[self.paraphrases], scores[self.adversaries]
        better = (good > bad) & ~np.isclose(good, bad, rtol=1e-6, atol=1e-9)
        return float(np.mean([better[self.names == name].mean() for name in np.unique(self.names)]))


def trade(arguments: argparse.Namespace) -> None:
    """Print the attack detection rate and correlations for each weight of MENLI."""
    metrics = {NLI, "BaryScore", UNIFORM, ONE_PASS.format(2, 0.1), *COMPARISONS}
    attacks = Attacks.read(arguments.attacks)
    attacks.complete(arguments.scores, [entry for entry in ENTRIES if metrics & {*entry.names}])
    sets = {title: READERS[title](arguments.data) for title in arguments.sets}
    scores = {title: load_scores(arguments.scores, title) for title in sets}
    rows = []
    for metric, column in load_scores(arguments.scores, attacks.file).items():
        figures = [attacks.detection_rate(column)]
        for title, data in sets.items():
            whole = is_whole(scores[title].get(metric, np.nan))
            figures.append(text_kendall(data, scores[title][metric]) if whole else float("nan"))
        rows.append([metric, *(f"{100 * figure:.1f}" for figure in figures)])
    header = ["metric", "attacks detected", *(data.title for data in sets.values())]
    show("Detected attacks and segment-level tau", header, rows, arguments.csv)


def published(arguments: argparse.Namespace) -> int:
    """Print system-level correlations on WebNLG and their published values.

    Returns 1 if a difference exceeds 0.1, or 0.3 for BLEU.
    """
    data = READERS["webnlg"](arguments.data)
    (entry,) = (entry for entry in ENTRIES if entry.names == ("BLEU",))
    ratings = data.parts[""]
    grids = {**ratings.human, "BLEU": ratings.grid(entry.score(load_texts(data))["BLEU"])}
    rows, agrees = [], True
    for pair in combinations(grids, 2):
        left, right = (grids[name] for name in pair)
        values = [100 * correlation(left, right, name) for name in COEFFICIENTS]
        figures = TABLE_2.get(pair)
        error = max(abs(round(a, 1) - b) for a, b in zip(values, figures or values, strict=True))
        agrees &= figures is None or error <= (0.3 if "BLEU" in pair else 0.1) + 1e-9
        cells = " / ".join(map(str, figures or "-")), " / ".join(f"{v:.1f}" for v in values)
        rows.append([" - ".join(pair), *cells])
    header = ["pair", "published r / rho / tau", "reproduced"]
    show("System-level correlations", header, rows, arguments.csv)
    verdict = "all reproduced" if agrees else "NOT all reproduced"
    print(f"\n{3 * len(TABLE_2)} published correlations: {verdict}")
    return 0 if agrees else 1


COMMANDS: Mapping[str, Callable[[argparse.Namespace], int | None]] = {
    command.__name__: command for command in (score, agree, choose, trade, published)
}


def parse(description: str | None, *commands: str) -> argparse.Namespace:
    """Parse the command line of the study. Without `commands`, no command is expected."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    if commands:
        parser.add_argument("command", choices=commands)
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="folder for scores")
    parser.add_argument("--sets", nargs="+", default=list(READERS), choices=READERS)
    parser.add_argument("--metrics", nargs="+", default=[], help="default: all metrics")
    parser.add_argument("--model", default="bundled", help="folder of an encoder")
    parser.add_argument("--share", type=float, default=1.0, help="fraction of each data set")
    parser.add_argument("--attacks", type=Path, help="output of `infolm attack`")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--csv", type=Path, help="folder to save the tables in")
    return parser.parse_args()


def main() -> int | None:
    arguments = parse(__doc__, *COMMANDS)
    return COMMANDS[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
