"""Score cases on every rank of torchrun and write the outcomes of each rank.

    torchrun --nproc-per-node 2 score_on_ranks.py CASES.pickle FOLDER

Each case has the pairs of every rank, the function to call, its options and the metric (InfoLM by
default). Environment variables name the models.
"""

import pickle
import sys
import warnings
from pathlib import Path

import torch.distributed as dist

from infolm_metric import (
    MENLI,
    AnswerCheck,
    AnswerCheckScorer,
    BaryScore,
    BaryScorer,
    BERTScore,
    BERTScorer,
    InfoLM,
    InfoLMScorer,
    InputError,
    MENLIScorer,
)
from infolm_metric.integrations import torchmetrics
from infolm_metric.scoring.distributed import distributed_score
from tests.toy import ToyScorer
from tests.toy_module import Toy

METRIC_TYPES = {
    "infolm": (InfoLM, InfoLMScorer),
    "baryscore": (BaryScore, BaryScorer),
    "bertscore": (BERTScore, BERTScorer),
    "menli": (MENLI, MENLIScorer),
    "answer_check": (AnswerCheck, AnswerCheckScorer),
    "toy": (Toy, ToyScorer),
}


def outcome(case, rank):
    """Return the result of a case on this rank, or the error that it raises."""
    metric_type, scorer_type = METRIC_TYPES[case.get("metric", "infolm")]
    settings = {**case.get("settings", {}), **case.get("on_rank", {}).get(rank, {})}
    options = {**case.get("options", {}), **case.get("options_on_rank", {}).get(rank, {})}
    pairs = dict(zip(("predictions", "references"), case["shares"][rank], strict=True))
    try:
        if case.get("call", "scorer") == "scorer":
            result = distributed_score(scorer_type(**settings), *pairs.values(), **options)
            return result and result.as_dict()
        if case["call"] == "warnings":
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                distributed_score(scorer_type(**settings), *pairs.values(), **options)
            return [str(warning.message) for warning in caught]
        if case["call"] == "torchmetrics":
            return by_torchmetrics(*pairs.values())
        metric = metric_type(**settings)
        if case["call"] == "added" and pairs["predictions"]:
            metric.add_batch(**pairs)
            pairs = {}
        return metric.compute(**pairs, **options)
    except (InputError, RuntimeError, OSError) as error:
        return error


def by_torchmetrics(predictions, references):
    """Return the scores of two epochs: all pairs in batches of two, and the first two pairs."""
    metric, scores = torchmetrics.InfoLM(), []
    for stop in (len(predictions), 2):
        for start in range(0, min(stop, len(predictions)), 2):
            metric.update(*(side[start : start + 2] for side in (predictions, references)))
        if not predictions:  # scoring an empty batch must not wait for the other ranks
            metric([], [])
        scores.append(metric.compute().item())
        metric.reset()
    return scores


def main(cases, folder):
    dist.init_process_group("gloo")
    rank, cases = dist.get_rank(), pickle.loads(Path(cases).read_bytes())
    outcomes = {name: outcome(case, rank) for name, case in cases.items()}
    Path(folder, f"rank-{rank}.pickle").write_bytes(pickle.dumps(outcomes))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
