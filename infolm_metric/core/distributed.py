"""One evaluation on the ranks of `torch.distributed`: torchrun, accelerate launch, a Trainer.

Ranks exchange three things: what went wrong, the counts of documents, and the scores. All of them
are small; texts and readings stay where they are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import torch.distributed as dist

from infolm_metric.core.baselines import Baseline, most_frequent, resolve_baseline, stable_hash
from infolm_metric.core.checks import check_known
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs, as_list, check_pairs
from infolm_metric.core.results import Result, join_results, warn
from infolm_metric.core.scorer import Scorer, score_corpus
from infolm_metric.core.signature import Signature

Value = TypeVar("Value")


class Call(NamedTuple):
    """What a rank is to score, and how."""

    pairs: Pairs
    settings: Any
    baseline: Baseline | None = None
    verbose: bool = False


class _RankSummary(NamedTuple):
    """What a rank tells the others of its pairs before any is scored."""

    digest: str
    signature: Signature
    statistics: CorpusStatistics
    counts: Counter[int]
    """How many pairs have how many references."""


def distributed_score(
    scorer: Scorer,
    predictions: Any,
    references: Any,
    *,
    ranks: str = "share",
    gather: str = "all",
    group: dist.ProcessGroup | None = None,
    rescale_with_baseline: Any = False,
    **changed: Any,
) -> Result | None:
    """The result for the pairs of all ranks, each of which scores its part.

    Every rank of `group` must call it. Scores equal those of one process that holds all the pairs,
    and so does the signature. Without `torch.distributed` it is `scorer.score`. Ranks wait for the
    slowest; `torch.distributed` ends them all where that takes longer than the `timeout` that it
    was initialised with.

    Args:
        scorer: this rank's scorer.
        predictions: as for `Scorer.score`; empty on a rank that has none.
        references: likewise, as many.
        ranks: "share" (default): every rank was given pairs of its own, and the result holds those
            of rank 0, then those of rank 1, and so on; `accelerator.split_between_processes` and
            plain slices keep the order of a list. "same": every rank was given all the pairs, as
            a Trainer does, and the ranks divide the work.
        gather: "all" ranks get the result (default), or the "main" one, rank 0, and the others
            None.
        group: the ranks that take part (default: all).
        rescale_with_baseline: as for `Scorer.score`.
        **changed: override the scorer's own settings for this call; the same on all ranks.

    Returns:
        The result of the whole, or None on a rank that `gather` leaves out.

    Raises:
        TypeError, ValueError: an argument is wrong; found before a model is loaded.
        RuntimeError: another rank failed, which the message names; or `torch.distributed` is not
            initialised although this is one of several processes.

    >>> from infolm_metric import InfoLMScorer
    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> distributed_score(scorer, ["A cat sat."], ["A cat sat."]).scores
    {'fisher_rao_distance': [0.0]}
    """

    def call() -> Call:
        settings = scorer.settings.replace(**changed)
        baseline = resolve_baseline(settings.metric, rescale_with_baseline)
        return Call(check_rank_pairs(predictions, references), settings, baseline)

    result = score_on_ranks(scorer, call, ranks, gather, group)
    if result is not None:
        warn(result.counts, scorer.warning_messages)
    return result


def score_on_ranks(
    scorer: Scorer,
    call: Callable[[], Call],
    ranks: str = "share",
    gather: str = "all",
    group: dist.ProcessGroup | None = None,
) -> Result | None:
    """What `distributed_score` gives, for what `call` returns; all raise if it does on one rank."""
    check_known("ranks", ranks, ("share", "same"))
    check_known("gather", gather, ("all", "main"))
    if number_of_ranks(group) == 1:
        pairs, settings, baseline, verbose = call()
        if not len(pairs):
            raise ValueError("predictions and references are empty; give at least one pair")
        return score_corpus(scorer, pairs, settings, baseline, verbose)

    def count() -> tuple[Call, _RankSummary]:
        plan = call()
        texts = [plan.pairs.predictions, plan.pairs.references]
        digest = stable_hash(texts) if ranks == "same" else ""
        with scorer.lock:
            statistics = scorer.count(plan.pairs.texts_by_side, plan.settings)
            signature = scorer.signature(plan.settings)
        kind = "a list" if plan.settings.several else "one"
        signature = signature.with_fields({"scores asked for": kind, "rescaled": plan.baseline})
        counts = Counter(plan.pairs.counts)
        return plan, _RankSummary(digest, signature, statistics, counts)

    (pairs, settings, baseline, verbose), accounts = _run_on_all_ranks(count, group)
    _check_same_signature(accounts)
    if not any(account.counts for account in accounts):
        raise ValueError(
            "predictions and references are empty on every rank; give at least one pair"
        )
    if ranks == "same":
        rank, statistics, counts = dist.get_rank(group), accounts[0].statistics, accounts[0].counts
        pairs = pairs.part(*(len(pairs) * number // len(accounts) for number in (rank, rank + 1)))
    else:
        statistics = sum((account.statistics for account in accounts), CorpusStatistics())
        counts = sum((account.counts for account in accounts), Counter[int]())

    def score() -> tuple[None, Result | None]:
        with scorer.lock:
            scorer.baseline_stats(settings, statistics, baseline, counts if baseline else ())
            if not len(pairs):
                return None, None
            return None, scorer.score_part(pairs, settings, statistics, baseline, verbose)

    _, parts = _run_on_all_ranks(score, group)
    if gather == "main" and dist.get_rank(group):
        return None
    result = join_results([part for part in parts if part is not None])
    if baseline is None:
        return result
    stats = scorer.baseline_stats(settings, statistics, baseline, counts)
    return replace(result, baseline=most_frequent(stats, counts))


def check_rank_pairs(predictions: Any, references: Any) -> Pairs:
    """The checked pairs of a rank, possibly none.

    >>> len(check_rank_pairs([], [])), len(check_rank_pairs(["a cat"], ["the cat"]))
    (0, 1)
    """
    sides = {"predictions": predictions, "references": references}
    if not any(as_list(name, [] if side is None else side) for name, side in sides.items()):
        return Pairs([], [])
    return check_pairs(predictions, references)


def number_of_ranks(group: dist.ProcessGroup | None = None) -> int:
    """How many ranks score together; raises RuntimeError if there are others out of reach.

    >>> number_of_ranks()
    1
    """
    if dist.is_available() and dist.is_initialized():
        return dist.get_world_size(group)
    processes = os.environ.get("WORLD_SIZE", "1")  # set by torchrun and by accelerate launch
    if processes not in ("", "1"):
        raise RuntimeError(
            f"this is one of {processes} processes, but torch.distributed is not initialised, so "
            "they cannot exchange anything; make an accelerate.Accelerator, or call "
            "torch.distributed.init_process_group, first"
        )
    return 1


def _check_same_signature(accounts: list[_RankSummary]) -> None:
    """Raise ValueError unless all ranks sign their scores alike, and hold pairs as they said."""
    first = accounts[0]
    for rank, account in enumerate(accounts):
        if difference := first.signature.differences(account.signature):
            raise ValueError(
                f"rank {rank} would score otherwise than rank 0: {difference}; give all ranks the "
                "same settings, model and versions"
            )
        if account.digest != first.digest:
            raise ValueError(
                f'ranks="same" needs the same pairs on every rank, but those of rank {rank} '
                f"({account.counts.total()} pairs) differ from those of rank 0 "
                f'({first.counts.total()} pairs); use ranks="share" if each rank holds pairs of '
                "its own"
            )


def _run_on_all_ranks(
    step: Callable[[], tuple[Any, Value]], group: dist.ProcessGroup | None
) -> tuple[Any, list[Value]]:
    """What `step` gives on this rank alone, and what it gives all ranks of every one.

    Raises on all ranks if the step fails on one, so that none waits for another in vain.
    """
    failure: Exception | None = None
    try:
        local, value = step()
        message: tuple[Any, str] = (value, "")
    except Exception as error:
        failure, message = error, (None, f"{type(error).__name__}: {error}")
    messages: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(messages, message, group)
    if failure is not None:
        raise failure
    for rank, (_, problem) in enumerate(messages):
        if problem:
            raise RuntimeError(f"rank {rank} could not score its part: {problem}")
    return local, [value for value, _ in messages]
