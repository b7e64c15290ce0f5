"""A metric as `evaluate` knows it, over any scorer: the buffer, add, add_batch and compute."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from typing import Any, ClassVar

import datasets
import evaluate
from evaluate.utils import is_progress_bar_enabled

from infolm_metric.kernel.checks import nearest
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.ranks import check_held, score_held
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.settings import Settings

_INPUTS = ("predictions", "references")
_TEXT = datasets.Value("string")
_FEATURES = [  # the two kinds of input: one reference each, or several
    datasets.Features(dict(zip(_INPUTS, (_TEXT, references), strict=True)))
    for references in (_TEXT, datasets.List(_TEXT))
]
_PROCESSES = {"num_process": 1, "process_id": 0, "experiment_id": None}  # what evaluate.load gives
_NAMES_ELSEWHERE = {  # what other metrics call the inputs
    **dict.fromkeys(("candidate", "candidates", "cands", "hypotheses", "hyps"), "predictions"),
    **dict.fromkeys(("refs", "target", "targets", "labels"), "references"),
}
_SOFTWARE = """\
@software{infolm_metric,
  title = {infolm: {InfoLM} as an evaluate metric},
  author = {{The infolm authors}},
  year = {2026},
  license = {Apache-2.0},
}
"""


class EvaluateMetric(evaluate.Metric):  # type: ignore[misc]
    """A metric of `evaluate` whose scores come from `scorer_type`.

    A metric is a subclass that names its scorer and holds its documentation. Pairs wait in memory,
    and nothing is written to disk; several processes meet through `compute(ranks=...)`.
    """

    scorer_type: ClassVar[type[MetricScorer]]

    def __init__(self, config_name: str | None = None, **settings: Any) -> None:
        if config_name not in (None, "default"):
            raise ValueError(
                f"{type(self).__name__} has no configurations, got config_name={config_name!r}; "
                'give settings by name, such as model_name_or_path="bundled"'
            )
        named = inspect.getfullargspec(evaluate.Metric.__init__).args
        own = {name: settings.pop(name) for name in named if name in settings}
        _check_processes(own)
        self._settings: Settings = self._settings_type().of(**settings)
        self._scorer: MetricScorer | None = None
        self._added: list[Pairs] = []
        super().__init__(config_name, **own)
        self.info.module_name = self.name

    @property
    def name(self) -> str:
        """The metric's name: "infolm", where evaluate would make "info_lm" of the class's."""
        return self._settings_type().metric

    @property
    def scorer(self) -> Any:
        """The scorer, which keeps the model between calls; `unload` lets it go."""
        if self._scorer is None:
            self._scorer = self.scorer_type.of(self._settings)
        return self._scorer

    def unload(self) -> None:
        """Free the model and what is kept; the next `compute` loads the model again."""
        if self._scorer is not None:
            self._scorer.unload()

    def __len__(self) -> int:
        """The number of pairs added since the last `compute`."""
        return sum(map(len, self._added))

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles carry: all but the scorer, whose model they load themselves.

        `datasets` pickles what a mapped function refers to, to fingerprint it. Methods that
        evaluate has bound to this very metric stay here, too.
        """
        state = {**self.__dict__, "_scorer": None, "_added": list(self._added)}
        return {name: value for name, value in state.items() if not inspect.ismethod(value)}

    def _info(self) -> evaluate.MetricInfo:
        """The documentation and the two kinds of input; a metric says more."""
        return metric_info()

    def _build_data_dir(self) -> str:
        """Where evaluate would write; nothing is written, so nothing is made."""
        return os.path.join(self._data_dir_root, self.name, self.config_name)

    # evaluate extends the docstrings of the next three by the inputs description.

    def add(self, *, prediction: Any = None, reference: Any = None, **other: Any) -> None:
        """Keep one prediction and its reference, or references, for `compute`.

        Args:
            prediction: a string.
            reference: a string, or a list of strings.
            **other: `predictions` and `references` in their place: so calls `evaluate.combine`.

        Raises:
            TypeError, ValueError: an argument is wrong, or strings and lists would be mixed.
        """
        pair = {"predictions": prediction, "references": reference}
        _check_names("add", other, _INPUTS)
        for name, value in other.items():
            if pair[name] is not None:
                raise TypeError(f"add got both {name.removesuffix('s')} and {name}; give one")
            pair[name] = value
        checked = check_pairs([pair["predictions"]], [pair["references"]])
        self._added.append(self._alike(checked))

    def add_batch(self, *, predictions: Any = None, references: Any = None, **other: Any) -> None:
        """Keep predictions and their references for `compute`.

        Args:
            predictions: a list of strings.
            references: for each its reference, or a list of its references.
            **other: refused, with the name that may have been meant.

        Raises:
            TypeError, ValueError: an argument is wrong, or strings and lists would be mixed.
        """
        _check_names("add_batch", other, _INPUTS)
        self._added.append(self._alike(check_pairs(predictions, references)))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        ranks: str | None = None,
        gather: str | None = None,
        **settings: Any,
    ) -> dict[str, Any] | None:
        """Scores of the pairs added before and of those given here; forgets them if all went well.

        Args:
            predictions: a list of strings, or None if all pairs were added before.
            references: for each its reference, or a list of its references; likewise.
            ranks: None, "share" or "same", as for `distributed_score`.
            gather: "all" or "main", likewise.
            **settings: hold for this call.

        Returns:
            The scores as a dictionary, or None on a rank that `gather` leaves out.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded, and what was added is
                kept.
            OSError: the model cannot be found.
        """
        added = list(self._added)  # another thread may go on adding

        def hold() -> tuple[Pairs, Settings]:
            chosen, parts = self._checked(settings), list(added)
            if predictions is not None or references is not None:
                check = check_pairs if ranks is None else check_held
                parts.append(self._alike(check(predictions, references)))
            return Pairs.joined(parts), chosen

        result: Result | None
        if ranks is not None:
            result = score_held(self.scorer, hold, ranks=ranks, gather=gather or "all")
        elif gather is not None:
            raise ValueError(f'gather={gather!r} needs ranks="share" or ranks="same"')
        else:
            pairs, chosen = hold()
            if not len(pairs):
                raise ValueError(
                    "there is nothing to compute; give predictions and references, "
                    "or add them before with add or add_batch"
                )
            result = self.scorer.score_pairs(pairs, chosen)
        if result is not None:
            result.remarks.warn()  # which may raise, where warnings are errors
        del self._added[: len(added)]
        if result is None:
            return None
        wanted = settings.get("return_scores", self._settings.return_scores)
        return result.as_dict(return_scores=wanted)

    @classmethod
    def _settings_type(cls) -> type[Settings]:
        return cls.scorer_type.inner_type.settings_type

    def _checked(self, settings: dict[str, Any]) -> Settings:
        """The settings of a call to `compute`."""
        _check_names("compute", settings, (*_INPUTS, "ranks", "gather", *vars(self._settings)))
        chosen = self._settings.replace(**settings)
        return chosen.replace(verbose=chosen.verbose and is_progress_bar_enabled())

    def _alike(self, pairs: Pairs) -> Pairs:
        """The pairs; ValueError if strings and lists would be mixed."""
        if self._added and len(pairs) and self._added[0].several != pairs.several:
            kinds = ("strings", "lists of strings")
            raise ValueError(
                f"references were {kinds[not pairs.several]} in what was added before and are "
                f"{kinds[pairs.several]} now; give all of them as {kinds[not pairs.several]}, "
                "or compute what was added first"
            )
        return pairs


def _check_processes(given: dict[str, Any]) -> None:
    """Raise ValueError if evaluate's own way for several processes is asked for."""
    for name, only in _PROCESSES.items():
        if given.get(name, only) != only:
            raise ValueError(
                f"{name} must be left out, got {given[name]!r}: processes do not meet through "
                "evaluate's files; start them with torchrun or accelerate launch, and give compute "
                'ranks="share" (each has pairs of its own) or ranks="same" (each has all pairs)'
            )


def _check_names(method: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    """Raise TypeError if a name is none of the known ones, with the nearest of them."""
    for name in given:
        if name not in known:
            hint = nearest(_NAMES_ELSEWHERE.get(name, name), known)
            raise TypeError(f"{method} got an unknown argument {name!r}; {hint}")


def metric_info(**documentation: Any) -> evaluate.MetricInfo:
    """What evaluate knows of a metric: its documentation, and the kinds of input.

    A citation is followed by that of this software.
    """
    given = {"description": "", "citation": "", "license": "Apache-2.0", **documentation}
    if given["citation"]:
        given["citation"] += _SOFTWARE
    return evaluate.MetricInfo(features=_FEATURES, **given)
