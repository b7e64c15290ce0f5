r"""BaryScore for `evaluate`. See infolm_metric.py for the restrictions on imports and state.

Description:
BaryScore measures the similarity of a text to a reference by optimal transport between their
contextual embeddings. A language model encodes each text in one pass, and each token is represented
by the mean of its states over the last layers. The score is the minimum cost of moving the tokens
of one text to the tokens of the other, with larger weights for rare tokens. Identical texts score
0. Lower is better.

Citation:
@inproceedings{colombo2021automatic,
  title = {Automatic Text Evaluation through the Lens of {W}asserstein Barycenters},
  author = {Colombo, Pierre and Staerman, Guillaume and Clavel, Chlo{\'e} and Piantanida, Pablo},
  booktitle = {Proceedings of the 2021 Conference on Empirical Methods in Natural Language
    Processing},
  pages = {10450--10466},
  year = {2021},
  doi = {10.18653/v1/2021.emnlp-main.817},
}

Examples:
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

    Several references, all layers, uniform token weights:

    >>> results = baryscore.compute(
    ...     predictions=["It rained all day."],
    ...     references=[["It was dry all day.", "It rained all day."]],
    ...     layers="all",
    ...     idf=False,
    ... )
    >>> results["scores"]
    [0.0]
"""

from infolm_metric.baryscore.scorer import BaryScorer
from infolm_metric.scoring import evaluate_metric


class BaryScore(evaluate_metric.EvaluateMetric):
    """BaryScore for `evaluate`: `compute(predictions=[...], references=[...])`, lower is better.

    Keyword arguments are the settings of `BaryScoreSettings`, used as defaults by `compute`, and
    the arguments that `evaluate.load` passes to every metric. `config_name` must be None, because
    there are no configurations. The first call to `compute` loads the model. Raises
    InputError if a setting is unknown or invalid.

    >>> BaryScore(layers=0)
    Traceback (most recent call last):
    infolm_metric.InputError: layers must be a number N >= 1 (the last N hidden states), ..., got 0
    """

    scorer_type = BaryScorer
    reference_urls = ["https://aclanthology.org/2021.emnlp-main.817"]
