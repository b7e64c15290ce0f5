"""One evaluation on the ranks of `torch.distributed`: torchrun, accelerate launch, a Trainer.

Ranks exchange three things: what went wrong, the counts of documents, and the scores. All of them
are small; texts and distributions stay where they are.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import torch.distributed as dist

from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.infolm.settings import Settings, nearest
from infolm_metric.kernel.idf import statistics as portions
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.pairs import Pairs, as_list, check_pairs
from infolm_metric.kernel.results import Result

HELD = ("share", "same")
GATHERED = ("all", "main")

Own = TypeVar("Own")
Told = TypeVar("Told")


class _Holding(NamedTuple):
    """What a rank tells of its pairs before any is scored."""

    pairs: int
    digest: str
    tables: dict[str, IDF]


def distributed_score(
    scorer: InfoLMScorer,
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

    Args:
        scorer: this rank's scorer; `settings` override its own for this call, and must be the same
            on all ranks.
        predictions, references: as for `InfoLMScorer.score`; empty on a rank that has none.
        ranks: "share" (default): every rank was given pairs of its own, and the result holds those
            of rank 0, then those of rank 1, and so on; `accelerator.split_between_processes` and
            plain slices keep the order of a list. "same": every rank was given all the pairs, as
            a Trainer does, and the ranks divide the work.
        gather: "all" ranks get the result (default), or the "main" one, rank 0, and the others
            None.

    Raises:
        TypeError, ValueError: an argument is wrong; found before a model is loaded.
        RuntimeError: another rank failed, which the message names; or `torch.distributed` is not
            initialised although this is one of several processes.

    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> distributed_score(scorer, ["A cat sat."], ["A cat sat."]).scores
    {'fisher_rao_distance': [0.0]}
    """

    def hold() -> tuple[Pairs, Settings]:
        return check_held(predictions, references), scorer.settings.replace(**settings)

    return score_held(scorer, hold, ranks=ranks, gather=gather, group=group)


def score_held(
    scorer: InfoLMScorer,
    hold: Callable[[], tuple[Pairs, Settings]],
    *,
    ranks: str = "share",
    gather: str = "all",
    group: dist.ProcessGroup | None = None,
) -> Result | None:
    """What `distributed_score` gives, for the pairs and the settings that `hold` returns.

    If `hold` raises on one rank, all ranks raise.
    """
    check_choices(ranks, gather)
    if number_of_ranks(group) == 1:
        pairs, settings = hold()
        return scorer.score(pairs.predictions, pairs.references, **vars(settings))

    def count() -> tuple[Pairs, Settings, _Holding]:
        pairs, settings = hold()
        digest = _digest(pairs) if ranks == "same" else ""
        return pairs, settings, _Holding(len(pairs), digest, portions.count(pairs, settings))

    (pairs, settings, _), held = _together(count, lambda counted: counted[2], group)
    if not any(holding.pairs for holding in held):
        raise ValueError(
            "predictions and references are empty on every rank; give at least one pair"
        )
    if ranks == "same":
        own, tables = _part(pairs, held, dist.get_rank(group)), held[0].tables
    else:
        own, tables = pairs, portions.add(holding.tables for holding in held)

    def score() -> Result | None:
        return portions.score(scorer, own, tables, settings) if own else None

    _, parts = _together(score, lambda result: result, group)
    if gather == "main" and dist.get_rank(group):
        return None
    return _joined([part for part in parts if part is not None])


def check_choices(ranks: str, gather: str) -> None:
    """Nothing; raises ValueError if a word is none of those known.

    >>> check_choices("shared", "all")
    Traceback (most recent call last):
    ValueError: unknown ranks 'shared'; did you mean 'share'?
    """
    for name, value, known in (("ranks", ranks, HELD), ("gather", gather, GATHERED)):
        if value not in known:
            raise ValueError(f"unknown {name} {value!r}; {nearest(value, known)}")


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


def _digest(pairs: Pairs) -> str:
    """What tells pairs from others: a hash of them."""
    return hashlib.sha256(json.dumps([pairs.predictions, pairs.references]).encode()).hexdigest()


def _part(pairs: Pairs, held: list[_Holding], rank: int) -> Pairs:
    """The pairs that this rank scores of those that all hold; raises ValueError if they differ."""
    for other, holding in enumerate(held):
        if holding.digest != held[0].digest:
            raise ValueError(
                f'ranks="same" needs the same pairs on every rank, but those of rank {other} '
                f"({holding.pairs} pairs) differ from those of rank 0 ({held[0].pairs} pairs); "
                'use ranks="share" if each rank holds pairs of its own'
            )
    edges = [len(pairs) * number // len(held) for number in (rank, rank + 1)]
    return Pairs(pairs.predictions[slice(*edges)], pairs.references[slice(*edges)], pairs.several)


def _together(
    step: Callable[[], Own], told: Callable[[Own], Told], group: dist.ProcessGroup | None
) -> tuple[Own, list[Told]]:
    """What `step` gives on this rank, and what every rank tells of it.

    Raises on all ranks if the step fails on one, so that none waits for another in vain.
    """
    failure: Exception | None = None
    try:
        own = step()
        message: tuple[Any, str] = (told(own), "")
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


def _joined(parts: list[Result]) -> Result:
    """The results of consecutive portions as one."""
    first = parts[0]
    similarities = None
    if first.similarities is not None:
        similarities = _columns([part.similarities or {} for part in parts])
    scores = _columns([part.scores for part in parts])
    return Result(scores, first.signature, first.several, similarities)


def _columns(parts: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}
