"""Verdicts on answers: likely correct, unclear or likely wrong.

Source: human verdicts on LLM answers in EVOUNA and DIVER-QA. The thresholds were chosen on one half
of the questions and tested on the other half (`python -m tools.answers report`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from infolm_metric.core.results import is_reliable
from infolm_metric.core.scorer import Scorer
from infolm_metric.core.settings import BUNDLED
from infolm_metric.core.signature import Signature
from infolm_metric.menli.settings import MENLISettings

# Scores below LOW mean "likely wrong"; scores of at least HIGH mean "likely correct".
LOW, HIGH = 0.23, 0.59
# Percentages of verdicts that agree with human verdicts, for EVOUNA and DIVER-QA.
CORRECT, WRONG = (98, 94), (89, 83)
VERDICTS = ("likely correct", "unclear", "likely wrong")


def verdict(score: float) -> str:
    """Return the verdict for a score of the task "answer".

    >>> verdict(0.95), verdict(0.1)
    ('likely correct', 'likely wrong')
    """
    return VERDICTS[(score < HIGH) + (score < LOW)]


def has_thresholds(scorer: Scorer, signature: Signature) -> bool:
    """Return True if the thresholds were measured for scores with this signature."""
    settings = MENLISettings(task="answer", model_name_or_path=BUNDLED)
    return bool(signature.without(["baseline"]) == scorer.signature(settings))


def describe_verdicts(
    scorer: Scorer, signature: Signature, counts: Mapping[str, int], scores: Iterable[float]
) -> str:
    """Return a line with the verdict on one answer, or the count of each verdict on several."""
    if not has_thresholds(scorer, signature):
        return (
            "verdict: none, because thresholds exist only for --task answer with its default "
            "settings and --model bundled in float32"
        )
    # An empty answer is not out of domain, but wrong.
    if not is_reliable({name: count for name, count in counts.items() if name != "empty"}):
        return "verdict: none, because the texts are out of domain for the model"
    numbers = Counter(map(verdict, scores))
    words = f"verdict: {next(iter(numbers))}"
    if numbers.total() > 1:
        words = "verdicts: " + ", ".join(f"{numbers[name]} {name}" for name in VERDICTS)
    return (
        f"{words} (likely correct: score >= {HIGH}; likely wrong: score < {LOW}; humans agreed "
        f"with {CORRECT[0]}% and {WRONG[0]}% of these verdicts in EVOUNA, {CORRECT[1]}% and "
        f"{WRONG[1]}% in DIVER-QA)"
    )
