"""Human scores of many systems' texts: read from a file or a dataset, checked, laid out as grids.

A row is one system's text for one sample: `system`, `id` (of the sample), `prediction`,
`references` (a list, or one string), `human` (criterion -> score, higher is better) and, if other
metrics ride along, `metrics` (name -> score). In a flat table, such as CSV, the scores stand in
columns `human.fluency` and `metrics.bleu`, or in columns of any name that the caller names. A score
that is missing is null, an empty cell or not there. Rows marked `is_human` are left out: a person's
text is no system. Where no row has a `system` each is a sample of its own, and a column `score`
holds people's unless another is named.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from numbers import Real
from os import PathLike, fspath
from typing import Any

import numpy as np

from infolm_metric.core.files import Row, cell, pair_of, read_rows
from infolm_metric.core.inputs import as_list
from infolm_metric.core.settings import check_known

SCORE = "score"
"""The column of people's scores where rows have no systems, and no other is named."""
IS_HUMAN = {
    **dict.fromkeys(("true", "1", "1.0"), True),
    **dict.fromkeys(("false", "0", "0.0", "", "none", "nan", "<na>"), False),
}
"""Values of `is_human` in lower case; pandas writes floats where some are missing."""


@dataclass(frozen=True)
class Ratings:
    """Texts of systems with human scores; grids are float64 [systems, samples], NaN for missing.

    Where no systems are known each text is a sample, and grids are [samples].

    Attributes:
        systems: their names; none where they are not known.
        samples: their ids.
        human: criterion -> grid of people's scores, higher is better.
        metrics: other metric -> grid of its scores.
        predictions: the texts, [rows].
        references: those of each text, [rows].
        places: index of the system and of the sample of each row, int64 [rows, 2].
        people: rows that were left out because a person wrote the text.
    """

    systems: tuple[str, ...]
    samples: tuple[str, ...]
    human: Mapping[str, np.ndarray]
    metrics: Mapping[str, np.ndarray] = field(default_factory=dict)
    predictions: tuple[str, ...] = ()
    references: tuple[tuple[str, ...], ...] = ()
    places: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    people: int = 0

    def grid(self, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """The values of the rows, laid out as a grid.

        Args:
            values: one for each row, [rows].

        Returns:
            float64 [systems, samples], NaN where a system has no row for a sample; [samples] where
            no systems are known.

        >>> from infolm_metric.meta_evaluation import read_ratings
        >>> rows = [dict(system=s, id=i, prediction="", references="", human={"fluency": n})
        ...         for s, i, n in (("A", 1, 5.0), ("B", 1, 7.0), ("B", 2, 8.0))]
        >>> read_ratings(rows).grid([1, 2, 3])
        array([[ 1., nan],
               [ 2.,  3.]])
        """
        grid = np.full((len(self.systems) or 1, len(self.samples)), np.nan)
        grid[self.places[:, 0], self.places[:, 1]] = values
        return grid if self.systems else grid[0]

    @property
    def lengths(self) -> np.ndarray:
        """The characters of each text, laid out as a grid."""
        return self.grid([float(len(text)) for text in self.predictions])

    def select(self, samples: Iterable[str]) -> Ratings:
        """The ratings of some samples.

        Args:
            samples: their ids, in any order.

        Returns:
            Those of all systems for these samples, which keep their order here.

        Raises:
            ValueError: an id is not here.
        """
        ids = dict.fromkeys(map(_label, samples))
        for name in ids:
            check_known("id", name, self.samples)
        columns = np.asarray([name in ids for name in self.samples])
        rows = np.flatnonzero(columns[self.places[:, 1]])
        places = self.places[rows]
        places[:, 1] = (np.cumsum(columns) - 1)[places[:, 1]]
        return replace(
            self,
            samples=tuple(name for name in self.samples if name in ids),
            human={name: grid[..., columns] for name, grid in self.human.items()},
            metrics={name: grid[..., columns] for name, grid in self.metrics.items()},
            predictions=tuple(self.predictions[row] for row in rows),
            references=tuple(self.references[row] for row in rows),
            places=places,
        )


def read_ratings(
    rows: Any,
    *,
    criteria: Sequence[str] | None = (),
    metrics: Sequence[str] = (),
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    exclude_systems: Sequence[str] = (),
    exclude_ids: Sequence[str] = (),
    texts: bool = True,
    correlated: bool = True,
) -> Ratings:
    """The ratings in a table file, a `datasets.Dataset` or an iterable of dictionaries.

    Ids and systems are compared as strings; a whole number is written without a fraction, so that
    1.0 and 1 are the same id.

    Args:
        rows: the name of a file, or what gives a dictionary for each row.
        criteria: human scores to take, by default every entry of `human`; a name that is no entry
            there may be a column of its own. None: no human scores are read.
        metrics: other metrics' scores to take, likewise from `metrics`.
        candidate_column: the name of the column of texts (default: "prediction" or "candidate").
        reference_columns: those of the columns of references (default: "references" or
            "reference").
        exclude_systems: systems to leave out, each of which is the system of a row.
        exclude_ids: samples to leave out, likewise.
        texts: False: rows need no texts, and the ratings have none.
        correlated: False accepts a single system and scores that are all equal or missing, for
            which no correlation is defined.

    Returns:
        The ratings; systems and samples are in the order in which they first come. Where rows have
        no systems the samples are their numbers.

    Raises:
        ValueError, TypeError: the row or the column that is wrong is named. Wrong are a missing
            column, a value that is no finite number, two rows of one system and sample, fewer
            than two systems or samples, a criterion or metric whose values are all equal, and a
            name to leave out that no row has.

    >>> rows = [{"system": s, "id": "1", "prediction": "a cat", "references": ["the cat"],
    ...          "human": {"fluency": 80}} for s in ("A", "A")]
    >>> read_ratings(rows)
    Traceback (most recent call last):
    ValueError: row 2: system 'A' has a text for id '1' already, in row 1; keep one of them
    """
    exclusions = {
        "system": {*map(_label, as_list("exclude_systems", exclude_systems))},
        "id": {*map(_label, as_list("exclude_ids", exclude_ids))},
    }
    file = f"{fspath(rows)}: " if isinstance(rows, str | PathLike) else ""
    table = list(_located(rows))
    has_systems = bool(exclusions["system"]) or any("system" in row for _, row in table)
    located, people = _texts(table, has_systems, exclusions)
    systems = {name: row for row, name in enumerate(dict.fromkeys(place[0] for place in located))}
    samples = {name: column for column, name in enumerate(dict.fromkeys(p[1] for p in located))}
    for kind, names in (("system", systems), ("id", samples)):
        if len(names) < 2 and ((has_systems and correlated) or kind == "id"):
            suffix = f" beside {people} human texts" if people else ""
            raise ValueError(
                f"{file}agreement needs at least two of {kind!r}, got {len(names)}{suffix}"
            )

    table = list(located.values())
    pairs = [pair_of(*row, candidate_column, reference_columns) for row in table if texts]
    human = {} if criteria is None else _columns(table, "human", criteria)
    metric_scores = _columns(table, "metrics", metrics)
    if not (criteria is None or human or has_systems or SCORE in metrics) and any(
        SCORE in row for _, row in table
    ):
        human = _columns(table, "human", (SCORE,))
    if not human and criteria is not None:
        raise ValueError(
            f"{table[0][0]}: no human scores; give 'human': {{criterion: score}} or columns named "
            "'human.CRITERION', or name columns with --criterion (in Python: criteria); the "
            f"columns are {', '.join(map(repr, table[0][1]))}"
        )
    if overlap := human.keys() & metric_scores.keys():
        raise ValueError(f"{file}{min(overlap)!r} is a criterion and a metric; rename one")
    for name, column in {**human, **metric_scores}.items() if correlated else ():
        check_varies(f"{file}column {name!r}", column)
    ratings = Ratings(
        systems=tuple(systems) if has_systems else (),
        samples=tuple(samples),
        human={},
        predictions=tuple(prediction for prediction, _ in pairs),
        references=tuple(tuple(references) for _, references in pairs),
        places=np.asarray([(systems[system], samples[sample]) for system, sample in located]),
        people=people,
    )
    return replace(
        ratings,
        human={name: ratings.grid(column) for name, column in human.items()},
        metrics={name: ratings.grid(column) for name, column in metric_scores.items()},
    )


def check_varies(name: str, values: Any) -> None:
    """Raise ValueError if the values that are there are all equal, or none is there.

    >>> check_varies("column 'fluency'", [3.0, 3.0, float("nan")])
    Traceback (most recent call last):
    ValueError: column 'fluency': all 2 values are 3; no correlation is defined for them
    """
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    if not len(values):
        raise ValueError(f"{name}: no values at all; leave it out or fill it in")
    if (values == values[0]).all():
        raise ValueError(
            f"{name}: all {len(values)} values are {values[0]:g}; no correlation is defined "
            "for them"
        )


def parse_score(where: str, column: str, value: Any) -> float:
    """The score in a cell, or NaN where there is none; a text is read as JSON reads a number.

    Raises ValueError with the row and the column unless the value is a finite number.

    >>> parse_score("line 2", "bleu", "0.5"), parse_score("line 3", "bleu", None)
    (0.5, nan)
    >>> parse_score("line 4", "bleu", "1_0")
    Traceback (most recent call last):
    ValueError: line 4: column 'bleu' must hold numbers, got '1_0'; leave it empty (in JSON: ...
    """
    if value is None or value == "":
        return math.nan
    remedy = "leave it empty (in JSON: null) where there is no score"
    try:
        number = json.loads(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, Real):
            raise TypeError
        score = float(number)
    except (OverflowError, TypeError, ValueError):
        message = f"{where}: column {column!r} must hold numbers, got {value!r}; {remedy}"
        raise ValueError(message) from None
    if not math.isfinite(score):
        raise ValueError(f"{where}: column {column!r} is {value!r}, not a finite number; {remedy}")
    return score


def _located(rows: Any) -> Iterator[Row]:
    """Each row with the words that tell where it stands."""
    if isinstance(rows, str | PathLike):
        yield from read_rows(fspath(rows))
        return
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number}: a dictionary is needed, got {type(row).__name__}")
        yield f"row {number}", row


def _texts(
    table: Iterable[Row], has_systems: bool, exclusions: Mapping[str, Collection[str]]
) -> tuple[dict[tuple[str, str], Row], int]:
    """The rows of systems by (system, sample), and how many rows of people were left out.

    `has_systems`: the rows have systems; else each is a sample of its own.
    """
    names: dict[str, dict[str, None]] = {"system": {}, "id": {}}
    texts: dict[tuple[str, str], Row] = {}
    people = 0
    for number, (where, row) in enumerate(table, 1):
        system = _name(where, row, "system") if has_systems else ""
        sample = _name(where, row, "id") if has_systems or exclusions["id"] else str(number)
        names["system"][system] = names["id"][sample] = None
        if _is_human(where, row):
            people += 1
        elif system not in exclusions["system"] and sample not in exclusions["id"]:
            place = (system, sample if has_systems else str(number))
            if place in texts:
                raise ValueError(
                    f"{where}: system {system!r} has a text for id {sample!r} already, in "
                    f"{texts[place][0]}; keep one of them"
                )
            texts[place] = where, row
    for column, values in exclusions.items():
        for value in sorted(values):
            check_known(f"{column} to exclude", value, list(names[column]))
    return texts, people


def _name(where: str, row: Mapping[str, Any], column: str) -> str:
    value = cell(where, row, column)
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not (isinstance(value, str) or whole) or isinstance(value, bool) or value == "":
        raise ValueError(f"{where}: {column!r} must be a name or a whole number, got {value!r}")
    return _label(value)


def _label(value: Any) -> str:
    """Return a name or an id as a string.

    >>> _label("1.0"), _label(1.0), _label(1)
    ('1.0', '1', '1')
    """
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _is_human(where: str, row: Mapping[str, Any]) -> bool:
    """Return True for a text that a person wrote."""
    word = str(row.get("is_human", "")).casefold()
    if word not in IS_HUMAN:
        raise ValueError(f"{where}: 'is_human' must be true or false, got {word!r}")
    return IS_HUMAN[word]


def _scores(where: str, row: Mapping[str, Any], group: str) -> dict[str, Any]:
    """A row's scores of a group by name: entries of the nested mapping, or columns GROUP.NAME."""
    nested, prefix = _mapping(where, group, row.get(group)), f"{group}."
    flat = {str(key).removeprefix(prefix): row[key] for key in row if str(key).startswith(prefix)}
    return {**flat, **nested}


def _mapping(where: str, group: str, value: Any) -> Mapping[str, Any]:
    """Return the scores in a column: a mapping, or a cell with one as JSON or Python writes it."""
    if isinstance(value, str) and value.startswith("{"):
        for parse in (json.loads, ast.literal_eval):
            with suppress(SyntaxError, TypeError, ValueError):
                return dict(parse(value))
        raise ValueError(
            f"{where}: {group!r} must be a dictionary as JSON or Python writes it, got {value!r}; "
            f"write each score to a column of its own, {group}.NAME"
        )
    return value if isinstance(value, Mapping) else {}


def _columns(rows: Sequence[Row], group: str, names: Sequence[str]) -> dict[str, list[float]]:
    """The scores of each name, by default of every name in the group, [rows] each."""
    groups = [_scores(*row, group) for row in rows]
    entries = [
        (where, {**row, **scores}) for (where, row), scores in zip(rows, groups, strict=True)
    ]
    if not names:
        names = list(dict.fromkeys(name for scores in groups for name in scores))
    for name in names:
        if not any(name in scores for _, scores in entries):
            raise ValueError(
                f"{rows[0][0]}: no {group} score {name!r}, and no column of that name; "
                f"there are {', '.join(map(repr, entries[0][1]))}"
            )
    return {
        name: [parse_score(where, name, scores.get(name)) for where, scores in entries]
        for name in names
    }
