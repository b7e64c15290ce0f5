"""One evaluation on the ranks of `torch.distributed`: torchrun, accelerate launch, a Trainer.

Ranks exchange three things: what went wrong, the counts of documents, and the scores. All of them
are small; texts and distributions stay where they are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import torch.distributed as dist

from infolm_metric.kernel.checks import check_known
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs, as_list, check_pairs
from infolm_metric.kernel.rescaling import check_baseline, known_baseline, score_part
from infolm_metric.kernel.results import Result, joined
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.settings import Settings
from infolm_metric.kernel.signatures import differences
from infolm_metric.kernel.unrelated_pairs import digest_of

HELD = ("share", "same")
GATHERED = ("all", "main")

Own = TypeVar("Own")
Told = TypeVar("Told")


class _Holding(NamedTuple):
    """What a rank tells of its pairs before any is scored."""

    pairs: int
    digest: str
    signature: str
    statistics: Statistics
    counts: Counter[int]
    """How many pairs have how many references."""


def distributed_score(
    scorer: MetricScorer,
    predictions: Any,
    references: Any,
    *,
    ranks: str = "share",
    gather: str = "all",
    group: dist.ProcessGroup | None = None,
    **settings: Any,
) -> Result | None:
    """The result for the pairs of all ranks, each of which scores its part.

    Every rank of `group` (default: all) must call it. Scores equal those of one process that holds
    all the pairs, and so does the signature. Without `torch.distributed` it is `scorer.score`.
    Ranks wait for the slowest; `torch.distributed` ends them all where that takes longer than the
    `timeout` that it was initialised with.

    Args:
        scorer: this rank's scorer.
        predictions: as for `MetricScorer.score`; empty on a rank that has none.
        references: likewise, as many.
        ranks: "share" (default): every rank was given pairs of its own, and the result holds those
            of rank 0, then those of rank 1, and so on; `accelerator.split_between_processes` and
            plain slices keep the order of a list. "same": every rank was given all the pairs, as
            a Trainer does, and the ranks divide the work.
        gather: "all" ranks get the result (default), or the "main" one, rank 0, and the others
            None.
        group: the ranks that take part (default: all).
        **settings: override the scorer's own for this call; the same on all ranks.

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

    def hold() -> tuple[Pairs, Settings]:
        return check_held(predictions, references), scorer.settings.replace(**settings)

    result = score_held(scorer, hold, ranks=ranks, gather=gather, group=group)
    if result is not None:
        result.remarks.warn()
    return result


def score_held(
    scorer: MetricScorer,
    hold: Callable[[], tuple[Pairs, Settings]],
    *,
    ranks: str = "share",
    gather: str = "all",
    group: dist.ProcessGroup | None = None,
) -> Result | None:
    """What `distributed_score` gives, for the pairs and the settings that `hold` returns.

    If `hold` raises on one rank, all ranks raise.
    """
    check_known("ranks", ranks, HELD)
    check_known("gather", gather, GATHERED)
    if number_of_ranks(group) == 1:
        pairs, settings = hold()
        return scorer.score_pairs(pairs, settings)
    inner = scorer.inner

    def count() -> tuple[tuple[Pairs, Settings], _Holding]:
        pairs, settings = hold()
        digest = digest_of([pairs.predictions, pairs.references]) if ranks == "same" else ""
        with scorer.lock:
            statistics, signature = inner.count(pairs, settings), inner.signature(settings)
        asked = "a list" if settings.several else "one"
        signature += f"|scores asked for:{asked}|rescaled:{settings.rescale_with_baseline}"
        counts = Counter(map(len, pairs.references))
        return (pairs, settings), _Holding(len(pairs), digest, signature, statistics, counts)

    (pairs, settings), held = _together(count, group)
    _check_alike(held)
    if not any(holding.pairs for holding in held):
        raise ValueError(
            "predictions and references are empty on every rank; give at least one pair"
        )
    if ranks == "same":
        rank, statistics, counts = dist.get_rank(group), held[0].statistics, held[0].counts
        own = pairs.part(*(len(pairs) * number // len(held) for number in (rank, rank + 1)))
    else:
        own, statistics = pairs, sum((each.statistics for each in held), Statistics())
        counts = sum((each.counts for each in held), Counter[int]())

    def score() -> tuple[None, Result | None]:
        with scorer.lock:
            check_baseline(inner, settings, statistics, counts)
            return None, score_part(inner, own, settings, statistics) if len(own) else None

    _, parts = _together(score, group)
    if gather == "main" and dist.get_rank(group):
        return None
    whole = joined([part for part in parts if part is not None])
    if whole.baseline is None:
        return whole
    return replace(whole, baseline=known_baseline(inner, settings, statistics, counts))


def _check_alike(held: list[_Holding]) -> None:
    """Raise ValueError unless all ranks sign their scores alike, and hold pairs as they said."""
    for rank, holding in enumerate(held):
        if difference := differences(held[0].signature, holding.signature):
            raise ValueError(
                f"rank {rank} would score otherwise than rank 0: {difference}; give all ranks the "
                "same settings, model and versions"
            )
        if holding.digest != held[0].digest:
            raise ValueError(
                f'ranks="same" needs the same pairs on every rank, but those of rank {rank} '
                f"({holding.pairs} pairs) differ from those of rank 0 ({held[0].pairs} pairs); "
                'use ranks="share" if each rank holds pairs of its own'
            )


def number_of_ranks(group: dist.ProcessGroup | None = None) -> int:
    """How many ranks score together; raises RuntimeError if there are others out of reach.

    >>> number_of_ranks()
    1
    """
    if dist.is_available() and dist.is_initialized():
        return dist.get_world_size(group)
    started = os.environ.get("WORLD_SIZE", "1")  # set by torchrun and by accelerate launch
    if started not in ("", "1"):
        raise RuntimeError(
            f"this is one of {started} processes, but torch.distributed is not initialised, so "
            "they cannot exchange anything; make an accelerate.Accelerator, or call "
            "torch.distributed.init_process_group, first"
        )
    return 1


def check_held(predictions: Any, references: Any) -> Pairs:
    """The checked pairs of a rank, possibly none.

    >>> len(check_held([], [])), len(check_held(["a cat"], ["the cat"]))
    (0, 1)
    """
    sides = {"predictions": predictions, "references": references}
    if not any(as_list(name, [] if side is None else side) for name, side in sides.items()):
        return Pairs([], [])
    return check_pairs(predictions, references)


def _together(
    step: Callable[[], tuple[Own, Told]], group: dist.ProcessGroup | None
) -> tuple[Own, list[Told]]:
    """What `step` gives on this rank alone, and what it gives all ranks of every one.

    Raises on all ranks if the step fails on one, so that none waits for another in vain.
    """
    failure: Exception | None = None
    try:
        own, told = step()
        message: tuple[Any, str] = (told, "")
    except Exception as error:
        failure, message = error, (None, f"{type(error).__name__}: {error}")
    messages: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(messages, message, group)
    if failure is not None:
        raise failure
    for rank, (_, problem) in enumerate(messages):
        if problem:
            raise RuntimeError(f"rank {rank} could not score its part: {problem}")
    return own, [value for value, _ in messages]
