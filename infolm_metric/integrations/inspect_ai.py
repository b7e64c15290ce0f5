"""Scorers for Inspect, which finds this module through an entry point.

Each sample is scored as soon as it is finished, so IDF cannot be estimated from all samples: `idf`
must be False (the default here), "bundled" or the path to a table. The settings are fields of
`InfoLMSettings`, `BaryScoreSettings`, `BERTScoreSettings`, `MENLISettings` or
`AnswerCheckSettings`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from infolm_metric.integrations import load_sample_scorer, present_references, require
from infolm_metric.metrics import find

with require("inspect-ai"):
    import anyio.to_thread
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState


def metric_scorer(name: str) -> Callable[..., Scorer]:
    """Return the function with which a task or `inspect score` creates a metric's scorer.

    Inspect excludes samples with the score NaN from means.
    """

    def create(**settings: object) -> Scorer:
        metric = load_sample_scorer(name, settings)

        async def score(state: TaskState, target: Target) -> Score:
            """Run the metric in a thread. A sample without a target gets NaN."""
            output = state.output.completion
            references = present_references("target", target)
            if not references:
                reason = f"sample {state.sample_id!r} has no target, which {name} requires"
                return Score(value=math.nan, answer=output, explanation=reason)
            result = await anyio.to_thread.run_sync(metric.score, [output], [references])
            metadata = {"signature": result["signature"]}
            if result.verdicts:
                metadata["verdict"] = result.verdicts[0]  # None if it is withheld
            return Score(value=result[name], answer=output, metadata=metadata)

        return score

    better = "Higher" if find(name).scorer_type().higher_is_better else "Lower"
    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"Score outputs against targets with {name}. {better} is better."
    return scorer(metrics=[mean(), stderr()])(create)


infolm = metric_scorer("infolm")
baryscore = metric_scorer("baryscore")
bertscore = metric_scorer("bertscore")
menli = metric_scorer("menli")
answer_check = metric_scorer("answer_check")
