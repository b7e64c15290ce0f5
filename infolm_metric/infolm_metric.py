r"""InfoLM for `evaluate`: the metric class and its documentation.

`evaluate.load("./infolm_metric")` imports a copy of this file, so imports are absolute and the
module has no state. evaluate uses the first metric class in the module's namespace, so the base
class is not imported by name.

Description:
InfoLM compares a candidate with a reference using a masked language model. Each token is masked in
turn, and the predicted distributions over the vocabulary are averaged over the text. An information
measure compares the distributions of candidate and reference. Identical texts score 0, and lower is
better. InfoLM rewards candidates that express the same meaning in different words. It was proposed
for summarization and data-to-text generation.

Citation:
@inproceedings{colombo2022infolm,
  title = {{InfoLM}: A New Metric to Evaluate Summarization \& Data2Text Generation},
  author = {Colombo, Pierre and Clavel, Chlo{\'e} and Piantanida, Pablo},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume = {36},
  number = {10},
  pages = {10554--10562},
  year = {2022},
  doi = {10.1609/aaai.v36i10.21299},
}

Examples:
    >>> from infolm_metric import InfoLM
    >>> infolm = InfoLM(model_name_or_path="bundled")  # or evaluate.load("infolm", ...)
    >>> results = infolm.compute(
    ...     predictions=["The cat sat on the mat.", "It rained all day."],
    ...     references=["The cat sat on the mat.", "The sun shone from morning to evening."],
    ... )
    >>> list(results)
    ['infolm', 'scores', 'higher_is_better', 'signature', 'warnings']
    >>> results["scores"][0], results["scores"][1] > 0
    (0.0, True)

    Pass several references, compute two measures in one call, and change a setting:

    >>> results = infolm.compute(
    ...     predictions=["It rained all day."],
    ...     references=[["It was dry all day.", "It rained all day."]],
    ...     information_measure=["l1_distance", "kl_divergence"],
    ...     temperature=1.5,
    ... )
    >>> results["scores"]
    {'l1_distance': [0.0], 'kl_divergence': [0.0]}

    Add pairs one by one:

    >>> for prediction, reference in [("A dog barks.", "A dog barks."), ("Rain.", "Rain.")]:
    ...     infolm.add(prediction=prediction, reference=reference)
    >>> infolm.compute(details=False)
    {'infolm': 0.0}
"""

from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.scoring import evaluate_metric


class InfoLM(evaluate_metric.EvaluateMetric):
    """InfoLM for `evaluate`: `compute(predictions=[...], references=[...])`, lower is better.

    The model is loaded by the first call to `compute`. Fields of `InfoLMSettings` are accepted as
    defaults for `compute`. An unknown or invalid setting raises InputError. The
    arguments that `evaluate.load` passes to every metric are also accepted, but `config_name` must
    be None, because there are no configurations.

    >>> InfoLM(temperature=0)
    Traceback (most recent call last):
    infolm_metric.InputError: temperature must be > 0, got 0.0. Values from 1 to 2 work best in ...
    """

    scorer_type = InfoLMScorer
    reference_urls = ["https://arxiv.org/abs/2112.01589"]
