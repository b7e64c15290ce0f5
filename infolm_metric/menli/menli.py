"""MENLI for `evaluate`. See infolm_metric.py for the restrictions on imports and state.

Description:
MENLI uses a natural language inference (NLI) model to decide whether a text follows from its
reference, and the reference from the text. The score is a linear function of the probabilities of
entailment, neutrality and contradiction. Higher is better. MENLI detects changed numbers, names and
negations, to which similarity metrics are nearly blind, and can be combined with such a metric.

Citation:
@article{chen2023menli,
  title = {{MENLI}: Robust Evaluation Metrics from Natural Language Inference},
  author = {Chen, Yanran and Eger, Steffen},
  journal = {Transactions of the Association for Computational Linguistics},
  volume = {11},
  pages = {804--825},
  year = {2023},
  doi = {10.1162/tacl_a_00576},
}

Examples:
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

    Several references, several formulas in one pass and a single direction:

    >>> results = menli.compute(
    ...     predictions=["It rained all day."],
    ...     references=[["It was dry all day.", "It rained all day."]],
    ...     formula=["e", "-c", "e-c"],
    ...     direction="hr",
    ... )
    >>> list(results["scores"])
    ['e', '-c', 'e-c']

    In combination with another metric:

    >>> results = menli.compute(
    ...     predictions=["It rained all day."],
    ...     references=["It rained all day."],
    ...     combine_with="infolm",
    ...     nli_weight=0.3,
    ... )
    >>> 0.7 < results["menli"] <= 1
    True
"""

from infolm_metric.menli.scorer import MENLIScorer
from infolm_metric.scoring import evaluate_metric


class MENLI(evaluate_metric.EvaluateMetric):
    """MENLI for `evaluate`: `compute(predictions=[...], references=[...])`, higher is better.

    Keyword arguments are the settings of `MENLISettings`, used as defaults by `compute`, and the
    arguments that `evaluate.load` passes to every metric. `config_name` must be None, because there
    are no configurations. The first call to `compute` loads the model. Raises
    InputError if a setting is unknown or invalid.

    >>> MENLI(formula="c-e")
    Traceback (most recent call last):
    infolm_metric.InputError: unknown formula 'c-e'. Known: 'e', '-c', 'e-n', 'e-c', 'e-n-2c'
    """

    scorer_type = MENLIScorer
    reference_urls = ["https://arxiv.org/abs/2208.07316"]
