"""Human scores of system outputs, read from a file or a data set into grids.

Each row is one system's text for one sample: `system`, `id` (of the sample), `prediction`,
`references` (a list or a string), `human` (criterion -> score, higher is better) and optionally
`metrics` (name -> score of another metric). In a flat table, such as CSV, scores are in columns
named like `human.fluency` and `metrics.bleu`, or in columns that the caller selects. A missing
score is null, empty or absent. Rows in which `is_human` is true are skipped, because no system
wrote their texts. If no row has a `system`, each row is a sample, and human scores are in the
column `score` by default. A table without `system` is rejected if a column has a similar name or if
an id occurs twice, because texts for the same sample are not independent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from numbers import Real
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from infolm_metric.core.checks import InputError, check_value
from infolm_metric.tables import Row, cell, parse_pair, read_rows

# Default column of human scores in rows without systems.
SCORE = "score"
# Other names of a column that probably contains the systems.
SYSTEM_NAMES = re.compile(r"(?i)(sys(tem)?|model|engine|submission)s?([\W_]*(id|name))?")
INDEPENDENT = "pass system_column=False to treat all rows as independent texts"
# Values of `is_human` in lower case. "1.0" and "0.0" come from columns with missing values.
TRUE, FALSE = ("true", "1", "1.0"), ("false", "0", "0.0", "", "none", "nan", "<na>")


@dataclass(frozen=True)
class Ratings:
    """System outputs and their human scores.

    Scores are arranged in grids, float64 [systems, samples], with NaN for missing scores. If the
    systems are unknown, each text is a sample, and grids are [samples].

    Attributes:
        systems: system names. Empty if the systems are unknown.
        samples: sample ids.
        indices: system index and sample index of each row, int64 [rows, 2].
        predictions: the texts, [rows].
        references: references of each text, [rows].
        human_texts: number of rows that were skipped because a human wrote the text.
        human: criterion -> grid of human scores, higher is better.
        metrics: name of another metric -> grid of its scores.
    """

    systems: tuple[str, ...]
    samples: tuple[str, ...]
    indices: np.ndarray
    predictions: tuple[str, ...] = ()
    references: tuple[tuple[str, ...], ...] = ()
    human_texts: int = 0
    human: Mapping[str, np.ndarray] = field(default_factory=dict)
    metrics: Mapping[str, np.ndarray] = field(default_factory=dict)

    def grid(self, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """Arrange `values`, one per row, as a grid. NaN if a system has no row for a sample.

        >>> from infolm_metric.meta_evaluation import read_ratings
        >>> rows = [dict(system=s, id=i, prediction="", references="", human={"fluency": n})
        ...         for s, i, n in (("A", 1, 5.0), ("B", 1, 7.0), ("B", 2, 8.0))]
        >>> read_ratings(rows).grid([1, 2, 3])
        array([[ 1., nan],
               [ 2.,  3.]])
        """
        grid = np.full((len(self.systems) or 1, len(self.samples)), np.nan)
        grid[self.indices[:, 0], self.indices[:, 1]] = values
        return grid if self.systems else grid[0]

    @property
    def lengths(self) -> np.ndarray:
        """Length of each text in characters, as a grid."""
        return self.grid([float(len(text)) for text in self.predictions])


def read_ratings(
    rows: object,
    *,
    criteria: Sequence[str] = (),
    metrics: Sequence[str] = (),
    system_column: str | Literal[False] | None = None,
    id_column: str | None = None,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    texts: bool = True,
    correlated: bool = True,
) -> Ratings:
    """Read ratings from a table file, a `datasets.Dataset` or an iterable of dictionaries.

    Systems and ids are converted to strings. Whole numbers are written without a decimal point,
    so the numbers 1.0 and 1 are the same id, but the strings "1.0" and "1" (as in CSV) are not.

    Args:
        rows: a file name, or an iterable with one dictionary per row.
        criteria: names of human scores to read, in `human` or in columns (default: all names in
            `human` or, if there are no names and no systems, the column `score`).
        metrics: names of other metrics' scores to read, in `metrics` or in columns (default: all
            names in `metrics`).
        system_column: column of systems (default: "system"), or False to treat all rows as
            independent texts.
        id_column: column of sample ids (default: "id").
        candidate_column: column of texts (default: "prediction" or "candidate").
        reference_columns: columns of references (default: "references" or "reference").
        texts: False to skip the texts, which may then be missing.
        correlated: False to accept data without a defined correlation: a single system, or scores
            that are all equal or missing.

    Returns:
        The ratings. Systems and samples are in the order of their first rows. The sample ids are
        row numbers if `system_column` is False, or if there are neither systems nor ids.

    Raises:
        InputError: a column is missing or misspelled, a score is not a finite number, two
            rows have the same system and sample, there are fewer than two systems or samples, or
            all scores of a criterion or metric are equal.

    >>> rows = [{"system": s, "id": "1", "prediction": "a cat", "references": ["the cat"],
    ...          "human": {"fluency": 80}} for s in ("A", "A")]
    >>> read_ratings(rows)
    Traceback (most recent call last):
    infolm_metric.InputError: row 2: system 'A' already has a text for id '1' in row 1. Remove ...
    """
    file = f"{fspath(rows)}: " if isinstance(rows, str | PathLike) else ""
    if not isinstance(rows, Iterable | PathLike):
        raise InputError(f"rows must be a file name or a list of dictionaries, got {rows!r}")
    names = {"criteria": criteria, "metrics": metrics, "reference_columns": reference_columns}
    for argument, value in names.items():
        check_value(argument, value, tuple[str, ...])
    table = list(_locate_rows(rows))
    used = {*criteria, *metrics, candidate_column, *reference_columns}
    columns = [name for name in _columns(table) if name not in used - {"system", "id"}]
    system = _find_system(file, columns, system_column)
    sample = id_column or ("id" if system or "id" in columns else None)
    outputs = _select_rows(table, system, sample, system_column is False)
    human_texts, table = len(table) - len(outputs), list(outputs.values())
    pairs = [parse_pair(*row, candidate_column, reference_columns) for row in table if texts]
    systems, samples = (list(dict.fromkeys(key[axis] for key in outputs)) for axis in (0, 1))
    for name, values in ((system, systems), (sample, samples)):
        if len(values) < 2 and (values is samples or (system and correlated)):
            skipped = f" (skipped {human_texts} human-written texts)" if human_texts else ""
            unit = f"values of {name!r}" if system else "texts"
            raise InputError(f"{file}need at least 2 {unit}, got {len(values)}{skipped}. Add rows.")
    others = _read_scores(table, "metrics", metrics)
    default = () if system or SCORE in metrics else (SCORE,)
    human = _read_scores(table, "human", criteria, default)
    if overlap := human.keys() & {name.removeprefix("human.") for name in others}:
        raise InputError(f"{file}{min(overlap)!r} is both a criterion and a metric. Rename one.")
    for name, column in {**human, **others}.items() if correlated else ():
        check_varies(f"{file}column {name!r}", column)
    rows_of, columns_of = ({name: i for i, name in enumerate(axis)} for axis in (systems, samples))
    ratings = Ratings(
        systems=tuple(systems) if system else (),
        samples=tuple(samples),
        indices=np.array([[rows_of[one], columns_of[other]] for one, other in outputs]),
        predictions=tuple(prediction for prediction, _ in pairs),
        references=tuple(tuple(references) for _, references in pairs),
        human_texts=human_texts,
    )
    return replace(
        ratings,
        human={name: ratings.grid(column) for name, column in human.items()},
        metrics={name: ratings.grid(column) for name, column in others.items()},
    )


# Rows and columns.


def _locate_rows(rows: Any) -> Iterator[Row]:
    """Yield each row with its location, for error messages, and with a column per score."""
    table = read_rows(fspath(rows)) if isinstance(rows, str | PathLike) else None
    for where, row in table or ((f"row {number}", row) for number, row in enumerate(rows, 1)):
        if not isinstance(row, Mapping):
            raise InputError(
                f"{where} must be a dictionary, got {type(row).__name__}. Pass a list of "
                "dictionaries, such as df.to_dict('records')."
            )
        flat = {str(name): value for name, value in row.items()}
        for group in ("human", "metrics"):
            if isinstance(flat.get(group), Mapping):
                scores = flat.pop(group)
                flat |= {f"{group}.{name}": value for name, value in scores.items()}
        yield where, flat


def _columns(table: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(name for _, row in table for name in row))


def _find_system(
    file: str, columns: Sequence[str], column: str | Literal[False] | None
) -> str | None:
    """Find the column of systems, or None if there is none. A similar name is an error."""
    if column is not None:
        return column or None
    similar = next(filter(SYSTEM_NAMES.fullmatch, columns), None)
    if similar and "system" not in columns:
        raise InputError(
            f"{file}no column is named 'system'. If {similar!r} contains systems, pass "
            f"system_column={similar!r}. Otherwise, {INDEPENDENT}."
        )
    return "system" if "system" in columns else None


def _select_rows(
    table: Sequence[Row], system_column: str | None, id_column: str | None, independent: bool
) -> dict[tuple[str, str], Row]:
    """Return the system outputs by (system, sample), without human texts.

    If the rows are `independent`, each one is a sample, regardless of its id.
    """
    texts: dict[tuple[str, str], Row] = {}
    for number, row in enumerate(table, 1):
        system = _parse_name(*row, system_column) if system_column else ""
        sample = _parse_name(*row, id_column) if id_column else str(number)
        key = (system, str(number) if independent else sample)
        if _is_human(*row):
            continue
        if key in texts:
            problem, remedy = f"system {system!r} already has a text", "Remove one of them"
            if not system_column:
                problem = "no column is named 'system', but there is already a text"
                remedy = "If several systems wrote these texts, pass system_column=NAME. "
                remedy += f"Otherwise, {INDEPENDENT}"
            raise InputError(
                f"{row[0]}: {problem} for {id_column} {sample!r} in {texts[key][0]}. {remedy}."
            )
        texts[key] = row
    return texts


def _parse_name(where: str, row: Mapping[str, object], column: str) -> str:
    """Return a system name or a sample id. Whole numbers are written without a decimal point."""
    value = cell(where, row, column, " Set system_column or id_column.")
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not (isinstance(value, str) or whole) or isinstance(value, bool) or value == "":
        raise InputError(
            f"{where}: {column!r} must be a non-empty string or a whole number, got {value!r}. "
            "Correct it, or select another column with system_column or id_column."
        )
    return str(int(value) if isinstance(value, float) else value)


def _is_human(where: str, row: Mapping[str, object]) -> bool:
    """Return True if a human wrote the text of the row."""
    word = str(row.get("is_human", "")).casefold()
    if word not in TRUE + FALSE:
        raise InputError(f"{where}: 'is_human' must be true or false, got {word!r}")
    return word in TRUE


# Scores.


def _read_scores(
    table: Sequence[Row], group: str, names: Sequence[str], default: Sequence[str] = ()
) -> dict[str, list[float]]:
    """Read the scores with the given names, [rows] each.

    Without names, read all scores in `group`, or if there are none, the columns in `default`. At
    least one human score is required.
    """
    columns, prefix = _columns(table), f"{group}."
    in_group = [name.removeprefix(prefix) for name in columns if name.startswith(prefix)]
    names = names or in_group or [name for name in default if name in columns]
    if group == "human" and not names:
        raise InputError(
            f"{table[0][0]}: no human scores. Add 'human': {{criterion: score}} or columns named "
            "'human.CRITERION', or select columns with criteria=NAMES. The columns are "
            f"{', '.join(map(repr, columns))}."
        )
    scores = {}
    for name in names:
        column = prefix + name if name in in_group else name
        if column not in columns:
            argument = "criteria" if group == "human" else group
            raise InputError(
                f"{table[0][0]}: {argument} must be scores in {group!r} or columns, got {name!r}. "
                f"Available: {', '.join(map(repr, columns))}.",
                setting=argument,
            )
        scores[name] = [parse_score(where, column, row.get(column)) for where, row in table]
    return scores


def parse_score(where: str, column: str, value: Any) -> float:
    """Parse the score in a cell. An empty cell is NaN.

    Strings are decimal numbers in ASCII, such as "3.5", ".5", "+4" or "1e-3".

    >>> parse_score("line 2", "bleu", "0.5"), parse_score("line 3", "bleu", None)
    (0.5, nan)
    >>> parse_score("line 4", "bleu", "3,5")
    Traceback (most recent call last):
    infolm_metric.InputError: line 4: column 'bleu' must contain finite numbers, got '3,5'. ...
    """
    if value is None or value == "":
        return math.nan
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    # float() also accepts underscores and digits of other scripts.
    if is_number or (isinstance(value, str) and value.isascii() and "_" not in value):
        with suppress(OverflowError, ValueError):
            if math.isfinite(score := float(value)):
                return score
    raise InputError(
        f"{where}: column {column!r} must contain finite numbers, got {value!r}. Write numbers "
        "like 3.5 or 1000, without units, and leave missing scores empty (None, in JSON: null)."
    )


def check_varies(name: str, values: npt.ArrayLike) -> None:
    """Check that at least two values differ, ignoring NaN.

    >>> check_varies("column 'fluency'", [3.0, 3.0, float("nan")])
    Traceback (most recent call last):
    infolm_metric.InputError: column 'fluency': every value is 3 (2 in total), so correlations ...
    """
    scores = np.asarray(values, dtype=float)
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        raise InputError(f"{name}: no values. Add values, or leave it out.")
    if (scores == scores[0]).all():
        raise InputError(
            f"{name}: every value is {scores[0]:g} ({len(scores)} in total), so correlations are "
            "undefined. Leave it out, or add other scores."
        )
