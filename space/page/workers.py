"""Workers: threads with their own scorers, which run one job at a time.

Long texts and files have their own workers, so that short requests never wait for them. Models,
tokenizers and caches belong to one worker, because they are not thread-safe.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from infolm_metric.metrics import METRICS

from .settings import SCORERS

# Cache of encoded texts per model.
REUSE_BYTES = 1 << 28


class Worker:
    """A thread that runs jobs in the order of submission. Jobs are functions of the worker."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.scorer = functools.cache(self._load)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a job and return its result."""
        return self.pool.submit(function, self, *arguments).result()

    def _load(self, metric: str, model: str) -> Any:
        """Return a scorer. Its model is loaded on first use."""
        scorer = SCORERS[metric](model_name_or_path=model, reuse_memory=REUSE_BYTES)
        if shared := METRICS[metric].shares:
            scorer.models = self.scorer(shared, model).models
        return scorer


SHORT, LONG, FILES = Worker(), Worker(), Worker()


def token_counts(worker: Worker, texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text, including special tokens."""
    tokenizer = worker.scorer("infolm", "bundled").tokenizer
    return [len(ids) for ids in tokenizer(list(texts), verbose=False)["input_ids"]]
