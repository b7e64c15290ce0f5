"""Scores on every rank of torchrun, in many ways, and writes down what each rank got.

    torchrun --nproc-per-node 2 score_on_ranks.py MODEL CASES.json FOLDER

Each case holds the shares of the ranks, whether the metric or the scorer is called, and with what;
and whose they are, if not InfoLM's.
"""

import json
import sys
from pathlib import Path

import torch.distributed as dist

from infolm_metric import MENLI, BaryScore, BaryScorer, InfoLM, InfoLMScorer, MENLIScorer
from infolm_metric.core.distributed import distributed_score
from tests.toy import Toy, ToyScorer

KINDS = {
    "infolm": (InfoLM, InfoLMScorer),
    "baryscore": (BaryScore, BaryScorer),
    "menli": (MENLI, MENLIScorer),
    "toy": (Toy, ToyScorer),
}


def outcome(call):
    """What the call returns, or the error it raises, as JSON can hold it."""
    try:
        result = call()
    except (ValueError, TypeError, RuntimeError, OSError) as error:
        return {"error": type(error).__name__, "message": str(error)}
    return None if result is None else dict(result)


def run(case, model):
    """The outcome of one case on this rank."""
    rank = dist.get_rank()
    predictions, references = case["shares"][rank]
    name = case.get("of", "infolm")
    metric_type, scorer_type = KINDS[name]
    settings = {
        **({"model_name_or_path": model} if name != "toy" else {}),
        **case.get("settings", {}),
        **case.get("on_rank", {}).get(str(rank), {}),
    }
    if settings.get("combine_with"):  # which JSON cannot hold
        settings["combine_with"] = InfoLMScorer(model_name_or_path=model).settings
    ways = {**case.get("ways", {}), **case.get("arguments_on_rank", {}).get(str(rank), {})}
    if case["call"] == "scorer":
        scorer = scorer_type(**settings)
        return outcome(lambda: distributed_score(scorer, predictions, references, **ways))
    metric = metric_type(**settings)
    if case.get("add_batch") and predictions:
        metric.add_batch(predictions=predictions, references=references)
        predictions = references = None
    return outcome(lambda: metric.compute(predictions=predictions, references=references, **ways))


def main():
    model, cases, folder = sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), sys.argv[3]
    dist.init_process_group("gloo")
    outcomes = {name: run(case, model) for name, case in cases.items()}
    Path(folder, f"rank-{dist.get_rank()}.json").write_text(json.dumps(outcomes))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
