"""Data sets with human judgments for the study, and pairs of texts for benchmarks.

A data set is a JSON Lines file whose rows have the fields prediction, references and human. The
study expects four files in one folder:

- webnlg2020.en.jsonl: WebNLG 2020, 16 systems, human evaluation (Castro Ferreira et al. 2020), from
  github.com/WebNLG/challenge-2020: outputs, references and mean ratings
- summeval.jsonl: SummEval, 16 systems, 11 references, mean ratings by experts (Fabbri et al. 2021),
  from SUM/SummEval/data.pkl in github.com/neulab/BARTScore
- sfres.jsonl: SFRES, without system names (Wen et al. 2015), from D2T/SFRES/data.pkl in the same
  repository
- wmt15.jsonl: WMT 2015, four languages into English, direct assessment, without system names, from
  raw_score in github.com/PierreColombo/nlg_eval_via_simi_measures

tools/answers.py and tools/estimate.py read answers.jsonl: 6,250 answers with verdicts from EVOUNA
(Wang et al. 2023, github.com/wangcunxiang/QA-Eval) and DIVER-QA (arXiv 2511.07659).
tools/answers.py also reads:

- answers_more.jsonl: EfficientQA's rated answers, from nq_open in
  github.com/google-research-datasets/natural-questions
- hardverify.jsonl: HardVerify-Math, from benchmarks in github.com/uw-nsl/TinyV
- answers_modern.jsonl: answers to MMLU-Pro and GPQA, from github.com/nikhilchandak/answer-matching
- long_answers.jsonl: 280 pairs of answers with preferences, from data/meta_evaluation in
  github.com/amazon-science/RAGChecker
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from infolm_metric.meta_evaluation import Ratings, read_ratings

INCOMPLETE = "1124"  # WebNLG sample that lacks one system's ratings. Also excluded by the paper
Pair = tuple[str, str]


@dataclass(frozen=True)
class DataSet:
    """Data set with human judgments.

    `title` is the name in tables. `parts` are ratings by language (key "" if there is only one).
    `average` is True if scores are averaged over references instead of taking the best score.
    """

    name: str
    title: str
    parts: Mapping[str, Ratings]
    average: bool = False

    @property
    def predictions(self) -> list[str]:
        """Predictions in all languages, [rows]."""
        return [text for part in self.parts.values() for text in part.predictions]

    @property
    def references(self) -> list[list[str]]:
        """References of each prediction, [rows]."""
        return [list(group) for part in self.parts.values() for group in part.references]

    def random_order(self) -> np.ndarray:
        """Return row numbers grouped by sample, in a fixed random order of samples, int [rows]."""
        samples, start = [], 0
        for part in self.parts.values():
            samples.append(part.indices[:, 1] + start)
            start += len(part.samples)
        place = np.random.default_rng(0).permutation(start)
        return np.argsort(place[np.concatenate(samples)], kind="stable")

    def grids(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """Arrange scores [rows] in one grid per language, [systems, samples] or [texts] each."""
        sizes = [len(part.predictions) for part in self.parts.values()]
        columns = np.split(scores, np.cumsum(sizes)[:-1])
        return {
            name: part.grid(column)
            for (name, part), column in zip(self.parts.items(), columns, strict=True)
        }


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def webnlg(folder: Path) -> DataSet:
    """Read WebNLG 2020: 16 systems and 177 samples, as in Table 2 of Colombo et al. 2022."""
    rows = read_json_lines(folder / "webnlg2020.en.jsonl")
    ratings = read_ratings(row for row in rows if str(row["id"]) != INCOMPLETE)
    return DataSet("webnlg", "WebNLG 2020", {"": ratings}, average=True)


def summeval(folder: Path, references: int = 1) -> DataSet:
    """Read SummEval: 16 systems and 100 documents, with the first reference by default."""
    rows = read_json_lines(folder / "summeval.jsonl")
    ratings = read_ratings({**row, "references": row["references"][:references]} for row in rows)
    title = "SummEval, 11 references" if references > 1 else "SummEval, original reference"
    return DataSet("summeval11" if references > 1 else "summeval", title, {"": ratings})


def summeval11(folder: Path) -> DataSet:
    return summeval(folder, 11)


def sfres(folder: Path) -> DataSet:
    """Read SFRES: 1,181 texts without system names."""
    rows = read_json_lines(folder / "sfres.jsonl")
    ratings = read_ratings(
        {name: value for name, value in row.items() if name != "system"} for row in rows
    )
    return DataSet("sfres", "SFRES", {"": ratings})


def wmt15(folder: Path) -> DataSet:
    """Read WMT 2015: 500 segments without system names for each of four source languages."""
    by_language: dict[str, list[dict[str, Any]]] = {}
    for row in read_json_lines(folder / "wmt15.jsonl"):
        by_language.setdefault(row["lang"], []).append(row)
    parts = {language: read_ratings(rows) for language, rows in by_language.items()}
    return DataSet("wmt15", "WMT 2015", parts)


READERS = {reader.__name__: reader for reader in (webnlg, summeval, summeval11, sfres, wmt15)}


def read_pairs(path: Path) -> list[Pair]:
    """Return (prediction, reference) pairs: all rows' first references, then the second, etc."""
    by_row = [
        [(row["prediction"], text) for text in row["references"]]
        for row in read_json_lines(path)
        if row["prediction"]
    ]
    return [pair for round_ in zip_longest(*by_row) for pair in round_ if pair]


def distinct_pairs(path: Path, count: int) -> list[Pair]:
    """Return the first `count` pairs of a file, skipping pairs that repeat a text."""
    pairs: list[Pair] = []
    texts: set[str] = set()
    for pair in read_pairs(path):
        if len({*pair} - texts) == 2 and len(pairs) < count:
            texts |= {*pair}
            pairs.append(pair)
    if len(pairs) < count:
        raise SystemExit(f"{path} has {len(pairs)} pairs of distinct texts. {count} are required")
    return pairs


def equal_pairs(path: Path, tokenizer: Any, length: int, count: int) -> list[Pair]:
    """Return `count` pairs of distinct texts with `length` tokens each, including special tokens.

    The texts are cut from the predictions in a file.
    """
    corpus = " ".join(dict.fromkeys(prediction for prediction, _ in read_pairs(path)))
    ids = tokenizer(corpus, add_special_tokens=False, verbose=False)["input_ids"]
    starts = range(0, len(ids), length)
    pieces = dict.fromkeys(tokenizer.decode(ids[start : start + length - 2]) for start in starts)
    texts = (text for text in pieces if len(tokenizer(text)["input_ids"]) == length)
    return list(islice(zip(texts, texts, strict=False), count))


def systems_sharing_references(path: Path, samples: int) -> list[Pair]:
    """Return 16 systems' outputs for the first samples, each with its sample's first reference."""
    by_sample: dict[str, list[Pair]] = {}
    for row in read_json_lines(path):
        if row["prediction"] and not row.get("is_human"):
            pair = row["prediction"], row["references"][0]
            by_sample.setdefault(row["id"], []).append(pair)
    groups = [pairs[:16] for pairs in by_sample.values() if len(pairs) >= 16][:samples]
    return [pair for pairs in groups for pair in pairs]
