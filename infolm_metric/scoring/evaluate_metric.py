"""Base class of the metrics for `evaluate`: add, add_batch and compute for any scorer."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, ClassVar

import datasets
import evaluate
from evaluate.utils import is_progress_bar_enabled

from infolm_metric.core.baselines import resolve_baseline
from infolm_metric.core.checks import INPUTS, InputError, check_names, check_value
from infolm_metric.core.inputs import Pairs, check_pairs
from infolm_metric.core.results import warn
from infolm_metric.core.settings import field_types
from infolm_metric.scoring.distributed import Call, score_on_ranks
from infolm_metric.scoring.scorer import Scorer

_TEXT = datasets.Value("string")
_FEATURES = [  # one reference per prediction, or a list of references
    datasets.Features({"predictions": _TEXT, "references": references})
    for references in (_TEXT, datasets.List(_TEXT))
]
# Sections of the docstring of a metric's module.
_SECTIONS = re.compile(r"^(\w+):\n((?:(?!(?:Citation|Examples):$).*\n)*)", re.MULTILINE)
_ARGUMENTS = ("ranks", "gather", "return_scores", "details", "rescale_with_baseline", "verbose")
_INPUTS = """
Args:
    predictions (list of str): the texts to score, at least one.
    references (list of str, or list of lists of str): one or several references per prediction.
"""


class EvaluateMetric(evaluate.Metric):  # type: ignore[misc]
    """Base class of metrics for `evaluate` that compute scores with `scorer_type`.

    A metric is a subclass that sets its scorer. The docstring of its module contains the sections
    Description, Citation and Examples. Added pairs are kept in memory,
    and nothing is written to disk. Several processes exchange scores with `compute(ranks=...)`.

    `settings` are the defaults for `compute`, which loads the model. An unknown or invalid setting
    raises InputError. `config_name` must be None, because there are no configurations.
    The arguments that `evaluate.load` passes to every metric, such as cache_dir, are also accepted.
    `num_process` and `process_id` must have their default values.
    """

    scorer_type: ClassVar[type[Scorer[Any]]]
    reference_urls: ClassVar[list[str]] = []

    def __init__(self, config_name: str | None = None, **settings: object) -> None:
        if config_name not in (None, "default"):
            raise InputError(
                f"config_name must be None, got {config_name!r}. Pass settings by keyword, such as "
                'model_name_or_path="bundled".'
            )
        parameters = inspect.getfullargspec(evaluate.Metric.__init__).args
        options = {name: settings.pop(name) for name in parameters if name in settings}
        if options.get("num_process", 1) != 1 or options.get("process_id", 0) != 0:
            raise InputError(
                f"num_process must be 1 and process_id 0, got {options.get('num_process', 1)} and "
                f"{options.get('process_id', 0)}. Use torchrun or accelerate launch, and call "
                'compute with ranks="share" (each has different pairs) or ranks="same" (all pairs).'
            )
        self.scorer = self.scorer_type(**settings)
        self._added: dict[Pairs, None] = {}  # by identity, as threads may add more
        super().__init__(config_name, **options)
        self.info.module_name = self.name

    @property
    def name(self) -> str:
        """Name of the metric, because evaluate would derive "info_lm" from InfoLM."""
        return str(self.scorer_type.settings_type.metric)

    def unload(self) -> None:
        """Free the model and the cache. The next `compute` loads the model again."""
        self.scorer.unload()

    def __len__(self) -> int:
        """Return the number of pairs added since the last successful `compute`."""
        return sum(map(len, self._added))

    def __bool__(self) -> bool:
        """Return True, although the length of a metric without pairs is 0."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, which load their own models.

        To compute a fingerprint, `datasets` pickles all objects that a mapped function uses.
        Methods that evaluate has bound to this instance are omitted.
        """
        state = {**self.__dict__, "_added": dict(self._added), "scorer": copy.copy(self.scorer)}
        return {name: value for name, value in state.items() if not inspect.ismethod(value)}

    def _info(self) -> evaluate.MetricInfo:
        """Return documentation and input types for evaluate."""
        settings = inspect.getdoc(self.scorer_type.settings_type)
        sections = dict(_SECTIONS.findall(sys.modules[type(self).__module__].__doc__ or ""))
        examples = sections.get("Examples", "")
        return evaluate.MetricInfo(
            description=sections.get("Description", ""),
            citation=sections.get("Citation", ""),
            inputs_description=f"{_INPUTS}\n{settings}\n\nExamples:\n{examples}",
            features=_FEATURES,
            reference_urls=self.reference_urls,
            license="Apache-2.0",
            **_addresses(),
        )

    def _build_data_dir(self) -> str:
        """Return the folder for evaluate's files. It is not used and not created."""
        return os.path.join(self._data_dir_root, self.name, self.config_name)

    # evaluate appends the inputs description to the docstrings of the next three methods.

    def add(self, *, prediction: object = None, reference: object = None, **inputs: object) -> None:
        """Add one prediction and its reference or references for `compute`.

        `prediction` is a string. `reference` is a string or a list of strings. `evaluate.combine`
        passes them as `predictions` and `references`, in `inputs`.
        Raises InputError if an argument is invalid.
        """
        check_names(inputs, INPUTS, "add got an unknown argument")
        pair = {"predictions": prediction, "references": reference}
        for name in inputs:
            if pair[name] is not None:
                raise InputError(f"add got both {name.removesuffix('s')} and {name}. Pass one.")
        pair |= inputs
        self._added[check_pairs([pair["predictions"]], [pair["references"]])] = None

    def add_batch(
        self, *, predictions: object = None, references: object = None, **inputs: object
    ) -> None:
        """Add predictions and their references for `compute`.

        `predictions` is a list of strings, possibly empty. `references` contains one reference or a
        list of references per prediction. Raises InputError if an argument is invalid, or unknown
        (`inputs`).
        """
        check_names(inputs, INPUTS, "add_batch got an unknown argument")
        self._added[check_pairs(predictions, references, allow_empty=True)] = None

    def compute(
        self,
        *,
        predictions: object = None,
        references: object = None,
        ranks: str | None = None,
        gather: str | None = None,
        return_scores: bool = True,
        details: bool = True,
        rescale_with_baseline: object = False,
        verbose: bool = False,
        **settings: object,
    ) -> dict[str, Any] | None:
        """Score the added pairs and the pairs in this call. On success, remove the added pairs.

        Args:
            predictions: a list of strings. None if all pairs have already been added.
            references: one reference, or a list of references, per prediction.
            ranks: "share" or "same", as in `distributed_score`. None: score on one process.
            gather: "all" or "main", as in `distributed_score`.
            return_scores: whether to return the score of each pair.
            details: if False, return only the means as floats, for tools that average every value.
            rescale_with_baseline: True, False or a file written by `infolm baseline`.
            verbose: show a progress bar.
            **settings: settings for this call.

        Returns:
            The scores as a dictionary, or None on ranks other than 0 with `gather="main"`.

        Raises:
            InputError: an argument is invalid (checked before loading the model). Added
                pairs are kept.
            OSError: the model cannot be found.
            RuntimeError: another rank failed, or there are several processes but
                `torch.distributed` is not initialized.
        """
        added = list(self._added)  # another thread may add more pairs meanwhile

        def call() -> Call[Any]:
            names = (*INPUTS, *_ARGUMENTS, *field_types(type(self.scorer.settings)))
            check_names(settings, names, "compute got an unknown argument")
            flags = {"return_scores": return_scores, "details": details, "verbose": verbose}
            for name, value in flags.items():
                check_value(name, value, bool)
            call_settings = self.scorer.settings.replace(**settings)
            baseline = resolve_baseline(call_settings.metric, rescale_with_baseline)
            parts = list(added)
            if any(texts is not None for texts in (predictions, references)):
                parts.append(check_pairs(predictions, references, allow_empty=ranks is not None))
            pairs = Pairs(
                [text for part in parts for text in part.predictions],
                [group for part in parts for group in part.all_references],
            )
            return Call(pairs, call_settings, baseline, verbose and is_progress_bar_enabled())

        if gather is not None and ranks is None:
            raise InputError(f'gather={gather!r} needs ranks="share" or ranks="same"')
        result = score_on_ranks(self.scorer, call, ranks, gather or "all")
        if result is not None:
            # If warnings are errors, this raises, and the added pairs are kept.
            warn(result.counts)
        for part in added:
            self._added.pop(part, None)
        return None if result is None else result.as_dict(return_scores, details)


def _addresses() -> dict[str, Any]:
    """Return the Space's addresses for `MetricInfo`, {} if not installed from a Space."""
    with contextlib.suppress(PackageNotFoundError):
        for url in metadata("infolm-metric").get_all("Project-URL") or ():
            if url.startswith("Homepage, "):
                address = url.removeprefix("Homepage, ")
                return {"homepage": address, "codebase_urls": [f"{address}/tree/main"]}
    return {}
