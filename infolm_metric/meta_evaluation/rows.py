"""Human scores of many systems' texts, read from a file or a dataset, and checked.

A row is one system's text for one sample: `system`, `id` (of the sample), `prediction`,
`references` (a list, or one string), `human` (criterion -> score, higher is better) and, if other
metrics ride along, `metrics` (name -> score). In a flat table, such as CSV, the scores stand in
columns `human.fluency` and `metrics.bleu`, or in columns of any name that the caller names. A score
that is missing is null, an empty cell or not there. Rows marked `is_human` are left out: a person's
text is no system. Where the first row has no `system` none has one: each row is a sample of its
own, and a column `score` holds people's unless another is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from typing import Any

import numpy as np

from infolm_metric.kernel.checks import check_known
from infolm_metric.kernel.pairs import as_list
from infolm_metric.kernel.tables import read_rows
from infolm_metric.kernel.text_files import cell, pair_of
from infolm_metric.meta_evaluation.ratings import Ratings

YES, NO = ("true", "yes", "1", "1.0"), ("false", "no", "0", "0.0", "", "nan", "<na>")
GROUPS = ("human", "metrics")
SCORE = "score"
"""The column of people's scores where rows have no systems, and no other is named."""


def read_ratings(
    rows: Any,
    *,
    criteria: Sequence[str] = (),
    metrics: Sequence[str] = (),
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    exclude_systems: Sequence[str] = (),
    exclude_ids: Sequence[str] = (),
) -> Ratings:
    """The ratings in a table file, a `datasets.Dataset` or an iterable of dictionaries.

    Ids and systems are compared as strings.

    Args:
        rows: the name of a file, or what gives a dictionary for each row.
        criteria: human scores to take, by default every entry of `human`; a name that is no entry
            there may be a column of its own.
        metrics: other metrics' scores to take, likewise from `metrics`.
        candidate_column: the name of the column of texts (default: "prediction" or "candidate").
        reference_columns: those of the columns of references (default: "references" or
            "reference").
        exclude_systems: systems to leave out, each of which is the system of a row.
        exclude_ids: samples to leave out, likewise.

    Returns:
        The ratings; systems and samples are in the order in which they first come. Where rows have
        no systems the samples are their numbers.

    Raises:
        ValueError, TypeError: the row or the column that is wrong is named. Wrong are a missing
            column, a value that is no finite number, two rows of one system and sample, fewer
            than two systems or samples, a system where the first row has none, a criterion or
            metric whose values are all equal, and a name to leave out that no row has.

    >>> rows = [{"system": s, "id": "1", "prediction": "a cat", "references": ["the cat"],
    ...          "human": {"fluency": 80}} for s in ("A", "A")]
    >>> read_ratings(rows)
    Traceback (most recent call last):
    ValueError: row 2: system 'A' has a text for id '1' already, in row 1; keep one of them
    """
    reader = _Reader(
        tuple(criteria),
        tuple(metrics),
        candidate_column,
        tuple(reference_columns),
    )
    excluded = {
        "system": {*map(str, as_list("exclude_systems", exclude_systems))},
        "id": {*map(str, as_list("exclude_ids", exclude_ids))},
    }
    present: dict[str, dict[str, None]] = {"system": {}, "id": {}}
    people = 0
    for number, (where, row) in enumerate(_located(rows), 1):
        if number == 1 and not excluded["system"]:
            reader.systems = "system" in row
        if not reader.systems and "system" in row:
            raise ValueError(
                f"{where}: there is a 'system', and the first row has none; give one in every row "
                "or in none"
            )
        system = _name(where, row, "system") if reader.systems else ""
        named = reader.systems or excluded["id"]
        sample = _name(where, row, "id") if named else str(number)
        present["system"][system] = present["id"][sample] = None
        if _is_human(where, row):
            people += 1
        elif system not in excluded["system"] and sample not in excluded["id"]:
            reader.add(where, row, system, sample if reader.systems else str(number))
    file = f"{fspath(rows)}: " if isinstance(rows, str | PathLike) else ""
    ratings = reader.ratings(people, file)
    for column, names in excluded.items():
        for name in sorted(names):
            check_known(f"{column} to exclude", name, present[column].keys())
    return ratings


@dataclass
class _Reader:
    """Collects rows; a score that a row leaves out is missing there."""

    criteria: tuple[str, ...]
    metrics: tuple[str, ...]
    candidate: str | None
    references: tuple[str, ...]
    systems: bool = True  # False if rows have none
    first: tuple[str, list[str]] = ("", [])  # where the first row is, and what it holds
    known: set[tuple[str, str]] = field(default_factory=set)  # scores that were found
    seen: dict[tuple[str, str], str] = field(default_factory=dict)
    scores: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    texts: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def add(self, where: str, row: Mapping[str, Any], system: str, sample: str) -> None:
        if (system, sample) in self.seen:
            raise ValueError(
                f"{where}: system {system!r} has a text for id {sample!r} already, in "
                f"{self.seen[system, sample]}; keep one of them"
            )
        entries = {group: _entries(row, group) for group in GROUPS}
        bare = not (self.systems or self.criteria or entries["human"])
        if bare and SCORE in row and SCORE not in self.metrics:
            entries["human"] = (SCORE,)
        asked = {"human": self.criteria, "metrics": self.metrics}
        for group, there in entries.items():
            names = asked[group] or there
            self.known |= {(group, name) for name in names if name in (*there, *row)}
            for name in names:
                self.scores.setdefault((group, name), [math.nan] * len(self.seen))
        if not self.seen:
            self.first = where, [*map(str, (*entries["human"], *entries["metrics"], *row))]
        self.seen[system, sample] = where
        prediction, references = pair_of(where, row, self.candidate, self.references)
        self.texts.append((prediction, tuple(references)))
        for (group, name), column in self.scores.items():
            column.append(_score(where, row, group, name))

    def _check_names(self) -> None:
        """Raise ValueError unless what was asked for is there, and people's scores among it."""
        where, columns = self.first
        for group, name in self.scores:
            if (group, name) not in self.known:
                raise ValueError(
                    f"{where}: no {group} score {name!r}, and no column of that name; "
                    f"there are {', '.join(map(repr, columns))}"
                )
        groups = {group: {name for each, name in self.scores if each == group} for group in GROUPS}
        if not groups["human"]:
            raise ValueError(
                f"{where}: no human scores; give 'human': {{criterion: score}}, columns named "
                "'human.CRITERION', or name the criteria, which are columns then "
                f"(there are {', '.join(map(repr, columns)) or 'none'})"
            )
        if both := groups["human"] & groups["metrics"]:
            raise ValueError(f"{where}: {min(both)!r} is a criterion and a metric; rename one")

    def ratings(self, people: int, file: str) -> Ratings:
        """What was collected, checked as a whole; `file` is what messages begin with."""
        systems = tuple(dict.fromkeys(system for system, _ in self.seen))
        samples = tuple(dict.fromkeys(sample for _, sample in self.seen))
        for plural, found in (("systems", systems), ("ids", samples)):
            if len(found) < 2 and (self.systems or plural == "ids"):
                given = f"only {found[0]!r}" if found else "no rows"
                beside = f" beside {people} human texts" if people else ""
                remedy = "; without the column all rows are correlated together"
                raise ValueError(
                    f"{file}agreement needs at least two {plural} in the column {plural[:-1]!r}, "
                    f"got {given}{beside}" + (remedy if found and plural == "systems" else "")
                )
        self._check_names()
        row, column = ({name: at for at, name in enumerate(each)} for each in (systems, samples))
        places = np.asarray([(row[system], column[sample]) for system, sample in self.seen])
        predictions, references = zip(*self.texts, strict=True)
        names = systems if self.systems else ()
        bare = Ratings(names, samples, {}, {}, predictions, references, places, people=people)
        grids: dict[str, dict[str, np.ndarray]] = {group: {} for group in GROUPS}
        for (group, name), values in self.scores.items():
            check_varies(f"{file}column {name!r}", values)
            grids[group][name] = bare.grid(values)
        return replace(bare, human=grids["human"], metrics=grids["metrics"])


def check_varies(name: str, values: Any) -> None:
    """Raise ValueError if the values that are there are all equal, or none is there.

    >>> check_varies("column 'fluency'", [3.0, 3.0, float("nan")])
    Traceback (most recent call last):
    ValueError: column 'fluency': all 2 values are 3; no correlation is defined for them
    """
    present = np.asarray(values, dtype=float)
    present = present[~np.isnan(present)]
    if not len(present):
        raise ValueError(f"{name}: no values at all; leave it out or fill it in")
    if (present == present[0]).all():
        raise ValueError(
            f"{name}: all {len(present)} values are {present[0]:g}; no correlation is defined "
            "for them"
        )


def _located(rows: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Each row with the words that tell where it stands."""
    if isinstance(rows, str | PathLike):
        yield from read_rows(fspath(rows))
        return
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number}: a dictionary is needed, got {type(row).__name__}")
        yield f"row {number}", row


def _name(where: str, row: Mapping[str, Any], column: str) -> str:
    value = cell(where, row, column)
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        raise ValueError(f"{where}: {column!r} must be a name or a number, got {value!r}")
    return str(value)


def _is_human(where: str, row: Mapping[str, Any]) -> bool:
    """True for a text that a person wrote, in the spelling of any program that writes tables."""
    value = row.get("is_human")
    word = "" if value is None else str(value).strip().casefold()
    if word not in (*YES, *NO):
        raise ValueError(f"{where}: 'is_human' must be true or false, got {value!r}")
    return word in YES


def _entries(row: Mapping[str, Any], group: str) -> tuple[str, ...]:
    """Names of the scores in a group: keys of the nested mapping, or flat columns."""
    nested = row.get(group)
    names = list(nested) if isinstance(nested, Mapping) else []
    names += [key[len(group) + 1 :] for key in row if str(key).startswith(f"{group}.")]
    return tuple(dict.fromkeys(map(str, names)))


def _score(where: str, row: Mapping[str, Any], group: str, name: str) -> float:
    """The number, or NaN where there is none."""
    nested = row.get(group)
    if isinstance(nested, Mapping) and name in nested:
        value = nested[name]
    else:
        value = row.get(f"{group}.{name}", row.get(name))
    return score_in(where, name, value)


def score_in(where: str, name: str, value: Any) -> float:
    """The score that a column holds, or NaN where there is none.

    Raises ValueError with the row and the column unless the value is a finite number.

    >>> score_in("line 2", "bleu", "0.5"), score_in("line 3", "bleu", None)
    (0.5, nan)
    >>> score_in("line 4", "bleu", "inf")
    Traceback (most recent call last):
    ValueError: line 4: column 'bleu' is 'inf', not a finite number; leave it empty (in JSON: ...
    """
    if value is None or value == "":
        return math.nan
    column = f"{where}: column {name!r}"
    remedy = "leave it empty (in JSON: null) where there is no score"
    try:
        number = float("x" if isinstance(value, bool) else value)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"{column} must hold numbers, got {value!r}; {remedy}") from None
    if not math.isfinite(number):
        raise ValueError(f"{column} is {value!r}, not a finite number; {remedy}")
    return number
