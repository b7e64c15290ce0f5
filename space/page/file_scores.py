"""Scores of a file's pairs: reading it, scoring it in parts, and writing the scores."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from infolm_metric.kernel.pairs import check_pairs, check_text
from infolm_metric.kernel.text_files import CANDIDATE_COLUMNS, REFERENCE_COLUMNS, TABLES

from . import limits
from .choices import REFERENCES, Choices

CANDIDATE_NAMES = (*CANDIDATE_COLUMNS, "predictions", "candidates", "hypothesis", "output")
REFERENCE_NAMES = (*REFERENCE_COLUMNS, "target", "targets", "label")
PART_TOKENS_SQUARED = 20_000  # work between two reports of progress: a second or two


@dataclass(frozen=True)
class Table:
    """The rows of a file, as values by column, and where each stands."""

    name: str
    rows: list[dict[str, Any]]
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


@dataclass(frozen=True)
class FilePairs:
    """Candidates with their references, [rows] each, and the lengths of their texts in tokens."""

    predictions: list[str]
    references: list[str] | list[list[str]]
    token_counts: list[list[int]]  # [rows][candidate, references ...]

    @property
    def groups(self) -> list[list[str]]:
        """The references of each candidate, also where there is one."""
        return [[group] if isinstance(group, str) else group for group in self.references]


@dataclass(frozen=True)
class FileScores:
    """The scores of a file's pairs, in the order of the file."""

    pairs: FilePairs
    scores: list[float]
    signature: str

    @property
    def mean(self) -> float:
        """The mean of the scores."""
        return sum(score / len(self.scores) for score in self.scores)

    @property
    def worst_first(self) -> list[int]:
        """The positions of the pairs, the highest score first."""
        return sorted(range(len(self.scores)), key=lambda index: -self.scores[index])


def read_table(path: str) -> Table:
    """The table in a CSV, TSV or JSON Lines file; ValueError if it is none, empty or too long."""
    name = PurePath(path).name
    read = TABLES.get(PurePath(path.lower()).suffix)
    if read is None:
        raise ValueError(f"{name!r}: the name of a file must end in {', '.join(TABLES)}")
    if Path(path).stat().st_size > limits.FILE_BYTES:
        raise ValueError(f"{name!r} is larger than {limits.FILE_BYTES // 1_000_000} MB; split it")
    try:
        found = list(islice(read(path), limits.ROWS + 1))
    except ValueError as error:  # speaks of the path, which is the server's own matter
        raise ValueError(str(error).replace(path, name)) from None
    limits.check_rows(len(found))
    rows = [dict(row) for _, row in found]
    return Table(name, rows, [place.rpartition(", ")[2] for place, _ in found])


def read_pairs(
    table: Table, candidate_column: str | None, reference_columns: Sequence[str], choices: Choices
) -> FilePairs:
    """The pairs in those columns; ValueError or TypeError that names the line and the column."""
    guessed = table.guess()
    candidate = candidate_column or guessed[0]
    columns = list(reference_columns) or guessed[1]
    if not candidate or not columns:
        missing = "references" if candidate else "candidates"
        raise ValueError(
            f"choose the column that holds the {missing}; there are "
            f"{', '.join(map(repr, table.columns))}"
        )
    predictions: list[Any] = []
    references: list[Any] = []
    for place, row in zip(table.places, table.rows, strict=True):
        cells = [_cell(place, row, column) for column in columns]
        own = _cell(place, row, candidate)
        check_text(f"{place}, {candidate!r}", own)
        group = [text for cell in cells for text in (cell if isinstance(cell, list) else [cell])]
        limits.check_references(len(group))
        for text in group:
            check_text(f"{place}, {', '.join(columns)}", text)
        for text in (own, *group):
            limits.check_characters(f"a text in {place}", text)
        predictions.append(own)
        references.append(cells[0] if len(cells) == 1 else group)
    checked = check_pairs(predictions, references)
    return count_tokens(checked.predictions, references, table.places, choices)


def count_tokens(
    predictions: list[str],
    references: list[str] | list[list[str]],
    places: Sequence[str],
    choices: Choices,
) -> FilePairs:
    """The pairs with the lengths of their texts; ValueError if they are too much work."""
    groups = [
        [text, *([group] if isinstance(group, str) else group)]
        for text, group in zip(predictions, references, strict=True)
    ]
    flat = [text for group in groups for text in group]
    counts = iter(choices.load().token_counts(flat))
    by_row = [[next(counts) for _ in group] for group in groups]
    for place, row in zip(places, by_row, strict=True):
        limits.check_tokens([f"a text in {place}"] * len(row), row)
    lengths = {
        text: n
        for group, row in zip(groups, by_row, strict=True)
        for text, n in zip(group, row, strict=True)
    }
    limits.check_work(lengths.values())  # repeated texts are read once
    return FilePairs(predictions, references, by_row)


def score_in_parts(pairs: FilePairs, choices: Choices) -> Iterator[int | FileScores]:
    """The number of pairs done, again and again, and at last the scores.

    Between two parts others get their turn, and a visitor who has left is noticed. The weights
    come from all pairs, so that the scores are those of one call of `compute`.
    """
    model = choices.load()
    settings = {**choices.settings(), "idf": choices.weights(model)}
    score = model.scorer.score
    if choices.idf == REFERENCES:
        corpus = [text for group in pairs.groups for text in group]
        table = model.document_frequencies(corpus, limits.TOKENS)
        score = partial(model.scorer.score_part, weighting=(table, table))
    scores: list[float] = []
    for start, stop in _parts(pairs.token_counts):
        part = slice(start, stop)
        scores += score(pairs.predictions[part], pairs.references[part], **settings)["scores"]
        yield stop
    yield FileScores(pairs, scores, model.scorer.signature(**settings))


def write_scores(scores: FileScores, path: Path) -> None:
    """Nothing; writes row, score and texts as CSV, in the order of the file, digits in full."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "score", "prediction", "references"])
        for index, (score, text, group) in enumerate(
            zip(scores.scores, scores.pairs.predictions, scores.pairs.references, strict=True), 1
        ):
            shown = group if isinstance(group, str) else json.dumps(group, ensure_ascii=False)
            writer.writerow([index, repr(score), text, shown])


def _cell(place: str, row: dict[str, Any], column: str) -> Any:
    if column not in row:
        raise ValueError(
            f"{place}: no column {column!r}; there are {', '.join(map(repr, row)) or 'none'}"
        )
    return row[column]


def _parts(token_counts: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Ranges of rows, each about PART_TOKENS_SQUARED of work.

    >>> list(_parts([[100, 100], [10, 10], [10, 10], [100, 100]]))
    [(0, 1), (1, 4)]
    """
    start = work = 0
    for index, row in enumerate(token_counts, 1):
        work += sum(count**2 for count in row)
        if work >= PART_TOKENS_SQUARED or index == len(token_counts):
            yield start, index
            start, work = index, 0
