"""Correlate metrics with human judgments, and print Markdown tables.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.study score DATA --scores FOLDER [--sets wmt15 ...] [--metrics InfoLM ...]
    python -m tools.study agree DATA --scores FOLDER [--csv results]
    python -m tools.study choose DATA --scores FOLDER
    python -m tools.study trade DATA --scores FOLDER --attacks attacks.jsonl --csv results
    python -m tools.study published DATA

DATA is the folder described in tools/data.py.

- `score` saves the scores of all texts in FOLDER. To resume it, repeat the command. Samples are
  scored in a fixed random order; --share 0.5 scores the first half.
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
from itertools import combinations, product
from pathlib import Path
from typing import Any, get_args

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import sentence_bleu, sentence_chrf, sentence_ter

from infolm_metric import IDF, BaryScorer, InfoLMScorer, MENLIScorer, combine
from infolm_metric.core.scorer import Scorer
from infolm_metric.core.settings import BUNDLED_FOLDER, field_types
from infolm_metric.meta_evaluation import agreement, correlation, holm, kendall
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS
from tools.data import READERS, DataSet, read_json_lines
from tools.tables import show

Scores = dict[str, np.ndarray]  # metric -> [rows], higher is better, NaN if not scored
CHUNK = 160  # rows scored between saves
LAYER = 5  # layer for BERTScore; the bundled encoder has 6 layers
ROUGE = RougeScorer(["rougeL"], use_stemmer=True)
TEMPERATURES, INTERPOLATIONS = (1.0, 2.0), (0.0, 0.1, 0.2, 0.3, 0.5)
COMPARISONS = ("BERTScore", "chrF")
STATISTICS = {"system": ("pearson", "system-level r"), "segment": ("kendall", "segment-level tau")}
ONE_PASS = "InfoLM 1 pass T{:g} lambda{:g}"
WEIGHTS = tuple(step / 10 for step in range(1, 10))
UNIFORM = "BaryScore uniform"  # as in combine_with="baryscore"
PARTNERS = (ONE_PASS.format(1, 0.2), "BERTScore", "InfoLM")  # combined by min-max scaling
NLI = "MENLI e avg"
COMBINATION = "MENLI with {} {:g}"
TABULATED = (  # not all metrics, because the Holm correction gets stricter with each test
    *("BLEU", "chrF", "TER", "ROUGE-L", "BERTScore", "BaryScore", "InfoLM"),
    *(ONE_PASS.format(1, 0), ONE_PASS.format(2, 0.1), NLI, COMBINATION.format(UNIFORM, 0.2)),
)
CHOICES = ("InfoLM 1 pass", "BaryScore", "MENLI with")  # name prefixes of the settings to compare
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


@cache
def load_scorer(kind: type) -> Any:
    return kind(model_name_or_path="bundled")


@cache
def idf_table(corpus: tuple[str, ...], scorer: Any) -> IDF:
    """Return the IDF weights of a corpus for a scorer's tokenizer."""
    return IDF.from_corpus(list(corpus), scorer.tokenizer)


def bundled(title: str, kind: type[Scorer[Any]], **settings: Any) -> Entry:
    """Return the entry of a metric from this package; `idf=True` computes IDF on the corpus."""
    best = "max" if kind.higher_is_better else "min"
    rules = get_args(field_types(kind.settings_type)["multi_reference"])
    average = "mean" if "mean" in rules else best

    def score(texts: Texts) -> Scores:
        scorer = load_scorer(kind)
        options = {**settings, "multi_reference": average if texts.average else best}
        if settings.get("idf"):
            options["idf"] = idf_table(texts.corpus, scorer)
        result = scorer.score(texts.predictions, texts.references, **options)
        scores = np.asarray(result["scores"])
        return {title: scores if result.higher_is_better else -scores}

    return Entry((title,), score)


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


def menli_with_baryscore(texts: Texts) -> Scores:
    """Score texts with MENLI, BaryScore and, for all WEIGHTS, their combination."""
    pairs = texts.pairs()
    nli = np.asarray(load_scorer(MENLIScorer).score(*pairs)["scores"])
    options = {"idf": False, "rescale_with_baseline": True}
    result = load_scorer(BaryScorer).score(*pairs, **options)
    written = np.asarray([bool(candidate.strip()) for candidate in pairs[0]])
    other = np.clip(result["rescaled_scores"], 0, 1) * written  # as in combine_with
    scores = {NLI: nli, UNIFORM: -np.asarray(result["scores"])}
    scores |= {COMBINATION.format(UNIFORM, w): w * nli + (1 - w) * other for w in WEIGHTS}
    return {name: texts.reduce(column) for name, column in scores.items()}


def over_references(title: str, score: Callable[[list[str], list[str]], Any]) -> Entry:
    """Return the entry of a metric that compares lists of candidates and references."""
    return Entry((title,), lambda texts: {title: texts.reduce(np.asarray(score(*texts.pairs())))})


def pairwise(title: str, score: Callable[[str, str], float]) -> Entry:
    """Return the entry of a metric that compares a candidate with a reference."""
    return over_references(title, lambda *sides: [*map(score, *sides)])


@cache
def bert_scorer() -> Any:
    from bert_score import BERTScorer

    return BERTScorer(model_type=str(BUNDLED_FOLDER), num_layers=LAYER, device="cpu")


def bert_score(candidates: list[str], references: list[str]) -> np.ndarray:
    """Return BERTScore F1 without rescaling."""
    # An empty text should score 0, but bert-score 0.3.13 with transformers 5 cannot encode it.
    texts = [text if text.strip() else "." for text in candidates]
    f1 = bert_scorer().score(texts, references)[2].double().numpy()
    return np.where([bool(text.strip()) for text in candidates], f1, 0.0)


ENTRIES = (
    pairwise("BLEU", lambda text, reference: sentence_bleu(text, [reference]).score),
    pairwise("chrF", lambda text, reference: sentence_chrf(text, [reference]).score),
    pairwise("TER", lambda text, reference: -sentence_ter(text, [reference]).score),
    pairwise("ROUGE-L", lambda text, reference: ROUGE.score(reference, text)["rougeL"].fmeasure),
    over_references("BERTScore", bert_score),
    bundled("BaryScore", BaryScorer, idf=True),
    Entry(tuple(ONE_PASS.format(t, x) for t in TEMPERATURES for x in INTERPOLATIONS), one_pass),
    Entry((NLI, UNIFORM, *(COMBINATION.format(UNIFORM, w) for w in WEIGHTS)), menli_with_baryscore),
    bundled("MENLI e-c hr", MENLIScorer, formula="e-c", direction="hr"),
    bundled("InfoLM", InfoLMScorer, idf=True),
)


def score_path(folder: Path, name: str, entry: Entry) -> Path:
    """Return the path of an entry's saved scores on a data set."""
    return folder / name / f"{entry.names[0].replace(' ', '_')}.npz"


def load_scores(folder: Path, name: str) -> Scores:
    """Load the saved scores on a data set, and combine MENLI with each complete metric."""
    scores: Scores = {}
    for entry in ENTRIES:
        if (path := score_path(folder, name, entry)).exists():
            scores |= dict(np.load(path))
    names = [name for name in (NLI, *PARTNERS) if is_whole(scores.get(name, np.nan))]
    for partner, weight in product(names[1:] if NLI in names else (), WEIGHTS):
        combination = combine(scores[NLI].tolist(), scores[partner].tolist(), weight)
        scores[COMBINATION.format(partner, weight)] = np.asarray(combination)
    return scores


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
    """Return the texts of a data set; the corpus consists of all references."""
    corpus = tuple(text for group in data.references for text in group)
    return Texts(data.predictions, data.references, corpus, data.average)


def score_share(data: DataSet, arguments: argparse.Namespace, entries: Iterable[Entry]) -> Scores:
    """Score a random --share of a data set; the scores of other rows are NaN."""
    order = data.random_order().tolist()
    order = order[: round(arguments.share * len(order))]
    return complete(arguments.scores, data.name, load_texts(data), order, entries)


def score(arguments: argparse.Namespace) -> None:
    metrics = arguments.metrics
    entries = [entry for entry in ENTRIES if not metrics or {*metrics} & {*entry.names}]
    for name in arguments.sets:
        score_share(READERS[name](arguments.data), arguments, entries)


def text_kendall(data: DataSet, scores: np.ndarray) -> float:
    """Return the mean segment-level Kendall over languages and criteria, from complete samples."""
    values = []
    for name, grid in data.grids(scores).items():
        part, whole = data.parts[name], np.isfinite(np.atleast_2d(grid)).all(axis=0)
        tau = (
            partial(correlation, coefficient="kendall", level="segment")
            if part.systems
            else kendall
        )
        values += [tau(human[..., whole], grid[..., whole]) for human in part.human.values()]
    return float(np.mean(values))


def agreement_tables(
    data: DataSet, scores: Scores, resamples: int
) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield the title, header and rows of one table per level, with one column per criterion."""
    tables = {
        name: agreement(
            part.human,
            {metric: data.grids(column)[name] for metric, column in scores.items()},
            against=COMPARISONS,
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
            for comparison in COMPARISONS
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
            for comparison in COMPARISONS:
                better, worse = (significant[comparison, metric, sign] for sign in (1, -1))
                row.append("" if metric == comparison else f"+{better} -{worse}")
            rows.append([metric, *row])
        names = [f"{name} {word}".strip().replace("_", " ") for name, word in columns]
        header = ["metric", *names, f"mean {symbol}", "mean r given length"]
        header += [f"vs {comparison}" for comparison in COMPARISONS]
        yield f"{data.title}: {symbol}{remark}", header, rows


def agree(arguments: argparse.Namespace) -> None:
    """Print correlations with human judgments; incomplete metrics have a separate table."""
    for name in arguments.sets:
        data, scores = READERS[name](arguments.data), load_scores(arguments.scores, name)
        names = (*(arguments.metrics or TABULATED), *COMPARISONS)
        names = [metric for metric in dict.fromkeys(names) if metric in scores]
        whole = {metric: scores[metric] for metric in names if is_whole(scores[metric])}
        rest = {metric: scores[metric] for metric in names if metric not in whole}
        base = {metric: whole[metric] for metric in COMPARISONS}
        for part in [whole, rest | base] if rest else [whole]:
            for title, header, rows in agreement_tables(data, part, arguments.resamples):
                show(title, header, rows, arguments.csv)


def best_elsewhere(
    taus: Mapping[str, Mapping[str, float]], settings: Iterable[str], test: str
) -> tuple[str, float]:
    """Return the settings with the best mean over all data sets except `test`, and this mean."""
    others = [by_setting for name, by_setting in taus.items() if name != test]
    means = {name: float(np.mean([tau[name] for tau in others])) for name in settings}
    return max(means.items(), key=lambda item: item[1])


def choose(arguments: argparse.Namespace) -> None:
    """Print the best settings on all data sets but one, and their results on the held-out one."""
    sets = {name: READERS[name](arguments.data) for name in arguments.sets if name != "summeval11"}
    taus = {
        name: {
            metric: text_kendall(data, scores)
            for metric, scores in load_scores(arguments.scores, name).items()
            if is_whole(scores)
        }
        for name, data in sets.items()
    }
    metrics = [name for name in next(iter(taus.values())) if all(name in t for t in taus.values())]
    for prefix in CHOICES:
        settings = [metric for metric in metrics if metric.startswith(prefix)]
        if not settings:
            continue
        rows = []
        for test, data in sets.items():
            best, mean = best_elsewhere(taus, settings, test)
            values = [mean, *(taus[test][metric] for metric in (best, *COMPARISONS))]
            rows.append([data.title, best, *(f"{100 * value:.1f}" for value in values)])
        header = ["reported on", f"best of {len(settings)}", "tau on other data", "tau"]
        show(f"Chosen: {prefix}", [*header, *COMPARISONS], rows, arguments.csv)


@dataclass(frozen=True)
class Attacks:
    """Attack cases, with the texts to score.

    `file` is the name for saved scores. `texts` are distinct pairs of a text and its original
    reference (anchor). `paraphrases` and `adversaries` (attacked texts) are rows of `texts`; they
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
    metrics = {NLI, "BaryScore", *PARTNERS, *COMPARISONS}
    entries = [entry for entry in ENTRIES if metrics & {*entry.names}]
    attacks = Attacks.read(arguments.attacks)
    attacks.complete(arguments.scores, entries)
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
    """Parse the command line of the study; without `commands`, no command is expected."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    if commands:
        parser.add_argument("command", choices=commands)
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="folder for scores")
    parser.add_argument("--sets", nargs="+", default=list(READERS), choices=READERS)
    parser.add_argument("--metrics", nargs="+", default=[], help="default: all metrics")
    parser.add_argument("--model", default="bundled", help="encoder, for tools.layers")
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
