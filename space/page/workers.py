"""Workers: threads with their own scorers, which run one job at a time.

Long texts and files have their own workers, so that short requests never wait for them. Models,
tokenizers and caches belong to one worker, because they are not thread-safe.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import torch

from infolm_metric.infolm.masked_lm import MaskedLM
from infolm_metric.metrics import METRICS
from infolm_metric.models.checkpoints import ModelHolder

from .settings import SCORERS

# Cache of encoded texts per model. The logits of a text, which changed settings reuse, have up to
# 24 MB with masks.
REUSE_BYTES = 1 << 28
STEP_SECONDS = 0.25  # between two reports of a job


@dataclass
class Job:
    """Progress of a job, and whether its visitor has left."""

    positions: int = 0  # masked positions that have been encoded
    abandoned: bool = False


@dataclass(frozen=True)
class ReportingLM(MaskedLM):
    """Masked language model that reports the number of positions of each batch."""

    report: Callable[[int], None] = field(kw_only=True)

    def logits(
        self, ids: Sequence[torch.Tensor], positions: Sequence[torch.Tensor]
    ) -> Iterator[torch.Tensor]:
        for part in super().logits(ids, positions):
            self.report(len(part))
            yield part


class Worker:
    """A thread that calls the submitted functions in order, with the worker as first argument."""

    def __init__(self) -> None:
        self.pool, self.job = ThreadPoolExecutor(1), Job()
        self.scorer = functools.cache(self._load)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a job and return its result."""
        *_, result = self.follow(1, function, *arguments)
        return result

    def follow(self, total: int, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Yield the fraction of a job that is done, and finally its result.

        `total` is the number of masked positions of the whole job. Closing the iterator cancels a
        waiting job, or stops a running InfoLM job at the next batch. Other running jobs report 0
        and cannot be stopped.
        """
        job = Job()

        def work() -> Any:
            self.job = job
            return function(self, *arguments)

        future = self.pool.submit(work)
        try:
            while wait([future], STEP_SECONDS).not_done:
                yield min(1.0, job.positions / total)
            yield future.result()
        finally:
            job.abandoned = True
            future.cancel()

    def _report(self, positions: int) -> None:
        self.job.positions += positions
        if self.job.abandoned:
            raise CancelledError

    def _load(self, metric: str, model: str) -> Any:
        """Return a scorer. Its model is loaded on first use."""
        scorer = SCORERS[metric](model_name_or_path=model, reuse_memory=REUSE_BYTES)
        if metric == "infolm":
            scorer.keep_logits, load = True, scorer.load
            scorer.models = ModelHolder(
                scorer.open, lambda *x: ReportingLM(**vars(load(*x)), report=self._report)
            )
        elif shared := METRICS[metric].shares:
            scorer.models = self.scorer(shared, model).models
        return scorer


SHORT, LONG, FILES = Worker(), Worker(), Worker()


def token_counts(worker: Worker, texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text, including special tokens."""
    tokenizer = worker.scorer("infolm", "bundled").tokenizer
    return [len(ids) for ids in tokenizer(list(texts), verbose=False)["input_ids"]]
