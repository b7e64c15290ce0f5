"""BERTScore for `evaluate`. See infolm_metric.py for the restrictions on imports and state.

Description:
BERTScore measures the similarity of a text to a reference by the cosine similarity of their
contextual embeddings. A language model encodes each text in one pass, and each token is matched
with the most similar token in the other text. Precision is the mean similarity of the candidate's
tokens, recall is the mean similarity of the reference's tokens, and F1 is their harmonic mean.
Identical texts score 1. Higher is better.

Citation:
@inproceedings{zhang2020bertscore,
  title = {{BERTScore}: Evaluating Text Generation with {BERT}},
  author = {Zhang, Tianyi and Kishore, Varsha and Wu, Felix and Weinberger, Kilian Q. and Artzi,
    Yoav},
  booktitle = {International Conference on Learning Representations},
  year = {2020},
  url = {https://openreview.net/forum?id=SkeHuCVFDr},
}

Examples:
    >>> from infolm_metric import BERTScore
    >>> bertscore = BERTScore(model_name_or_path="bundled")  # or evaluate.load("infolm_bertscore")
    >>> results = bertscore.compute(
    ...     predictions=["The cat sat on the mat.", "It rained all day."],
    ...     references=["The cat sat on the mat.", "The sun shone from morning to evening."],
    ... )
    >>> list(results)
    ['bertscore', 'scores', 'higher_is_better', 'signature', 'warnings']
    >>> results["scores"][0], results["scores"][1] < 0.9
    (1.0, True)

    Several references, all three scores:

    >>> results = bertscore.compute(
    ...     predictions=["It rained all day."],
    ...     references=[["It was dry all day.", "It rained all day."]],
    ...     score=["f1", "precision", "recall"],
    ... )
    >>> results["scores"]
    {'f1': [1.0], 'precision': [1.0], 'recall': [1.0]}
"""

from infolm_metric.bertscore.scorer import BERTScorer
from infolm_metric.scoring import evaluate_metric


class BERTScore(evaluate_metric.EvaluateMetric):
    """BERTScore for `evaluate`: `compute(predictions=[...], references=[...])`, higher is better.

    Keyword arguments are the settings of `BERTScoreSettings`, used as defaults by `compute`, and
    the arguments that `evaluate.load` passes to every metric. `config_name` must be None, because
    there are no configurations. The first call to `compute` loads the model. Raises
    InputError if a setting is unknown or invalid.

    >>> BERTScore(layer=-1)
    Traceback (most recent call last):
    infolm_metric.InputError: layer must be at least 0, got -1
    """

    scorer_type = BERTScorer
    reference_urls = ["https://openreview.net/forum?id=SkeHuCVFDr"]
