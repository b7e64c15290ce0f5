"""What a scorer returns, and the signature that says how it was made."""

from __future__ import annotations

from collections.abc import KeysView, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
import transformers

from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.table import IDF


@dataclass(frozen=True)
class Result:
    """Scores of every pair by every measure asked for.

    `several` is True if a list of measures was asked for, even of one. Reads like the dictionary
    that `compute` returns, too.

    >>> Result({"l1_distance": [0.5, 1.5]}, "...")["infolm"]
    1.0
    """

    scores: dict[str, list[float]]
    signature: str
    several: bool = False
    similarities: dict[str, list[float]] | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        """Full names of the measures."""
        return tuple(self.scores)

    def mean(self, measure: str) -> float:
        """The corpus score: the mean of the pairs' scores."""
        return _mean(self.scores[measure])

    def keys(self) -> KeysView[str]:
        """The names that `compute` would return: with `[...]`, `dict(result)` makes them one."""
        return self.as_dict().keys()

    def __getitem__(self, name: str) -> Any:
        return self.as_dict()[name]

    def as_dict(self, return_scores: bool = True) -> dict[str, Any]:
        """The result as `compute` returns it.

        >>> Result({"l1_distance": [0.5, 1.5]}, "...").as_dict()
        {'infolm': 1.0, 'scores': [0.5, 1.5], 'signature': '...'}
        """
        views = {"infolm": ("scores", self.scores)}
        if self.similarities is not None:
            views["similarity"] = ("similarities", self.similarities)
        result: dict[str, Any] = {}
        for mean, (_, values) in views.items():
            result[mean] = self._plain({name: _mean(column) for name, column in values.items()})
        for plural, values in views.values():
            if return_scores:
                result[plural] = self._plain(values)
        return {**result, "signature": self.signature}

    def _plain(self, by_measure: dict[str, Any]) -> Any:
        """The dictionary, or its only value if one measure was asked for by name."""
        return dict(by_measure) if self.several else next(iter(by_measure.values()))


def make_result(
    scores: dict[str, list[float]], settings: Settings, identity: str, limit: int | None
) -> Result:
    """The result of a call: scores by measure, similarities if asked for, the signature."""
    similarities = None
    if settings.similarity:
        similarities = {
            name: [1.0 - score / settings.largest_value(name) for score in column]
            for name, column in scores.items()
        }
    return Result(
        scores,
        signature(settings, identity, limit),
        not isinstance(settings.information_measure, str),
        similarities,
    )


def signature(settings: Settings, identity: str, limit: int | None) -> str:
    """Every setting that can change a score, the model, and the versions, as `name:value|...`.

    `identity` is the model's name with its revision or content hash, `limit` the number of tokens
    at which texts were cut. Equal signatures mean equal scores for the same inputs, within
    float32's tolerance.
    """
    names = settings.measures
    used = {p.name for name in names for p in measures.MEASURES[name].parameters}
    fields: dict[str, object] = {"measure": "+".join(names)}
    fields |= {name: repr(getattr(settings, name)) for name in ("alpha", "beta") if name in used}
    if not all(measures.MEASURES[name].symmetric for name in names):
        fields["symmetrize"] = settings.symmetrize
    fields |= {
        "temperature": repr(settings.temperature),
        "idf": _idf_label(settings.idf),
        "multi_reference": settings.multi_reference,
        "model": identity,
        "max_length": limit if limit is not None else "none",
        "long_text": settings.long_text,
        "dtype": settings.dtype,
    }
    if settings.masks_per_pass > 1:
        fields["masks_per_pass"] = settings.masks_per_pass
    if settings.similarity:
        fields["similarity"] = "1-score/largest"
    fields |= _versions()
    return "|".join(f"{name}:{value}" for name, value in fields.items())


def _idf_label(idf: bool | str | IDF) -> str:
    if isinstance(idf, IDF):
        return f"table-{idf.fingerprint}"
    return str(idf) if idf else "no"


def _versions() -> dict[str, str]:
    try:
        own = version("infolm-metric")
    except PackageNotFoundError:  # run from a checkout that was not installed
        own = "uninstalled"
    return {"infolm": own, "transformers": transformers.__version__, "torch": torch.__version__}


def _mean(values: Sequence[float]) -> float:
    """The mean; finite where the plain sum would overflow, and never beyond the values."""
    mean = sum(value / len(values) for value in values)
    return min(max(mean, min(values)), max(values))
