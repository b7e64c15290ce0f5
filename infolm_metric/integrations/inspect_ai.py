"""Scorers for Inspect, which finds this module through an entry point.

Each sample is scored as soon as it is finished, so IDF cannot be estimated from all samples: `idf`
must be False, "bundled" or the path to a table. The settings are fields of `InfoLMSettings`,
`BaryScoreSettings`, `BERTScoreSettings` or `MENLISettings`.
"""

from __future__ import annotations

import math
from typing import Any

from infolm_metric.core.checks import InputError
from infolm_metric.core.settings import field_types
from infolm_metric.integrations import check_one_score, present_references, require
from infolm_metric.metrics import find

with require("inspect-ai"):
    import anyio.to_thread
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState


@scorer(metrics=[mean(), stderr()])
def infolm(**settings: Any) -> Scorer:
    """Score outputs against targets with InfoLM. Lower is better."""
    return sample_scorer("infolm", settings)


@scorer(metrics=[mean(), stderr()])
def baryscore(**settings: Any) -> Scorer:
    """Score outputs against targets with BaryScore. Lower is better."""
    return sample_scorer("baryscore", settings)


@scorer(metrics=[mean(), stderr()])
def bertscore(**settings: Any) -> Scorer:
    """Score outputs against targets with BERTScore. Higher is better."""
    return sample_scorer("bertscore", settings)


@scorer(metrics=[mean(), stderr()])
def menli(**settings: Any) -> Scorer:
    """Score outputs against targets with MENLI. Higher is better."""
    return sample_scorer("menli", settings)


def sample_scorer(name: str, settings: dict[str, Any]) -> Scorer:
    """Return an Inspect scorer that runs a metric in a thread.

    Samples without a target get the score NaN, which Inspect excludes from means.
    """
    metric = find(name)
    defaults = {"idf": False} if "idf" in field_types(metric.settings_type()) else {}
    metric_scorer = metric.scorer_type()(**defaults | settings)
    check_one_score(metric_scorer.settings)
    if metric_scorer.settings.idf_sides:
        raise InputError(
            "idf must be False, 'bundled' or the path to a table, because samples are scored one "
            f"at a time, got {metric_scorer.settings.idf_sides[0]!r}"
        )

    async def score(state: TaskState, target: Target) -> Score:
        output = state.output.completion
        references = present_references("target", target)
        if not references:
            reason = f"sample {state.sample_id!r} has no target, which {name} requires"
            return Score(value=math.nan, answer=output, explanation=reason)
        result = await anyio.to_thread.run_sync(metric_scorer.score, [output], [references])
        return Score(value=result[name], answer=output, metadata={"signature": result["signature"]})

    return score
