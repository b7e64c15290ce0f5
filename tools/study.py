"""Which metric agrees with people, on whole data sets; prints Markdown tables.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.study score DATA --scores FOLDER [--sets wmt15 ...] [--metrics InfoLM ...]
    python -m tools.study agree DATA --scores FOLDER [--csv results]
    python -m tools.study choose DATA --scores FOLDER
    python -m tools.study trade DATA --scores FOLDER --attacks attacks.jsonl --csv results

DATA is the folder of tools/data.py. `score` keeps every score of every text in FOLDER, and goes on
where it was stopped; it takes the samples in an order drawn by a fixed seed, and with --share 0.5
the first half of them. `agree` gives each metric's agreement with people by data set, with 95%
intervals by the bootstrap, Kendall's tau over texts and Pearson's r over systems, and in how many
criteria it is better or worse than BERTScore and chrF (Williams' test over systems, else the
bootstrap; Holm's correction for all tests of a table). `choose` takes the setting with the largest
mean of text-level Kendall over all data sets but one and reports it on that one. `trade` sets the
share of attacks noticed (rows that `infolm attack` wrote; the paraphrase has to score better than
the attacked text) against text-level Kendall, for MENLI with other metrics at every weight.
`published` compares with the correlations that the paper prints. Documents are counted for idf on
the references of the whole data set; in tables higher is better and figures are x 100.
"""

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import infolm_metric
from infolm_metric import IDF, BaryScorer, InfoLMScorer, MENLIScorer, combine
from infolm_metric.meta_evaluation import agreement, correlation, holm, kendall
from tools.data import READERS, DataSet, rows_of
from tools.tables import show

Scores = dict[str, np.ndarray]  # metric -> [rows], higher is better, NaN where not scored
CHUNK = 160  # rows that are scored between two savings
BUNDLED = Path(infolm_metric.__file__).parent / "bundled"
LAYER = 5  # of 6, of which BERTScore takes the states
TEMPERATURES, INTERPOLATIONS = (1.0, 2.0), (0.0, 0.1, 0.2, 0.3, 0.5)
RIVALS = ("BERTScore", "chrF")
STATISTICS = {"system": ("pearson", "r"), "text": ("kendall", "tau")}
ONE_PASS = "InfoLM 1 pass T{:g} lambda{:g}"
WEIGHTS = tuple(step / 10 for step in range(1, 10))
BESIDE_MENLI = ("BaryScore", ONE_PASS.format(1, 0.2), "BERTScore", "InfoLM")
NLI = "MENLI e avg"
CHOICES = ("InfoLM 1 pass", "BaryScore", "MENLI with")  # how the names of settings begin
PUBLISHED = {  # Pearson, Spearman, Kendall; Colombo et al. 2022, Table 2
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
    """What is scored: some rows of texts, and on which references documents are counted."""

    predictions: list[str]
    references: list[list[str]]
    corpus: tuple[str, ...]
    average: bool  # over the references; else the best counts

    def rows(self, chosen: Iterable[int]) -> "Texts":
        """Some of the rows."""
        texts = [(self.predictions[row], self.references[row]) for row in chosen]
        return Texts(*map(list, zip(*texts, strict=True)), self.corpus, self.average)


@dataclass(frozen=True)
class Entry:
    """One or more metrics that are scored together."""

    names: tuple[str, ...]
    score: Callable[[Texts], Scores]


@cache
def scorer_of(kind: type, **settings: Any) -> Any:
    """A scorer of the bundled model, loaded once."""
    return kind(model_name_or_path="bundled", **settings)


@cache
def table_of(corpus: tuple[str, ...]) -> IDF:
    """The weights by the documents of a whole data set."""
    from transformers import AutoTokenizer

    return IDF.from_corpus(list(corpus), AutoTokenizer.from_pretrained(BUNDLED))


def distance(title: str, kind: type, *, idf: bool = True, **settings: Any) -> Entry:
    """InfoLM or BaryScore, of which lower is better."""

    def score(texts: Texts) -> Scores:
        found = scorer_of(kind, **settings).score(
            texts.predictions,
            texts.references,
            idf=table_of(texts.corpus) if idf else False,
            multi_reference="mean" if texts.average else "min",
        )
        return {title: -np.asarray(found["scores"])}

    return Entry((title,), score)


def one_pass(texts: Texts) -> Scores:
    """InfoLM with nothing masked and some of the text's own tokens, by every setting."""
    rows = scorer_of(InfoLMScorer, masks_per_pass=0).sweep(
        texts.predictions,
        texts.references,
        temperatures=TEMPERATURES,
        interpolations=INTERPOLATIONS,
        idfs=[table_of(texts.corpus)],
        multi_reference="mean" if texts.average else "min",
    )
    return {
        ONE_PASS.format(settings.temperature, settings.interpolation): -np.asarray(found["scores"])
        for settings, found in rows
    }


def menli(formula: str, direction: str) -> Entry:
    """MENLI by a formula and a direction."""
    title = f"MENLI {formula} {direction}"

    def score(texts: Texts) -> Scores:
        found = scorer_of(MENLIScorer, formula=formula, direction=direction).score(
            texts.predictions,
            texts.references,
            multi_reference="mean" if texts.average else "max",
        )
        return {title: np.asarray(found["scores"])}

    return Entry((title,), score)


def over_references(title: str, score: Callable[[list[str], list[str]], Any]) -> Entry:
    """A metric of candidates with one reference each, [single pairs]: the best, or the mean."""

    def combined(texts: Texts) -> Scores:
        counts = np.asarray([len(group) for group in texts.references])
        candidates = np.repeat(np.asarray(texts.predictions, dtype=object), counts).tolist()
        flat = [text for group in texts.references for text in group]
        values, starts = np.asarray(score(candidates, flat)), np.cumsum(counts) - counts
        if texts.average:
            return {title: np.add.reduceat(values, starts) / counts}
        return {title: np.maximum.reduceat(values, starts)}

    return Entry((title,), combined)


def sacrebleu_scores(name: str, candidates: list[str], references: list[str]) -> list[float]:
    """sacrebleu's sentence scores with its defaults; TER is negated."""
    from sacrebleu import metrics

    metric = getattr(metrics, name.upper())(**{"effective_order": True} if name == "BLEU" else {})
    sign = -1.0 if name == "TER" else 1.0
    pairs = zip(candidates, references, strict=True)
    return [sign * metric.sentence_score(one, [other]).score for one, other in pairs]


def rouge_l(candidates: list[str], references: list[str]) -> list[float]:
    """F1 of ROUGE-L, with stemming."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = zip(candidates, references, strict=True)
    return [scorer.score(other, one)["rougeL"].fmeasure for one, other in pairs]


@cache
def bert_scorer() -> Any:
    """BERTScore with the bundled model's encoder, not rescaled."""
    from bert_score import BERTScorer

    return BERTScorer(model_type=str(BUNDLED), num_layers=LAYER, device="cpu")


def bert_score(candidates: list[str], references: list[str]) -> np.ndarray:
    """F1 of BERTScore."""
    # bert-score 0.3.13 cannot encode an empty text with transformers 5; it means 0 for one.
    texts = [text if text.strip() else "." for text in candidates]
    f1 = bert_scorer().score(texts, references)[2].double().numpy()
    return np.where([bool(text.strip()) for text in candidates], f1, 0.0)


ENTRIES = (
    *(over_references(name, partial(sacrebleu_scores, name)) for name in ("BLEU", "chrF", "TER")),
    over_references("ROUGE-L", rouge_l),
    over_references("BERTScore", bert_score),
    distance("BaryScore", BaryScorer),
    distance("BaryScore uniform", BaryScorer, idf=False),
    Entry(tuple(ONE_PASS.format(t, x) for t in TEMPERATURES for x in INTERPOLATIONS), one_pass),
    menli("e", "avg"),
    menli("e-c", "hr"),
    distance("InfoLM", InfoLMScorer),
)


def path_of(folder: Path, name: str, entry: Entry) -> Path:
    """The file of the scores of an entry on a data set."""
    return folder / name / f"{entry.names[0].replace(' ', '_')}.npz"


def kept(folder: Path, name: str) -> Scores:
    """The scores of a data set that are kept, with MENLI's combinations of those that are whole."""
    scores: Scores = {}
    for entry in ENTRIES:
        if (path := path_of(folder, name, entry)).exists():
            scores |= dict(np.load(path))
    for other in BESIDE_MENLI:
        if not all(each in scores and not np.isnan(scores[each]).any() for each in (NLI, other)):
            continue
        for weight in WEIGHTS:
            title = f"MENLI with {other} {weight:g}"
            combined = combine(scores[NLI].tolist(), scores[other].tolist(), weight)
            scores[title] = np.asarray(combined)
    return scores


def complete(
    folder: Path,
    name: str,
    texts: Texts,
    order: Sequence[int],
    entries: Iterable[Entry],
) -> None:
    """Score what is missing of the rows, in that order, and save after each chunk."""
    for entry in entries:
        path, start = path_of(folder, name, entry), time.perf_counter()
        path.parent.mkdir(parents=True, exist_ok=True)
        empty = {each: np.full(len(texts.predictions), np.nan) for each in entry.names}
        scores = empty | (dict(np.load(path)) if path.exists() else {})
        missing = [row for row in order if any(np.isnan(each[row]) for each in scores.values())]
        for first in range(0, len(missing), CHUNK):
            chunk = missing[first : first + CHUNK]
            for title, values in entry.score(texts.rows(chunk)).items():
                scores[title][chunk] = values
            part = path.with_suffix(".part.npz")
            np.savez(part, **scores)
            part.replace(path)
        if missing:
            seconds = time.perf_counter() - start
            print(f"{name}: {entry.names[0]}: {len(missing)} rows, {seconds:.0f} s", flush=True)


def texts_of(data: DataSet) -> Texts:
    """The texts of a data set, documents counted on all of its references."""
    corpus = tuple(text for group in data.references for text in group)
    return Texts(data.predictions, data.references, corpus, data.average)


def score_sets(given: argparse.Namespace) -> None:
    """Score the data sets."""
    entries = [each for each in ENTRIES if not given.metrics or {*each.names} & {*given.metrics}]
    for name in given.sets:
        data = READERS[name](given.data)
        order = data.drawn_order().tolist()
        order = order[: round(given.share * len(order))]
        complete(given.scores, name, texts_of(data), order, entries)


def text_kendall(data: DataSet, scores: np.ndarray) -> float:
    """Kendall over the texts of a sample, or of a language, averaged over these and criteria."""
    grids = data.grids(scores)
    return float(
        np.mean(
            [
                correlation(human, grids[name], "kendall", "text")
                if part.systems
                else kendall(human, grids[name])
                for name, part in data.parts.items()
                for human in part.human.values()
            ]
        )
    )


def agreement_tables(
    data: DataSet, scores: Scores, resamples: int
) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """For each level a title, a header and a row for each metric; a column a criterion."""
    tables = {
        name: agreement(
            part.human,
            {metric: data.grids(column)[name] for metric, column in scores.items()},
            against=RIVALS,
            length=part.lengths,
            resamples=resamples,
        )
        for name, part in data.parts.items()
    }
    first = next(iter(tables.values()))
    columns = [(name, each) for name, table in tables.items() for each in table.names("criterion")]
    rows_left_out = sum(sum(table.dropped.values()) for table in tables.values())
    for level in first.names("level"):
        statistic, short = STATISTICS[level]

        def cells(metric: str, what: str, level: str = level) -> list[Any]:
            return [tables[name].find(metric, each, level, what) for name, each in columns]

        metrics = first.names("metric")
        found = {metric: cells(metric, statistic) for metric in metrics}
        tests = [
            (rival, metric, cell.value - other.value, cell.p_values[rival])
            for rival in RIVALS
            for metric in metrics
            if metric != rival
            for cell, other in zip(found[metric], found[rival], strict=True)
        ]
        corrected = holm([p for *_, p in tests])
        verdicts = [
            (rival, metric, np.sign(gain))
            for (rival, metric, gain, _), p in zip(tests, corrected, strict=True)
            if p < 0.05
        ]
        rows = []
        for metric in metrics:
            row = [
                f"{100 * c.value:.1f} [{100 * c.low:.0f}, {100 * c.high:.0f}]"
                for c in found[metric]
            ]
            for each in (found[metric], cells(metric, "partial")):
                row.append(f"{100 * np.mean([cell.value for cell in each]):.1f}")
            for rival in RIVALS:
                better, worse = (verdicts.count((rival, metric, sign)) for sign in (1, -1))
                row.append("" if metric == rival else f"+{better} -{worse}")
            rows.append([metric, *row])
        names = [f"{name} {each}".strip().replace("_", " ") for name, each in columns]
        header = ["metric", *names, f"mean {short}", "mean r given length"]
        header += [f"than {rival}" for rival in RIVALS]
        left_out = f", {rows_left_out} without all scores left out" if rows_left_out else ""
        yield f"{data.title}: {short} over {level}s{left_out}", header, rows


def agree(given: argparse.Namespace) -> None:
    """Each metric's agreement with people; metrics that are not whole in a table of their own."""
    for name in given.sets:
        data, scores = READERS[name](given.data), kept(given.scores, name)
        if given.metrics:
            scores = {each: scores[each] for each in (*given.metrics, *RIVALS) if each in scores}
        else:
            scores = {each: s for each, s in scores.items() if not each.startswith("MENLI with")}
        whole = {each: column for each, column in scores.items() if not np.isnan(column).any()}
        partly = {each: column for each, column in scores.items() if each not in whole}
        for part in [whole] + [partly | {each: whole[each] for each in RIVALS}] * bool(partly):
            for title, header, rows in agreement_tables(data, part, given.resamples):
                show(title, header, rows, given.csv)


def choose(given: argparse.Namespace) -> None:
    """Settings chosen on all data sets but one, by the mean of text-level Kendall, on that one."""
    sets = {name: READERS[name](given.data) for name in given.sets if name != "summeval11"}
    scores = {name: kept(given.scores, name) for name in sets}
    values = {
        name: {
            each: text_kendall(data, s) for each, s in scores[name].items() if np.isfinite(s).all()
        }
        for name, data in sets.items()
    }
    for begin in CHOICES:
        among = [each for each in next(iter(values.values())) if each.startswith(begin)]
        among = [each for each in among if all(each in found for found in values.values())]
        if not among:
            continue
        rows = []
        for out in sets:
            others = {
                each: float(np.mean([values[name][each] for name in sets if name != out]))
                for each in among
            }
            best = max(others, key=others.__getitem__)
            found = [values[out][each] for each in (best, *RIVALS)]
            rows.append(
                [sets[out].title, best, *(f"{100 * v:.1f}" for v in (others[best], *found))]
            )
        header = ["reported on", f"chosen among {len(among)}", "tau on the others", "tau here"]
        show(f"Chosen: {begin}", [*header, *RIVALS], rows, given.csv)


def trade(given: argparse.Namespace) -> None:
    """Attacks noticed against agreement, by the weight of MENLI beside other metrics."""
    cases = [row for row in rows_of(given.attacks) if row.get("paraphrase")]
    pairs = list(
        dict.fromkeys(
            (row[key], row["anchor"]) for row in cases for key in ("paraphrase", "adversary")
        )
    )
    corpus = tuple(dict.fromkeys(anchor for _, anchor in pairs))
    texts = Texts([text for text, _ in pairs], [[anchor] for _, anchor in pairs], corpus, False)
    name = f"attacks-{hashlib.sha256(given.attacks.read_bytes()).hexdigest()[:12]}"
    wanted = {NLI, *BESIDE_MENLI, *RIVALS}
    entries = [entry for entry in ENTRIES if wanted & {*entry.names}]
    complete(given.scores, name, texts, range(len(pairs)), entries)
    place = {pair: row for row, pair in enumerate(pairs)}
    sides = [
        [place[row[key], row["anchor"]] for row in cases] for key in ("paraphrase", "adversary")
    ]
    attacks = np.asarray([row["attack"] for row in cases])

    def noticed(scores: np.ndarray) -> float:
        one, other = (scores[side] for side in sides)
        better = (one > other) & ~np.isclose(one, other, rtol=1e-6, atol=1e-9)
        return float(np.mean([better[attacks == attack].mean() for attack in np.unique(attacks)]))

    sets = {each: READERS[each](given.data) for each in given.sets}
    scores = {each: kept(given.scores, each) for each in (name, *sets)}
    rows = []
    for metric in scores[name]:
        figures = [noticed(scores[name][metric])]
        for each, data in sets.items():
            column = scores[each].get(metric, np.full(1, np.nan))
            whole = np.isfinite(column).all()
            figures.append(text_kendall(data, column) if whole else float("nan"))
        rows.append([metric, *(f"{100 * figure:.1f}" for figure in figures)])
    header = ["metric", "attacks noticed", *(data.title for data in sets.values())]
    show("Attacks noticed against tau over texts", header, rows, given.csv)


def published(given: argparse.Namespace) -> int:
    """The correlations over systems of Table 2 on WebNLG; 1 if one is farther off than 0.3."""
    data = READERS["webnlg"](given.data)
    bleu = next(entry for entry in ENTRIES if entry.names == ("BLEU",)).score(texts_of(data))[
        "BLEU"
    ]
    ratings = data.parts[""]
    grids = {**ratings.human, "BLEU": ratings.grid(bleu)}
    rows, agreed = [], True
    for pair in combinations(grids, 2):
        one, other = (grids[name] for name in pair)
        found = [100 * correlation(one, other, name) for name in ("pearson", "spearman", "kendall")]
        known = PUBLISHED.get(pair)
        far = max(abs(round(a, 1) - b) for a, b in zip(found, known or found, strict=True))
        agreed &= known is None or far <= (0.3 if "BLEU" in pair else 0.1) + 1e-9
        here = " / ".join(f"{value:.1f}" for value in found)
        rows.append([" - ".join(pair), " / ".join(map(str, known or "-")), here])
    show("Correlations over systems", ["pair", "published r / rho / tau", "here"], rows, given.csv)
    print(
        f"\nThe {3 * len(PUBLISHED)} published figures {'agree' if agreed else 'do NOT all agree'}"
    )
    return 0 if agreed else 1


WHAT: Mapping[str, Callable[[argparse.Namespace], int | None]] = {
    "score": score_sets,
    "agree": agree,
    "choose": choose,
    "trade": trade,
    "published": published,
}


def main() -> int | None:
    """Score, or print tables of what is scored."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("data", type=Path, help="folder of the four files")
    parser.add_argument(
        "--scores", type=Path, default=Path("scores"), help="folder that keeps them"
    )
    parser.add_argument("--sets", nargs="+", default=list(READERS), choices=READERS)
    parser.add_argument("--metrics", nargs="+", default=[], help="default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of each data set, drawn")
    parser.add_argument("--attacks", type=Path, help="rows that `infolm attack` wrote")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--csv", type=Path, help="folder for the tables' rows")
    given = parser.parse_args()
    return WHAT[given.what](given)


if __name__ == "__main__":
    sys.exit(main())
