"""Scorers for MLflow's `mlflow.genai.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping

from infolm_metric.answer_check.verdict import LIKELY_CORRECT
from infolm_metric.core import __version__
from infolm_metric.core.checks import InputError
from infolm_metric.integrations import load_sample_scorer, present_references, require
from infolm_metric.integrations.trl import completion_text

with require("mlflow"):
    from mlflow.entities import AssessmentSource, Feedback
    from mlflow.genai.scorers import Scorer, scorer


def make_scorer(
    metric: str = "answer_check", expectation: str = "expected_response", **settings: object
) -> Scorer:
    """Return an MLflow scorer that compares outputs with references.

    Each row gets feedback with the metric's name: the score, the signature and, for answer_check,
    the verdict. Unless the verdict is withheld, answer_check also adds the feedback
    "likely_correct". A row whose expectation is None or blank gets no feedback. Outputs are strings
    or lists of messages. Of messages, only the last one from the assistant is scored.

    Args:
        metric: name of the metric.
        expectation: name of the expectation that contains a reference or a list of references.
        **settings: settings of the metric. `idf` must be False (the default), "bundled" or a table.

    Raises:
        InputError: the metric or a setting is invalid. If a row has no such expectation, or its
            texts have the wrong type, MLflow reports the error as the row's feedback.
    """
    metric_scorer = load_sample_scorer(metric, settings)

    @scorer(name=metric)
    def score(outputs: object, expectations: object) -> list[Feedback]:
        if not isinstance(expectations, Mapping) or expectation not in expectations:
            raise InputError(
                f"expectations must contain {expectation!r}, got {expectations!r:.60}. Add it, or "
                "pass another name to make_scorer as expectation=NAME."
            )
        text = completion_text(outputs, "outputs")
        references = present_references(expectation, expectations[expectation])
        if not references:
            return []
        result = metric_scorer.score([text], [references])
        source = AssessmentSource(source_type="CODE", source_id=f"infolm {__version__}")
        values: dict[str, float | bool] = {metric: result[metric]}
        metadata = {"signature": result["signature"]}
        rationale = None
        if result.verdicts:
            verdict = result.verdicts[0]
            metadata["verdict"] = rationale = verdict or "none"
            if verdict is not None:
                values["likely_correct"] = verdict == LIKELY_CORRECT
        return [
            Feedback(name, value, source=source, rationale=rationale, metadata=metadata)
            for name, value in values.items()
        ]

    return score
