"""Scores of a file's pairs: reading it, scoring it in parts, and writing the scores."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.rescaling import known_baseline
from infolm_metric.kernel.results import Result, joined
from infolm_metric.kernel.tables import TABLES
from infolm_metric.kernel.text_files import CANDIDATE_COLUMNS, REFERENCE_COLUMNS, pair_of

from . import limits
from .allowed_models import AllowedModel, model_named
from .choices import Choices, alternatives

CANDIDATE_NAMES = (*CANDIDATE_COLUMNS, "predictions", "candidates", "hypothesis", "output")
REFERENCE_NAMES = (*REFERENCE_COLUMNS, "target", "targets", "label")
FILE_TYPES = (".csv", ".tsv", ".jsonl", ".ndjson")
PART_TOKENS_SQUARED = 20_000  # work between two reports of progress: a second or two


@dataclass(frozen=True)
class Table:
    """The rows of a file, as values by column, and where each stands."""

    rows: list[Mapping[str, Any]]
    places: list[str]  # "line 3"

    @property
    def columns(self) -> list[str]:
        """The columns of the first row."""
        return list(self.rows[0])

    def guess(self) -> tuple[str | None, list[str]]:
        """The column of candidates and those of references, where a known name is there."""
        candidates = [name for name in CANDIDATE_NAMES if name in self.columns]
        references = [name for name in REFERENCE_NAMES if name in self.columns]
        return next(iter(candidates), None), references[:1]


def read_table(path: str) -> Table:
    """The table in a CSV, TSV or JSON Lines file; ValueError if it is none, empty or too long."""
    name = PurePath(path).name
    suffix = PurePath(path.lower()).suffix
    if suffix not in FILE_TYPES:
        raise ValueError(
            f"{name!r}: the name of a file must end in {alternatives(FILE_TYPES)}; rename it"
        )
    if Path(path).stat().st_size > limits.FILE_BYTES:
        raise ValueError(f"{name!r} is larger than {limits.FILE_BYTES // 1_000_000} MB; split it")
    try:
        found = list(islice(TABLES[suffix](path), limits.ROWS + 1))
    except ValueError as error:  # speaks of the path, which is the server's own matter
        raise ValueError(str(error).replace(path, name)) from None
    limits.check_rows(len(found))
    rows = [row for _, row in found]
    return Table(rows, [place.removeprefix(f"{path}, ") for place, _ in found])


def read_pairs(table: Table, candidate: str | None, columns: Sequence[str]) -> Pairs:
    """The pairs in those columns; ValueError or TypeError that names the line and the column."""
    if not candidate or not columns:
        missing, names = "references" if candidate else "candidates", table.columns
        there = f"there {'is' if len(names) == 1 else 'are'} {', '.join(map(repr, names))}"
        if len(names) == 1 and {";", "\t"} & set(names[0]):
            there += "; separate the cells of a .csv by commas, or of a .tsv by tabs"
        raise ValueError(f"choose the column that holds the {missing}; {there}")
    found = zip(table.places, table.rows, strict=True)
    return Pairs.of(pair_of(place, row, candidate, columns) for place, row in found)


def score_in_parts(pairs: Pairs, places: Sequence[str], choices: Choices) -> Iterator[int | Result]:
    """The number of pairs done, again and again, and at last the result.

    Between two parts others get their turn, and a visitor who has left is noticed. The weights
    come from all pairs, so that the scores are those of one call of `compute`. ValueError if the
    pairs, each of which stands at one of the `places`, are too much work. The result has the
    package's baseline where it fits.
    """
    model = model_named(choices.model)
    parts = list(_parts(_work(pairs, places, model)))
    settings, scorer, inner = choices.settings(model), model.scorer, model.scorer.inner
    with scorer.lock:
        statistics = inner.count(pairs, settings)
        counts = Counter(map(len, pairs.references))
        baseline = known_baseline(inner, settings, statistics, counts)
    results = []
    for start, stop in parts:
        with scorer.lock:
            results.append(inner.score(pairs.part(start, stop), settings, statistics))
        yield stop
    yield replace(joined(results), baseline=baseline)


def write_scores(pairs: Pairs, scores: Sequence[float], path: Path) -> None:
    """Write row, score and texts as CSV, in the order of the file, digits in full."""
    several = any(len(group) > 1 for group in pairs.references)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "score", "prediction", "references"])
        for index, (score, (text, group)) in enumerate(zip(scores, pairs, strict=True), 1):
            shown = json.dumps(group, ensure_ascii=False) if several else group[0]
            writer.writerow([index, repr(score), text, shown])


def _work(pairs: Pairs, places: Sequence[str], model: AllowedModel) -> list[int]:
    """What each pair costs, in tokens squared; ValueError if a text or all of them are too much."""
    for place, (candidate, group) in zip(places, pairs, strict=True):
        limits.check_references(len(group), place)
        for text in (candidate, *group):
            limits.check_characters(f"a text of {place}", text)
    texts = list(dict.fromkeys(pairs.texts))
    tokens = dict(zip(texts, model.token_counts(texts), strict=True))
    counts = [[tokens[text] for text in (candidate, *group)] for candidate, group in pairs]
    for place, row in zip(places, counts, strict=True):
        limits.check_tokens([f"a text in {place}"] * len(row), row)
    limits.check_work(tokens.values())  # repeated texts are read once
    return [sum(count**2 for count in row) for row in counts]


def _parts(work: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of pairs, each about PART_TOKENS_SQUARED of work.

    >>> list(_parts([20_000, 200, 200, 20_000]))
    [(0, 1), (1, 4)]
    """
    start = done = 0
    for index, each in enumerate(work, 1):
        done += each
        if done >= PART_TOKENS_SQUARED or index == len(work):
            yield start, index
            start, done = index, 0
