"""answer_check for `evaluate`. See infolm_metric.py for the restrictions on imports and state.

Description:
answer_check decides whether an LLM's answer agrees with a reference answer. It removes thinking and
Markdown, compares words, option letters, numbers by value and units, and asks
a natural language inference (NLI) model whether the answer entails the reference. The score is from
0 to 1. Higher is better. The verdict on each answer is "likely correct", "unclear" or "likely
wrong", or None if it is withheld, for example because a text is not in English.

Citation:
@software{infolm_metric,
  title = {infolm: {InfoLM}, {BaryScore}, {BERTScore} and {MENLI} for {Hugging Face} evaluate},
  author = {{The infolm authors}},
  year = {2026},
  license = {Apache-2.0},
}

Examples:
    >>> from infolm_metric import AnswerCheck
    >>> answer_check = AnswerCheck()  # or evaluate.load("answer_check", ...)
    >>> results = answer_check.compute(
    ...     predictions=["It was **Neil Armstrong**, in 1969.", "I do not know."],
    ...     references=["Neil Armstrong", "Neil Armstrong"],
    ... )
    >>> results["verdicts"]
    ['likely correct', 'likely wrong']
"""

from infolm_metric.answer_check.scorer import AnswerCheckScorer
from infolm_metric.scoring import evaluate_metric


class AnswerCheck(evaluate_metric.EvaluateMetric):
    """answer_check for `evaluate`: `compute(predictions=[...], references=[...])`.

    Keyword arguments are the settings of `AnswerCheckSettings`, used as defaults by `compute`, and
    the arguments that `evaluate.load` passes to every metric. `config_name` must be None, because
    there are no configurations. The first call to `compute` loads the model. Raises
    InputError if a setting is unknown or invalid.

    >>> AnswerCheck(score="recall")
    Traceback (most recent call last):
    infolm_metric.InputError: unknown score 'recall'. Known: 'answer_check', 'completeness', ...
    """

    scorer_type = AnswerCheckScorer
