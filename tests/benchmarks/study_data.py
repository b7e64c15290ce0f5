"""The data sets of study.py: texts that people have judged, as grids of systems and samples.

WebNLG 2020 (16 systems; the paper's Table 2), SummEval (16 systems; its original reference alone,
and all eleven) and SFRES (no systems: its texts stand as so many systems of one sample, so that the
level of systems is that of texts there).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import webnlg_scores

from infolm_metric.meta_evaluation import Ratings, read_ratings

TEXTS = 16  # of SFRES in the place of a sample, of which the others have one by each of 16 systems


@dataclass(frozen=True)
class DataSet:
    """Texts of a data set with their human scores, all of them, and those of a sample."""

    name: str
    title: str
    whole: Ratings
    rows: np.ndarray
    """Indices of the rows that take part, int [rows], those of a sample together."""
    systems: bool
    """False where the texts have no systems' names."""

    @property
    def ratings(self) -> Ratings:
        """The ratings that take part."""
        if self.systems:
            kept = {self.whole.samples[column] for column in self.whole.places[self.rows, 1]}
            return self.whole.select(kept)
        return _without_systems(self.whole, self.rows)

    @property
    def corpus(self) -> list[str]:
        """Every reference of the whole data set, on which document frequencies are counted."""
        return [text for group in self.whole.references for text in group]

    def texts(self, rows: Sequence[int] | None = None) -> tuple[list[str], list[list[str]]]:
        """The predictions and the references of some rows (default: those that take part)."""
        chosen = self.rows if rows is None else rows
        whole = self.whole
        predictions = [whole.predictions[row] for row in chosen]
        return predictions, [list(whole.references[row]) for row in chosen]

    def grid(self, values: np.ndarray) -> np.ndarray:
        """A value for each row of the whole data set, laid out as the ratings that take part."""
        whole = self.whole.grid(values)
        if not self.systems:
            return whole[np.sort(self.rows)]
        kept = np.isin(np.arange(whole.shape[1]), self.whole.places[self.rows, 1])
        return whole[:, kept]


def webnlg(folder: Path) -> Ratings:
    """The 16 systems and 177 samples of the paper's Table 2."""
    return webnlg_scores.read(folder / "webnlg2020.en.jsonl")


def summeval(folder: Path, references: int) -> Ratings:
    """The 16 systems and 100 documents, with the first so many references of each."""
    rows = _lines(folder / "summeval.jsonl")
    return read_ratings({**row, "references": row["references"][:references]} for row in rows)


def sfres(folder: Path) -> Ratings:
    """The 1,181 texts; a text is a system of its own."""
    rows = _lines(folder / "sfres.jsonl")
    return Ratings(
        systems=tuple(str(row["id"]) for row in rows),
        samples=("all",),
        human={
            name: np.asarray([[row["human"][name]] for row in rows]) for name in rows[0]["human"]
        },
        predictions=tuple(row["prediction"] for row in rows),
        references=tuple(tuple(row["references"]) for row in rows),
        places=np.stack([np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)], axis=1),
    )


READERS: Mapping[str, tuple[str, Callable[[Path], Ratings], bool]] = {
    "webnlg": ("WebNLG 2020", webnlg, True),
    "sfres": ("SFRES", sfres, False),
    "summeval": ("SummEval, original reference", lambda folder: summeval(folder, 1), True),
    "summeval11": ("SummEval, 11 references", lambda folder: summeval(folder, 11), True),
}


def samples_of(given: Sequence[str]) -> dict[str, int]:
    """The samples of each data set, from such as "25" for all and "summeval=5" for one.

    >>> samples_of(["25", "summeval=5"])
    {'webnlg': 25, 'sfres': 25, 'summeval': 5, 'summeval11': 25}
    """
    found = dict.fromkeys(READERS, 25)
    for each in given:
        name, equals, count = each.rpartition("=")
        if equals and name not in found:
            raise ValueError(f"no data set {name!r}; there are {', '.join(found)}")
        found |= {name: int(count)} if equals else dict.fromkeys(found, int(count))
    return found


def read(folder: Path, name: str, samples: int) -> DataSet:
    """A data set, of which `samples` samples take part, drawn by a fixed seed.

    More samples hold those of fewer: what was scored for these serves there.
    """
    title, reader, systems = READERS[name]
    whole = reader(folder)
    if not systems:
        drawn = np.random.default_rng(0).permutation(len(whole.predictions))[: TEXTS * samples]
        return DataSet(name, title, whole, drawn, systems)
    ids = np.random.default_rng(0).permutation(sorted(whole.samples))[:samples]
    columns = [whole.samples.index(each) for each in ids]
    rows = np.concatenate([np.flatnonzero(whole.places[:, 1] == column) for column in columns])
    return DataSet(name, title, whole, rows, systems)


def _without_systems(whole: Ratings, rows: np.ndarray) -> Ratings:
    kept = np.sort(rows)
    return Ratings(
        systems=tuple(whole.systems[row] for row in kept),
        samples=whole.samples,
        human={name: grid[kept] for name, grid in whole.human.items()},
        predictions=tuple(whole.predictions[row] for row in kept),
        references=tuple(whole.references[row] for row in kept),
        places=np.stack([np.arange(len(kept)), np.zeros(len(kept), dtype=np.int64)], axis=1),
    )


def _lines(path: Path) -> Sequence[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
