"""A metric as `evaluate` knows it, over any scorer: the buffer, add, add_batch and compute."""

from __future__ import annotations

import inspect
import os
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import datasets
import evaluate
from evaluate.utils import is_progress_bar_enabled

from infolm_metric.core.baselines import baseline_of
from infolm_metric.core.distributed import Call, check_rank_pairs, score_on_ranks
from infolm_metric.core.inputs import Pairs, check_pairs
from infolm_metric.core.results import Result, warn
from infolm_metric.core.scorer import Scorer, score_corpus
from infolm_metric.core.settings import check_names, check_value, field_types

_TEXT = datasets.Value("string")
_FEATURES = [  # the two kinds of input: one reference each, or several
    datasets.Features({"predictions": _TEXT, "references": references})
    for references in (_TEXT, datasets.List(_TEXT))
]
_INPUTS = ("predictions", "references", "sources")
_ARGUMENTS = ("ranks", "gather", "return_scores", "details", "rescale_with_baseline", "verbose")
_PROCESSES = {"num_process": 1, "process_id": 0}  # by default of evaluate.load
_SOFTWARE = """\
@software{infolm_metric,
  title = {infolm: {InfoLM}, {BaryScore} and {MENLI} for {Hugging Face} evaluate},
  author = {{The infolm authors}},
  year = {2026},
  license = {Apache-2.0},
}
"""
_INPUTS_DESCRIPTION = """
Args:
    predictions (list of str): the texts to judge, at least one.
    references (list of str, or list of lists of str): for each prediction its reference, or its
        references, at least one each.

Settings can be given to `compute`, and to `evaluate.load` or the class, where they become the
defaults of every `compute`.
"""


class EvaluateMetric(evaluate.Metric):  # type: ignore[misc]
    """A metric of `evaluate` whose scores come from `scorer_type`.

    A metric is a subclass that names its scorer and holds its documentation. Pairs wait in memory,
    and nothing is written to disk; several processes meet through `compute(ranks=...)`.

    Args:
        config_name: None; there are no configurations.
        **settings: settings, by name, which become the defaults of every `compute`, and what
            `evaluate.load` gives every metric: keep_in_memory, cache_dir, seed, hash,
            experiment_id, max_concurrent_cache_files, timeout, and the defaults of num_process
            and process_id.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong. No model is loaded yet.
    """

    scorer_type: ClassVar[type[Scorer]]
    description: ClassVar[str] = ""
    paper: ClassVar[str] = ""  # evaluate's `citation` also names the software
    examples: ClassVar[str] = ""
    reference_urls: ClassVar[list[str]] = []

    def __init__(self, config_name: str | None = None, **settings: Any) -> None:
        if config_name not in (None, "default"):
            raise ValueError(
                f"{type(self).__name__} has no configurations, got config_name={config_name!r}; "
                'give settings by name, such as model_name_or_path="bundled"'
            )
        parameters = inspect.getfullargspec(evaluate.Metric.__init__).args
        options = {name: settings.pop(name) for name in parameters if name in settings}
        for name, default in _PROCESSES.items():
            if options.get(name, default) != default:
                raise ValueError(
                    f"{name} must be {default}, got {options[name]!r}: processes do not exchange "
                    "pairs through files; start them with torchrun or accelerate launch, and "
                    'give compute ranks="share" (each has pairs of its own) or ranks="same" (each '
                    "has all pairs)"
                )
        self.scorer = self.scorer_type(**settings)
        self._added: list[Pairs] = []
        super().__init__(config_name, **options)
        self.info.module_name = self.name

    @property
    def name(self) -> str:
        """The metric's name: "infolm", where evaluate would make "info_lm" of the class's."""
        return str(self.scorer_type.settings_type.metric)

    def unload(self) -> None:
        """Free the model and what is kept; the next `compute` loads the model again."""
        self.scorer.unload()

    def __len__(self) -> int:
        """The number of pairs added since the last `compute`."""
        return sum(map(len, self._added))

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles carry; the scorer among it loads its model itself.

        `datasets` pickles what a mapped function refers to, to fingerprint it. Methods that
        evaluate has bound to this very metric stay here.
        """
        state = {**self.__dict__, "_added": list(self._added)}
        return {name: value for name, value in state.items() if not inspect.ismethod(value)}

    def _info(self) -> evaluate.MetricInfo:
        """What evaluate knows of a metric: its documentation, and the kinds of input."""
        settings = inspect.getdoc(self.scorer_type.settings_type)
        return evaluate.MetricInfo(
            description=self.description,
            citation=self.paper + _SOFTWARE,
            inputs_description=f"{_INPUTS_DESCRIPTION}\n{settings}\n\nExamples:\n{self.examples}",
            features=_FEATURES,
            reference_urls=self.reference_urls,
            license="Apache-2.0",
        )

    def _build_data_dir(self) -> str:
        """Where evaluate would write; nothing is written, so nothing is made."""
        return os.path.join(self._data_dir_root, self.name, self.config_name)

    # evaluate extends the docstrings of the next three by the inputs description.

    def add(
        self, *, prediction: Any = None, reference: Any = None, source: Any = None, **inputs: Any
    ) -> None:
        """Keep one prediction and its reference, or references, for `compute`.

        Args:
            prediction: a string.
            reference: a string, or a list of strings.
            source: in place of a reference, for a metric that takes sources.
            **inputs: `predictions` and `references` in their place: so calls `evaluate.combine`.

        Raises:
            TypeError, ValueError: an argument is wrong, or strings and lists would be mixed.
        """
        pair = {"predictions": prediction, "references": reference, "sources": source}
        check_names(inputs, _INPUTS, "add got an unknown argument")
        for name, value in inputs.items():
            if pair[name] is not None:
                raise TypeError(f"add got both {name.removesuffix('s')} and {name}; give one")
            pair[name] = value
        references = self.scorer.settings.targets(pair["references"], pair["sources"])
        pairs = check_pairs([pair["predictions"]], [references])
        self._added.append(self._alike(pairs, pair["sources"]))

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, sources: Any = None, **inputs: Any
    ) -> None:
        """Keep predictions and their references for `compute`.

        Args:
            predictions: a list of strings, possibly empty.
            references: for each its reference, or a list of its references.
            sources: in place of references, for a metric that takes sources.
            **inputs: refused, with the name that may have been meant.

        Raises:
            TypeError, ValueError: an argument is wrong, or strings and lists would be mixed.
        """
        check_names(inputs, _INPUTS, "add_batch got an unknown argument")
        references = self.scorer.settings.targets(references, sources)
        if pairs := check_pairs(predictions, references, allow_empty=True):
            self._added.append(self._alike(pairs, sources))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        sources: Any = None,
        ranks: str | None = None,
        gather: str | None = None,
        return_scores: bool = True,
        details: bool = True,
        rescale_with_baseline: Any = False,
        verbose: bool = False,
        **settings: Any,
    ) -> dict[str, Any] | None:
        """Scores of the pairs added before and of those given here; forgets them if all went well.

        Args:
            predictions: a list of strings, or None if all pairs were added before.
            references: for each its reference, or a list of its references; likewise.
            sources: in place of references, for a metric that takes sources.
            ranks: None, "share" or "same", as for `distributed_score`.
            gather: "all" or "main", likewise.
            return_scores: whether to give the scores of each pair.
            details: False for the means alone, for tools that average every value.
            rescale_with_baseline: True, False or a file of `infolm baseline`.
            verbose: show progress.
            **settings: hold for this call.

        Returns:
            The scores as a dictionary, or None on a rank that `gather` leaves out.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded, and what was added is
                kept.
            OSError: the model cannot be found.
        """
        added = list(self._added)  # another thread may go on adding

        def call() -> Call:
            names = (*_INPUTS[:2], *_ARGUMENTS, *field_types(type(self.scorer.settings)))
            check_names(settings, names, "compute got an unknown argument")
            flags = {"return_scores": return_scores, "details": details, "verbose": verbose}
            for name, value in flags.items():
                check_value(name, value, bool)
            call_settings = self.scorer.settings.replace(**settings)
            baseline = baseline_of(call_settings.metric, rescale_with_baseline)
            parts = list(added)
            if any(texts is not None for texts in (predictions, references, sources)):
                targets = call_settings.targets(references, sources)
                check = check_pairs if ranks is None else check_rank_pairs
                parts.append(self._alike(check(predictions, targets), sources))
            progress = verbose and is_progress_bar_enabled()
            return Call(Pairs.joined(parts), call_settings, baseline, progress)

        result: Result | None
        if ranks is not None:
            result = score_on_ranks(self.scorer, call, ranks, gather or "all")
        elif gather is not None:
            raise ValueError(f'gather={gather!r} needs ranks="share" or ranks="same"')
        else:
            pairs, call_settings, baseline, progress = call()
            if not len(pairs):
                raise ValueError(
                    "there is nothing to compute; give predictions and references, "
                    "or add them before with add or add_batch"
                )
            result = score_corpus(self.scorer, pairs, call_settings, baseline, progress)
        if result is not None:
            # May raise, if warnings are errors.
            warn(result.counts, self.scorer.warning_messages)
        for part in added:
            with suppress(ValueError):  # gone where another thread computed it, too
                self._added.remove(part)
        return None if result is None else result.as_dict(return_scores, details)

    def _alike(self, pairs: Pairs, sources: Any) -> Pairs:
        """Return the pairs; raise ValueError if they do not fit the pairs that were added before.

        Strings and lists cannot be mixed, nor references and `sources`.
        """
        pairs = replace(pairs, against_sources=sources is not None)
        if self._added and len(pairs) and self._added[0].against_sources != pairs.against_sources:
            names = ("references", "sources")
            raise ValueError(
                f"{names[pairs.against_sources]} cannot be mixed with the "
                f"{names[not pairs.against_sources]} that were added before; compute those first"
            )
        if self._added and len(pairs) and self._added[0].several != pairs.several:
            kinds = ("strings", "lists of strings")
            raise ValueError(
                f"references were {kinds[not pairs.several]} in what was added before and are "
                f"{kinds[pairs.several]} now; give all of them as {kinds[not pairs.several]}, "
                "or compute what was added first"
            )
        return pairs
