"""BaryScore as `evaluate` loads it: the class and its documentation.

`evaluate.load("./infolm_metric/baryscore")` copies this file away and imports the copy: so imports
are absolute, and nothing is kept here. It takes the first metric class it finds among the names of
the module: so other metric classes are named through their modules.
"""

from infolm_metric.baryscore.scorer import BaryScorer
from infolm_metric.core import evaluate_metric

_DESCRIPTION = """\
BaryScore compares a text with a reference by optimal transport. A language model reads each text
once; a token's place is the mean of its states over the model's last layers; the score is what it
costs to move the tokens of the one text onto those of the other, rare tokens weighing more. A score
is 0 for equal texts, and lower is better. It needs one pass of the model a text.
"""

_CITATION = r"""
@inproceedings{colombo2021automatic,
  title = {Automatic Text Evaluation through the Lens of {W}asserstein Barycenters},
  author = {Colombo, Pierre and Staerman, Guillaume and Clavel, Chlo{\'e} and Piantanida, Pablo},
  booktitle = {Proceedings of the 2021 Conference on Empirical Methods in Natural Language
    Processing},
  pages = {10450--10466},
  year = {2021},
  doi = {10.18653/v1/2021.emnlp-main.817},
}
"""

_EXAMPLES = """
    >>> from infolm_metric import BaryScore
    >>> baryscore = BaryScore(model_name_or_path="bundled")  # or evaluate.load("baryscore", ...)
    >>> results = baryscore.compute(
    ...     predictions=["The cat sat on the mat.", "It rained all day."],
    ...     references=["The cat sat on the mat.", "The sun shone from morning to evening."],
    ... )
    >>> list(results)
    ['baryscore', 'scores', 'higher_is_better', 'signature', 'warnings']
    >>> results["scores"][0], results["scores"][1] > 0
    (0.0, True)

    Several references, all layers, all tokens weighing alike:

    >>> results = baryscore.compute(
    ...     predictions=["It rained all day."],
    ...     references=[["It was dry all day.", "It rained all day."]],
    ...     layers="all",
    ...     idf=False,
    ... )
    >>> results["scores"]
    [0.0]
"""

__test__ = {"examples": _EXAMPLES}  # doctests


class BaryScore(evaluate_metric.EvaluateMetric):
    """The metric: `compute(predictions=[...], references=[...])` gives scores, lower is better.

    Args:
        config_name: None; there are no configurations.
        **settings: those of `BaryScoreSettings`, which become the defaults of every `compute`, and
            what `evaluate.load` gives every metric.

    Raises TypeError or ValueError if a setting is unknown or wrong. No model is loaded yet.

    >>> BaryScore(layers=0)
    Traceback (most recent call last):
    ValueError: layers must be at least 1, got 0
    """

    scorer_type = BaryScorer
    description = _DESCRIPTION
    paper = _CITATION
    examples = _EXAMPLES
    reference_urls = ["https://aclanthology.org/2021.emnlp-main.817"]
