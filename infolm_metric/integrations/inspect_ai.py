"""Scorers for Inspect, which finds this module through an entry point.

Each sample is scored as soon as it is finished, so IDF cannot be estimated from all samples: `idf`
must be False, "bundled" or the path to a table. The settings are fields of `InfoLMSettings`,
`BaryScoreSettings`, `BERTScoreSettings`, `MENLISettings` or `AnswerCheckSettings`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from infolm_metric.integrations import load_sample_scorer, present_references, require

with require("inspect-ai"):
    import anyio.to_thread
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState


@scorer(metrics=[mean(), stderr()])
def infolm(**settings: object) -> Scorer:
    """Score outputs against targets with InfoLM. Lower is better."""
    return sample_scorer("infolm", settings)


@scorer(metrics=[mean(), stderr()])
def baryscore(**settings: object) -> Scorer:
    """Score outputs against targets with BaryScore. Lower is better."""
    return sample_scorer("baryscore", settings)


@scorer(metrics=[mean(), stderr()])
def bertscore(**settings: object) -> Scorer:
    """Score outputs against targets with BERTScore. Higher is better."""
    return sample_scorer("bertscore", settings)


@scorer(metrics=[mean(), stderr()])
def menli(**settings: object) -> Scorer:
    """Score outputs against targets with MENLI. Higher is better."""
    return sample_scorer("menli", settings)


@scorer(metrics=[mean(), stderr()])
def answer_check(**settings: object) -> Scorer:
    """Check answers against reference answers, with the verdict in the metadata of each sample."""
    return sample_scorer("answer_check", settings)


def sample_scorer(name: str, settings: Mapping[str, object]) -> Scorer:
    """Return an Inspect scorer that runs a metric in a thread.

    Samples without a target get the score NaN, which Inspect excludes from means.
    """
    metric_scorer = load_sample_scorer(name, settings)

    async def score(state: TaskState, target: Target) -> Score:
        output = state.output.completion
        references = present_references("target", target)
        if not references:
            reason = f"sample {state.sample_id!r} has no target, which {name} requires"
            return Score(value=math.nan, answer=output, explanation=reason)
        result = await anyio.to_thread.run_sync(metric_scorer.score, [output], [references])
        metadata = {"signature": result["signature"]}
        if result.verdicts:
            metadata["verdict"] = result.verdicts[0]  # None if it is withheld
        return Score(value=result[name], answer=output, metadata=metadata)

    return score
