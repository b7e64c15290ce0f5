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

import ast
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from numbers import Real
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from infolm_metric.core.checks import InputError, check_known
from infolm_metric.core.inputs import as_list
from infolm_metric.tables import Row, cell, parse_pair, read_rows

# Default column of human scores in rows without systems.
SCORE = "score"
# Other names of columns that probably contain the systems, the ids or the marks of human texts.
LOOKALIKES = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "system": r"(sys(tem)?|model|engine|submission)s?([\W_]*(id|name))?",
        "id": r"(document|doc|segment|seg|sample|item|example|instance)s?([\W_]*(id|no|number))?"
        r"|((question|prompt|text|source|sentence|row)[\W_]*)?ids?",
        "is_human": r"is[\W_]*human",
    }.items()
}
INDEPENDENT = (
    "pass --system-column none (in Python: system_column=False) to treat all rows as independent "
    "texts"
)
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
        human: criterion -> grid of human scores, higher is better.
        metrics: name of another metric -> grid of its scores.
        predictions: the texts, [rows].
        references: references of each text, [rows].
        indices: system index and sample index of each row, int64 [rows, 2].
        human_texts: number of rows that were skipped because a human wrote the text.
    """

    systems: tuple[str, ...]
    samples: tuple[str, ...]
    human: Mapping[str, np.ndarray]
    metrics: Mapping[str, np.ndarray] = field(default_factory=dict)
    predictions: tuple[str, ...] = ()
    references: tuple[tuple[str, ...], ...] = ()
    indices: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    human_texts: int = 0

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
    criteria: Sequence[str] | None = (),
    metrics: Sequence[str] = (),
    system_column: str | Literal[False] | None = None,
    id_column: str | None = None,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    exclude_systems: Sequence[str] = (),
    exclude_ids: Sequence[str] = (),
    texts: bool = True,
    correlated: bool = True,
) -> Ratings:
    """Read ratings from a table file, a `datasets.Dataset` or an iterable of dictionaries.

    Systems and ids are converted to strings. Whole numbers are written without a decimal point,
    so 1.0 and 1 are the same id.

    Args:
        rows: a file name, or an iterable with one dictionary per row.
        criteria: names of human scores to read, in `human` or in columns (default: all names in
            `human`), or None to read none.
        metrics: names of other metrics' scores to read, in `metrics` or in columns (default: all
            names in `metrics`).
        system_column: column of systems (default: "system"), or False to treat all rows as
            independent texts.
        id_column: column of sample ids (default: "id").
        candidate_column: column of texts (default: "prediction" or "candidate").
        reference_columns: columns of references (default: "references" or "reference").
        exclude_systems: systems to skip. Each must occur in at least one row.
        exclude_ids: samples to skip. Each must occur in at least one row.
        texts: False to skip the texts, which may then be missing.
        correlated: False to accept data without a defined correlation: a single system, or scores
            that are all equal or missing.

    Returns:
        The ratings. Systems and samples are in the order of their first rows. Without distinct ids
        or systems, the sample ids are the row numbers.

    Raises:
        InputError: a column is missing or has a similar name, a score is not a finite
            number, two rows have the same system and sample, there are fewer than two systems or
            samples, all scores of a criterion or metric are equal, or a system or id to exclude
            does not occur.

    >>> rows = [{"system": s, "id": "1", "prediction": "a cat", "references": ["the cat"],
    ...          "human": {"fluency": 80}} for s in ("A", "A")]
    >>> read_ratings(rows)
    Traceback (most recent call last):
    infolm_metric.InputError: row 2: system 'A' already has a text for id '1' in row 1. Remove ...
    """
    exclusions = {
        "system": {*map(_format_name, as_list("exclude_systems", exclude_systems))},
        "id": {*map(_format_name, as_list("exclude_ids", exclude_ids))},
    }
    file = f"{fspath(rows)}: " if isinstance(rows, str | PathLike) else ""
    table = list(_locate_rows(rows))
    used = {*(criteria or ()), *metrics, candidate_column, *reference_columns} - LOOKALIKES.keys()
    names = list(dict.fromkeys(name for _, row in table for name in row if name not in used))
    system = _find_system(file, names, system_column, bool(exclusions["system"]))
    sample = _find_id(file, table, names, id_column, bool(system or exclusions["id"]))
    rows_by_key, human_texts = _index_rows(
        table, system, sample, exclusions, independent=system_column is False
    )
    table = list(rows_by_key.values())
    pairs = [parse_pair(*row, candidate_column, reference_columns) for row in table if texts]
    score_is_human = not system and SCORE not in metrics
    human: dict[str, list[float]] = {}
    if table and criteria is not None:
        human = _read_human_scores(table, criteria, score_is_human)
    metric_scores = _read_scores(table, "metrics", metrics) if table else {}
    systems, samples = (_enumerate(key[axis] for key in rows_by_key) for axis in (0, 1))
    for name, values in ((system, systems), (sample or "texts", samples)):
        if len(values) < 2 and (values is samples or (system and correlated)):
            skipped = f" (skipped {human_texts} human-written texts)" if human_texts else ""
            unit = f"values of {name!r}" if system else "texts"
            raise InputError(
                f"{file}the table must have at least two {unit}, got {len(values)}{skipped}. "
                "Add rows."
            )
    if overlap := human.keys() & metric_scores.keys():
        raise InputError(f"{file}{min(overlap)!r} is both a criterion and a metric. Rename one.")
    if correlated:
        for name, scores in {**human, **metric_scores}.items():
            check_varies(f"{file}column {name!r}", scores)
    ratings = Ratings(
        systems=tuple(systems) if system else (),
        samples=tuple(samples),
        human={},
        predictions=tuple(prediction for prediction, _ in pairs),
        references=tuple(tuple(references) for _, references in pairs),
        indices=np.asarray([(systems[system], samples[sample]) for system, sample in rows_by_key]),
        human_texts=human_texts,
    )
    return replace(
        ratings,
        human={name: ratings.grid(scores) for name, scores in human.items()},
        metrics={name: ratings.grid(scores) for name, scores in metric_scores.items()},
    )


def check_varies(name: str, values: npt.ArrayLike) -> None:
    """Check that at least two values differ, without NaN.

    >>> check_varies("column 'fluency'", [3.0, 3.0, float("nan")])
    Traceback (most recent call last):
    infolm_metric.InputError: column 'fluency': all 2 values are 3, so correlations are ...
    """
    scores = np.asarray(values, dtype=float)
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        raise InputError(f"{name}: no values. Add values, or leave it out.")
    if (scores == scores[0]).all():
        raise InputError(
            f"{name}: all {len(scores)} values are {scores[0]:g}, so correlations are undefined. "
            "Leave it out."
        )


def parse_score(where: str, column: str, value: Any) -> float:
    """Return the score in a cell, or NaN if the cell is empty.

    Strings are decimal numbers in ASCII, such as "3.5", ".5", "+4" or "1e-3".

    >>> parse_score("line 2", "bleu", "0.5"), parse_score("line 3", "bleu", None)
    (0.5, nan)
    >>> parse_score("line 4", "bleu", "3,5")
    Traceback (most recent call last):
    infolm_metric.InputError: line 4: column 'bleu' must contain numbers, got '3,5'. Use a ...
    """
    if value is None or value == "":
        return math.nan
    expected = "numbers"
    is_text = isinstance(value, str)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    # float() also accepts underscores and digits of other scripts.
    if is_number or (is_text and value.isascii() and "_" not in value):
        with suppress(OverflowError, ValueError):
            if math.isfinite(score := float(value)):
                return score
            expected = "finite numbers"
    remedy = _score_remedy(value) if is_text else "Leave missing scores empty (in JSON: null)."
    raise InputError(f"{where}: column {column!r} must contain {expected}, got {value!r}. {remedy}")


def _score_remedy(text: str) -> str:
    """Return advice for a cell that does not contain a number."""
    if re.search(r"\d,\d|^,\d|\d,$", text):
        return "Use a decimal point, and no separators of thousands: 3.5 or 1000."
    if re.search(r"\d *[%/]", text):
        return "Write a number without a unit or a maximum, on the same scale in all rows."
    return "Leave missing scores empty (in JSON: null)."


def _locate_rows(rows: Any) -> Iterator[Row]:
    """Yield each row with its location, for error messages."""
    if isinstance(rows, str | PathLike):
        yield from read_rows(fspath(rows))
        return
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError(f"row {number} must be a dictionary, got {type(row).__name__}")
        yield f"row {number}", row


def _lookalike(role: str, names: Sequence[object]) -> Any:
    """Return the first column that looks like `role`, or None if there is none or `role` exists."""
    matches = (name for name in names if LOOKALIKES[role].fullmatch(str(name)))
    return None if role in names else next(matches, None)


def _find_system(
    file: str, names: Sequence[object], column: str | Literal[False] | None, required: bool
) -> str | None:
    """Return the column of systems, or None if there is none."""
    if name := _lookalike("is_human", names):
        raise InputError(f"{file}the column {name!r} must be named 'is_human'. Rename it.")
    if column is None and (name := _lookalike("system", names)):
        raise InputError(
            f"{file}no column is named 'system'. If {name!r} contains systems, pass "
            f"--system-column {name} (in Python: system_column={name!r}). Otherwise, {INDEPENDENT}."
        )
    if column is not None:
        return column or None
    return "system" if required or "system" in names else None


def _find_id(
    file: str, table: Sequence[Row], names: Sequence[object], column: str | None, required: bool
) -> str | None:
    """Return the column of sample ids, or None if there is none and it is not required."""
    name = _lookalike("id", names)
    if required and name and not column:
        raise InputError(
            f"{file}no column is named 'id'. If {name!r} contains sample ids, pass --id-column "
            f"{name} (in Python: id_column={name!r}). Otherwise, add a column 'id'."
        )
    if name and not all(_is_name(row.get(name)) for _, row in table):
        name = None  # probably not a column of ids
    return column or ("id" if required or "id" in names else name)


def _index_rows(
    table: Iterable[Row],
    system_column: str | None,
    id_column: str | None,
    exclusions: Mapping[str, Collection[str]],
    independent: bool,
) -> tuple[dict[tuple[str, str], Row], int]:
    """Return the system outputs by (system, sample), and the number of human texts.

    If the rows are `independent`, each one is a sample, regardless of its id.
    """
    names: dict[str, dict[str, None]] = {"system": {}, "id": {}}
    texts: dict[tuple[str, str], Row] = {}
    human_texts = 0
    for number, (where, row) in enumerate(table, 1):
        system = _parse_name(where, row, system_column) if system_column else ""
        sample = _parse_name(where, row, id_column) if id_column else str(number)
        names["system"][system] = names["id"][sample] = None
        if _is_human(where, row):
            human_texts += 1
        elif system not in exclusions["system"] and sample not in exclusions["id"]:
            key = (system, str(number) if independent else sample)
            if key in texts and system_column:
                raise InputError(
                    f"{where}: system {system!r} already has a text for id {sample!r} in "
                    f"{texts[key][0]}. Remove one of them."
                )
            if key in texts:
                raise InputError(
                    f"{where}: {id_column!r} is {sample!r} as in {texts[key][0]}, but no column is "
                    "named 'system'. If several systems wrote these texts, pass --system-column "
                    f"NAME (in Python: system_column). Otherwise, {INDEPENDENT}."
                )
            texts[key] = where, row
    for column, values in exclusions.items():
        for value in sorted(values):
            check_known(f"{column} to exclude", value, list(names[column]))
    return texts, human_texts


def _enumerate(names: Iterable[str]) -> dict[str, int]:
    """Return the distinct names with their indices, in order of first occurrence."""
    return {name: index for index, name in enumerate(dict.fromkeys(names))}


def _parse_name(where: str, row: Mapping[str, object], column: str) -> str:
    value = cell(where, row, column)
    if not _is_name(value):
        raise InputError(f"{where}: {column!r} must be a string or a whole number, got {value!r}")
    return _format_name(value)


def _is_name(value: object) -> bool:
    """Return True for a string that is not empty, or a whole number."""
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return (isinstance(value, str) or whole) and not isinstance(value, bool) and value != ""


def _format_name(value: object) -> str:
    """Return a system name or a sample id as a string.

    >>> _format_name("1.0"), _format_name(1.0), _format_name(1)
    ('1.0', '1', '1')
    """
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _is_human(where: str, row: Mapping[str, object]) -> bool:
    """Return True if a human wrote the text of the row."""
    word = str(row.get("is_human", "")).casefold()
    if word not in TRUE + FALSE:
        raise InputError(f"{where}: 'is_human' must be true or false, got {word!r}")
    return word in TRUE


def _collect_scores(where: str, row: Mapping[str, object], group: str) -> dict[str, Any]:
    """Return a row's scores in `group`, from a nested mapping or columns named GROUP.NAME."""
    nested, prefix = _parse_mapping(where, group, row.get(group)), f"{group}."
    flat = {str(key).removeprefix(prefix): row[key] for key in row if str(key).startswith(prefix)}
    return {**flat, **nested}


def _parse_mapping(where: str, group: str, value: object) -> Mapping[str, Any]:
    """Return the mapping in a cell. A string can contain a JSON or Python dictionary."""
    if isinstance(value, str) and value.startswith("{"):
        for parse in (json.loads, ast.literal_eval):
            with suppress(SyntaxError, TypeError, ValueError):
                return dict(parse(value))
        raise InputError(
            f"{where}: {group!r} must be a JSON or Python dictionary, got {value!r}. Or use "
            f"one column per score, named {group}.NAME."
        )
    return value if isinstance(value, Mapping) else {}


def _read_human_scores(
    table: Sequence[Row], criteria: Sequence[str], score_is_human: bool
) -> dict[str, list[float]]:
    """Return the scores of each criterion, [rows] each.

    With `score_is_human`, the column "score" is used if there are no other human scores.
    """
    scores = _read_scores(table, "human", criteria)
    if not scores and score_is_human and any(SCORE in row for _, row in table):
        scores = _read_scores(table, "human", [SCORE])
    if not scores:
        where, row = table[0]
        raise InputError(
            f"{where}: no human scores. Add 'human': {{criterion: score}} or columns named "
            "'human.CRITERION', or select columns with --criterion (in Python: criteria). The "
            f"columns are {', '.join(map(repr, row))}."
        )
    return scores


def _read_scores(table: Sequence[Row], group: str, names: Sequence[str]) -> dict[str, list[float]]:
    """Return the scores with the given names (default: all names in `group`), [rows] each."""
    groups = [_collect_scores(*row, group) for row in table]
    rows = [(where, {**row, **scores}) for (where, row), scores in zip(table, groups, strict=True)]
    names = names or list(dict.fromkeys(name for scores in groups for name in scores))
    for name in names:
        if not any(name in row for _, row in rows):
            raise InputError(
                f"{rows[0][0]}: no score {name!r} in {group!r} and no such column. "
                f"Available: {', '.join(map(repr, rows[0][1]))}."
            )
    return {
        name: [parse_score(where, name, row.get(name)) for where, row in rows] for name in names
    }
