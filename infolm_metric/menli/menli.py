"""MENLI as `evaluate` loads it: the class and its documentation.

`evaluate.load("./infolm_metric/menli")` copies this file away and imports the copy: so imports are
absolute, and nothing is kept here. It takes the first metric class it finds among the names of the
module: so other metric classes are named through their modules.
"""

from infolm_metric.core import evaluate_metric
from infolm_metric.menli.scorer import MENLIScorer

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
    ['menli', 'scores', 'higher_is_better', 'signature', 'warnings']
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

__test__ = {"examples": _EXAMPLES}  # doctests


class MENLI(evaluate_metric.EvaluateMetric):
    """The metric: `compute(predictions=[...], references=[...])` gives scores, higher is better.

    Args:
        config_name: None; there are no configurations.
        **settings: those of `MENLISettings`, which become the defaults of every `compute`, and
            what `evaluate.load` gives every metric.

    Raises TypeError or ValueError if a setting is unknown or wrong. No model is loaded yet.

    >>> MENLI(formula="c-e")
    Traceback (most recent call last):
    ValueError: unknown formula 'c-e'; known: 'e', '-c', 'e-n', 'e-c', 'e-n-2c'
    """

    scorer_type = MENLIScorer
    description = _DESCRIPTION
    paper = _CITATION
    examples = _EXAMPLES
    reference_urls = ["https://arxiv.org/abs/2208.07316"]
