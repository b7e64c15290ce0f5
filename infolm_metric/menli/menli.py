"""MENLI as `evaluate` loads it: the class and its documentation.

`evaluate.load("./infolm_metric/menli")` copies this file away and imports the copy: so imports are
absolute, and nothing is kept here. It takes the first metric class it finds among the names of the
module: so other metric classes are named through their modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import evaluate

from infolm_metric.kernel import evaluate_metric, manual
from infolm_metric.menli.scorer import MENLIScorer, either
from infolm_metric.menli.settings import Settings

if TYPE_CHECKING:
    from typing import Unpack

    from infolm_metric.menli.keywords import Keywords

_DESCRIPTION = """\
MENLI asks a model of natural language inference whether a text follows from its reference, and the
reference from the text. The score is a formula of the probabilities of entailment, neutrality and
contradiction; higher is better. It notices a changed number, name or negation, to which metrics of
similarity are nearly blind, and can be combined with one of these.
"""

_CITATION = r"""
@article{chen2023menli,
  title = {{MENLI}: Robust Evaluation Metrics from Natural Language Inference},
  author = {Chen, Yanran and Eger, Steffen},
  journal = {Transactions of the Association for Computational Linguistics},
  volume = {11},
  pages = {804--825},
  year = {2023},
  doi = {10.1162/tacl_a_00576},
}
"""

_EXAMPLES = """
    >>> from infolm_metric import MENLI
    >>> menli = MENLI(model_name_or_path="bundled")  # or evaluate.load("menli", ...)
    >>> results = menli.compute(
    ...     predictions=["The cat sat on the mat.", "Nobody was in the garden."],
    ...     references=["The cat sat on the mat.", "A man was in the garden."],
    ... )
    >>> list(results)
    ['menli', 'scores', 'higher_is_better', 'signature', 'remarks']
    >>> results["scores"][0] > results["scores"][1]
    True

    Several references, several formulas in one pass, one direction:

    >>> results = menli.compute(
    ...     predictions=["It rained all day."],
    ...     references=[["It was dry all day.", "It rained all day."]],
    ...     formula=["e", "-c", "e-c"],
    ...     direction="hr",
    ... )
    >>> list(results["scores"])
    ['e', '-c', 'e-c']

    Combined with another metric; and against sources:

    >>> results = menli.compute(
    ...     predictions=["It rained all day."],
    ...     sources=["It rained all day."],
    ...     combine_with="infolm",
    ...     nli_weight=0.3,
    ... )
    >>> 0.7 < results["menli"] <= 1
    True
"""

_INPUTS_DESCRIPTION = manual.manual(
    "MENLI",
    Settings,
    _EXAMPLES,
    range="Higher is better; a copy scores less than the\n"
    "        largest value, because no model is sure of anything.",
    higher=True,
    more="""\
    probabilities (dict of lists of float): with probabilities=True; e, n and c behind each score,
        with several references those of the best one, or their means.
    In a combination remarks have also what the other metric cut or did not know, under its name,
        such as "infolm.too_long".
""",
    several="""
    For a list of formulas, the numbers are in dictionaries from the name of the formula.

    In place of references, `sources` can be given: what the predictions were made from.
""",
)

__test__ = {"inputs_description": _INPUTS_DESCRIPTION}  # its examples are doctests


class MENLI(evaluate_metric.EvaluateMetric):
    """The metric: `compute(predictions=[...], references=[...])` gives scores, higher is better.

    Args:
        given: settings, by name, which become the defaults of every `compute`; and what every
            metric of evaluate takes: config_name, keep_in_memory, cache_dir, seed, hash,
            max_concurrent_cache_files, timeout.

    Pairs wait in memory, as those of InfoLM do. Raises TypeError or ValueError if a setting is
    unknown or wrong. No model is loaded yet.

    >>> MENLI(formula="c-e")
    Traceback (most recent call last):
    ValueError: unknown formula 'c-e'; known: 'e', '-c', 'e-n', 'e-c', 'e-n-2c'
    """

    scorer_type = MENLIScorer

    if TYPE_CHECKING:  # what is inherited, with the settings by name

        def __init__(
            self,
            config_name: str | None = None,
            *,
            keep_in_memory: bool = False,
            cache_dir: str | None = None,
            seed: int | None = None,
            hash: str | None = None,
            max_concurrent_cache_files: int = 10000,
            timeout: float = 100,
            **settings: Unpack[Keywords],
        ) -> None: ...

    # Sources are references by another name; evaluate extends the docstrings of the next three.

    def add(
        self, *, prediction: Any = None, reference: Any = None, source: Any = None, **other: Any
    ) -> None:
        """Keep one prediction and its reference or references, or its source, for `compute`.

        Args:
            prediction: a string.
            reference: a string, or a list of strings.
            source: what the prediction was made from, in place of a reference.
            **other: predictions and references: so calls `evaluate.combine`.

        Raises:
            TypeError, ValueError: an argument is wrong, or strings and lists would be mixed.
        """
        super().add(prediction=prediction, reference=either(reference, source), **other)

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, sources: Any = None, **other: Any
    ) -> None:
        """Keep predictions and their references, or their sources, for `compute`.

        Args:
            predictions: a list of strings.
            references: for each its reference, or a list of its references.
            sources: what the predictions were made from, in place of references.
            **other: refused, with the name that may have been meant.

        Raises:
            TypeError, ValueError: an argument is wrong, or strings and lists would be mixed.
        """
        super().add_batch(predictions=predictions, references=either(references, sources), **other)

    def compute(  # type: ignore[override]
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        sources: Any = None,
        ranks: str | None = None,
        gather: str | None = None,
        **settings: Unpack[Keywords],
    ) -> dict[str, Any] | None:
        """Scores of the pairs added before and of those given here; forgets them if all went well.

        Args:
            predictions: a list of strings, or None if all pairs were added before.
            references: for each its reference, or a list of its references; likewise.
            sources: what the predictions were made from, in place of references.
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
        given: dict[str, Any] = dict(settings)
        return super().compute(
            predictions=predictions,
            references=either(references, sources),
            ranks=ranks,
            gather=gather,
            **given,
        )

    def _info(self) -> evaluate.MetricInfo:
        return evaluate_metric.metric_info(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS_DESCRIPTION,
            reference_urls=["https://arxiv.org/abs/2208.07316"],
        )
