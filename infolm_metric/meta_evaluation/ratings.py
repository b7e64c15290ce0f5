"""Human scores of many systems' texts, laid out as grids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from infolm_metric.kernel.checks import check_known


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
        laid = np.full((len(self.systems) or 1, len(self.samples)), np.nan)
        laid[self.places[:, 0], self.places[:, 1]] = values
        return laid if self.systems else laid[0]

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
        wanted, here = dict.fromkeys(map(str, samples)), dict.fromkeys(self.samples)
        for name in wanted:
            check_known("id", name, here.keys())
        kept = np.asarray([name in wanted for name in self.samples])
        rows = np.flatnonzero(kept[self.places[:, 1]])
        places = self.places[rows]
        places[:, 1] = (np.cumsum(kept) - 1)[places[:, 1]]
        return replace(
            self,
            samples=tuple(name for name in self.samples if name in wanted),
            human={name: grid[..., kept] for name, grid in self.human.items()},
            metrics={name: grid[..., kept] for name, grid in self.metrics.items()},
            predictions=tuple(self.predictions[row] for row in rows),
            references=tuple(self.references[row] for row in rows),
            places=places,
        )
