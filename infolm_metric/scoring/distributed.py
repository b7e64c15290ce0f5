"""Scoring on several ranks of `torch.distributed` (torchrun, accelerate launch, a Trainer).

Ranks exchange signatures, hashes, document frequencies, counts, scores and error messages, but
neither corpora nor encodings.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

import torch.distributed as dist

from infolm_metric.core.baselines import Baseline, most_frequent, resolve_baseline, stable_hash
from infolm_metric.core.checks import InputError, check_known, warn_user
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs, check_pairs
from infolm_metric.core.results import Result, join_results, warn
from infolm_metric.core.signature import Signature
from infolm_metric.scoring.scorer import Run, S, Scorer

Local = TypeVar("Local")
Value = TypeVar("Value")


class Call(NamedTuple, Generic[S]):
    """Pairs that a rank scores, with the settings and options."""

    pairs: Pairs
    settings: S
    baseline: Baseline | None = None
    verbose: bool = False


class _RankSummary(NamedTuple):
    """Data that ranks exchange before scoring."""

    digest: str
    signature: Signature
    statistics: CorpusStatistics
    # Number of pairs by number of references.
    counts: Counter[int]


def distributed_score(
    scorer: Scorer[S],
    predictions: object,
    references: object = None,
    *,
    ranks: str = "share",
    gather: str = "all",
    group: dist.ProcessGroup | None = None,
    rescale_with_baseline: object = False,
    **changed: object,
) -> Result | None:
    """Score pairs on all ranks and return the result for the whole corpus.

    Every rank of `group` (default: all ranks) must call this function with the same settings. Other
    arguments are as in `Scorer.score`, without `verbose`. The result is the same as when a single
    process scores all pairs. Without `torch.distributed`, the function is equivalent to
    `scorer.score`. Each rank waits for the slowest rank, up to the `timeout` with which
    `torch.distributed` was initialized.

    With `ranks="share"` (default), each rank passes different pairs, possibly none. The result
    contains the pairs in the order of the ranks, so a list that was divided into contiguous slices,
    as by `accelerator.split_between_processes`, keeps its order. With `ranks="same"`, each rank
    passes all pairs (as in a Trainer), and the ranks divide the work.

    With `gather="all"` (default), every rank returns the result. With `gather="main"`, only rank 0
    returns it, and the other ranks return None.

    Raises:
        InputError: an argument is invalid (checked before loading the model).
        OSError: the model cannot be found.
        RuntimeError: another rank failed (the message names it), or there are several processes
            but `torch.distributed` is not initialized.

    >>> from infolm_metric import InfoLMScorer
    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> distributed_score(scorer, ["A cat sat."], ["A cat sat."]).scores
    {'fisher_rao_distance': [0.0]}
    """

    def call() -> Call[S]:
        settings = scorer.settings.replace(**changed)
        baseline = resolve_baseline(settings.metric, rescale_with_baseline)
        return Call(check_pairs(predictions, references, allow_empty=True), settings, baseline)

    result = score_on_ranks(scorer, call, ranks, gather, group)
    if result is not None:
        warn(result.counts)
    return result


def score_on_ranks(
    scorer: Scorer[S],
    call: Callable[[], Call[S]],
    ranks: str | None = "share",
    gather: str = "all",
    group: dist.ProcessGroup | None = None,
) -> Result | None:
    """Score the pairs that `call` returns. If one rank fails, raise an error on all ranks.

    If `ranks` is None, this process scores its pairs alone.
    """
    check_known("ranks", ranks or "share", ("share", "same"))
    check_known("gather", gather, ("all", "main"))
    if ranks is None or number_of_ranks(group) == 1:
        pairs, settings, baseline, verbose = call()
        if not len(pairs):
            raise InputError("predictions and references are empty. Pass at least one pair.")
        return scorer.prepare(settings, pairs.texts_by_side, baseline).score(pairs, verbose)

    def count() -> tuple[tuple[Run[S], Pairs, bool], _RankSummary]:
        pairs, settings, baseline, verbose = call()
        digest = stable_hash([pairs.predictions, pairs.references])
        run = scorer.prepare(settings, baseline=baseline)
        kind = "a list" if settings.several else "one name"
        signature = run.signature.with_fields({"requested scores": kind})
        statistics, counts = run.count(pairs.texts_by_side), Counter(pairs.counts)
        return (run, pairs, verbose), _RankSummary(digest, signature, statistics, counts)

    (run, pairs, verbose), summaries = _run_on_all_ranks(count, group)
    _check_summaries(summaries, ranks)
    if ranks == "same":
        edges = [len(pairs) * rank // len(summaries) for rank in range(len(summaries) + 1)]
        rank, summaries = dist.get_rank(group), summaries[:1]
        pairs = pairs.part(edges[rank], edges[rank + 1])
    counts = sum((summary.counts for summary in summaries), Counter[int]())
    statistics = sum((summary.statistics for summary in summaries), CorpusStatistics())
    run = run.with_statistics(statistics)

    def score() -> tuple[Any, Result | None]:
        stats = run.unrelated(counts) if run.baseline else None
        return stats, run.score(pairs, verbose) if len(pairs) else None

    stats, parts = _run_on_all_ranks(score, group)
    if gather == "main" and dist.get_rank(group):
        return None
    result = join_results([part for part in parts if part is not None])
    return replace(result, baseline=most_frequent(stats, counts)) if stats else result


def number_of_ranks(group: dist.ProcessGroup | None = None) -> int:
    """Return the number of ranks, 1 without `torch.distributed`.

    Raises RuntimeError if there are several processes (WORLD_SIZE), but `torch.distributed` is not
    initialized.

    >>> number_of_ranks()
    1
    """
    if dist.is_available() and dist.is_initialized():
        return dist.get_world_size(group)
    processes = os.environ.get("WORLD_SIZE", "1")  # set by torchrun and by accelerate launch
    if processes not in ("", "1"):
        raise RuntimeError(
            f"there are {processes} processes (WORLD_SIZE), but torch.distributed is not "
            "initialized. Call torch.distributed.init_process_group or use accelerate."
        )
    return 1


def _check_summaries(summaries: list[_RankSummary], ranks: str) -> None:
    """Check that ranks have equal signatures and, with ranks="same", equal pairs.

    Raise InputError if all ranks are empty. With ranks="share", warn if all ranks have equal pairs.
    """
    first, last = summaries[0], len(summaries) - 1
    same = [summary.digest == first.digest for summary in summaries]
    for rank, summary in enumerate(summaries):
        if difference := first.signature.differences(summary.signature):
            raise InputError(
                f"rank {rank} would score differently from rank 0: {difference}. Use the "
                "same settings, model and package versions on all ranks."
            )
        if ranks == "same" and not same[rank]:
            raise InputError(
                f'ranks="same" needs the same pairs on every rank, but the pairs on rank {rank} '
                f"({summary.counts.total()} in total) differ from the pairs on rank 0 "
                f'({first.counts.total()} in total). Use ranks="share" for different pairs.'
            )
    if not any(summary.counts for summary in summaries):
        raise InputError("predictions and references are empty on every rank. Pass a pair.")
    if ranks == "share" and all(same):
        warn_user(
            f"ranks 0 to {last} have equal pairs ({first.counts.total()}), and every rank's pairs "
            'are counted. If each rank has all pairs, as after gathering, use ranks="same", '
            "or, in torchmetrics, give each rank different texts."
        )


def _run_on_all_ranks(
    step: Callable[[], tuple[Local, Value]], group: dist.ProcessGroup | None
) -> tuple[Local, list[Value]]:
    """Run `step` on every rank. Return its local value, and the shared values of all ranks.

    If the step fails on one rank, all ranks raise an error, so that no rank waits forever.
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
