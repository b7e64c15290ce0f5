"""Scoring: one pair with explanations, by one metric or all metrics, or many pairs in parts."""

from __future__ import annotations

import functools
import statistics
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import gradio as gr
import torch

from infolm_metric.core.baselines import BaselineStats, LengthBin, most_frequent
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, check_pairs, is_blank
from infolm_metric.core.results import Result, is_reliable, join_results, verdict_obstacles
from infolm_metric.metrics import METRICS, fastest_first
from infolm_metric.models.checkpoints import ModelHolder
from infolm_metric.models.hidden_states import Encoder
from infolm_metric.scoring.scorer import Run

from . import limits
from .appearance import View, shorten
from .fair_lock import FairLock
from .settings import SCORERS, check_settings, divide_settings

# Modules that explain scores, by metric.
VIEWS: dict[str, Any] = {
    metric: import_module(f".{metric}_view", __package__) for metric in SCORERS
}
# Lock that is held while a model is loaded or used, because tokenizers are not thread-safe.
LOCK = FairLock()
REUSE_BYTES = 1 << 28  # cache of encoded texts, per model
KEPT_BATCHES = 4  # number of batches whose states a SharedEncoder keeps
EXPECTED_ERRORS = (InputError, OSError)  # invalid input. Other errors are bugs.


def refusal(error: BaseException) -> gr.Error:
    """Return the error that the API reports for an invalid request."""
    return gr.Error(shorten(str(error)), print_exception=False)


@dataclass(frozen=True)
class Answer:
    """Score of a candidate against its references, with an explanation computed on first use.

    LOCK must be held on first use. Otherwise, two visitors could wait for each other, because
    `functools.cached_property` has its own lock in Python 3.11, shared by all instances.
    """

    metric: str
    settings: dict[str, Any]
    candidate: str
    references: list[str]
    run: Run[Any]
    result: Result
    baseline: BaselineStats | None  # None if not available, or if it does not apply to the texts
    readable: bool  # False if the score is not meaningful, e.g. for out-of-domain texts
    options: dict[str, Any]  # settings, with token weights estimated from all references

    @functools.cached_property
    def closest(self) -> int:
        """Index of the explained reference."""
        candidates = [self.candidate] * len(self.references)
        result = self.run.scorer.score(candidates, self.references, **self.options)
        # The denial of a reference also lowers the verdicts on similar references.
        verdicts = enumerate(result.verdicts)
        same = [i for i, verdict in verdicts if verdict == self.result.verdicts[0]]
        best = max if self.run.scorer.higher_is_better else min
        return best(same or range(len(candidates)), key=result["scores"].__getitem__)

    @functools.cached_property
    def view(self) -> View:
        """Explanation of the score against the closest reference, as data and as HTML."""
        texts = self.candidate, self.references[self.closest]
        view: View = VIEWS[self.metric].explain(self.run.scorer, *texts, self.options)
        return view

    @functools.cached_property
    def special(self) -> tuple[str, str]:
        """Verdict that replaces the verdict relative to unrelated texts, or "", and its reason."""
        find_verdict = getattr(VIEWS[self.metric], "verdict", None)
        return find_verdict(self) if find_verdict else ("", "")

    @property
    def score(self) -> float:
        """Score of the candidate."""
        return float(self.result[self.metric])

    @functools.cached_property
    def tokens(self) -> int:
        """Number of tokens of the shortest text."""
        return self.run.pair_tokens(Pairs([self.candidate], [self.references]))[0]

    @property
    def unrelated(self) -> LengthBin | None:
        """Scores of unrelated texts of the same length."""
        return self.baseline and self.baseline.at(self.tokens)

    @property
    def identical(self) -> bool:
        """True if both texts have the same token ids."""
        return self.result.counts["identical"] > 0

    @property
    def best(self) -> float:
        """Best possible score."""
        return self.run.scorer.best(self.run.settings, *self.run.settings.names)

    @property
    def verdict(self) -> str:
        """Verdict on the score, relative to unrelated texts if possible."""
        if not self.readable:
            return "This score is not meaningful"
        if self.identical:
            return "Same score as an identical text"
        if self.special[0] or self.baseline is None:
            return self.special[0] or "No verdict"
        words = self.baseline.verdict(self.score, self.best, tokens=self.tokens)
        return f"{words.capitalize()} unrelated texts"

    def as_dict(self) -> dict[str, Any]:
        """Return the API's answer."""
        result, unrelated = self.result, self.unrelated and vars(self.unrelated)
        with LOCK:
            explained, (why, _) = self.closest, self.view
            verdict: str | None = self.verdict
        if result.verdicts:  # as in the package, in lower case or None
            verdict = result.verdicts[0] if self.readable else None
        values: dict[str, Any] = {"metric": self.metric, "score": self.score, "verdict": verdict}
        values |= {name: result[name] for name in ("higher_is_better", "warnings", "signature")}
        return values | {"unrelated": unrelated, "explained_reference": explained, "why": why}


@dataclass(frozen=True)
class SharedEncoder(Encoder):
    """Encoder that encodes a batch once for metrics that use different layers."""

    kept: dict[Any, list[torch.Tensor]] = field(default_factory=dict)  # by batch, oldest first

    def states(self, ids: Sequence[torch.Tensor], layers: Sequence[int]) -> list[torch.Tensor]:
        key = tuple(tuple(map(tuple, group.tolist())) for group in ids)
        if key not in self.kept:
            self.kept[key] = super().states(ids, range(self.checkpoint.states or 0))
        while len(self.kept) > KEPT_BATCHES:
            del self.kept[next(iter(self.kept))]
        return [self.kept[key][layer] for layer in layers]


@functools.cache
def load_scorer(metric: str, model: str) -> Any:
    """Return the scorer that all visitors share. The caller must hold LOCK."""
    scorer = SCORERS[metric](model_name_or_path=model, reuse_memory=REUSE_BYTES)
    scorer.keep_logits = True  # InfoLM's explanations need the logits
    if shared := METRICS[metric].shares:
        scorer.models = load_scorer(shared, model).models
    elif metric == "baryscore":
        load = scorer.load
        scorer.models = ModelHolder(scorer.open, lambda *x: SharedEncoder(**vars(load(*x))))
    return scorer


def token_counts(texts: Sequence[str], model: str) -> list[int]:
    """Return the number of tokens of each text, including special tokens."""
    with LOCK:
        tokenizer = load_scorer("infolm", model).tokenizer
        return [len(ids) for ids in tokenizer(list(texts), verbose=False)["input_ids"]]


def check_texts(candidate: Any, references: Any) -> tuple[Pairs, list[int]]:
    """Check a candidate and its references, and return them with their numbers of tokens."""
    if not isinstance(references, list):
        raise InputError(f"references must be a list of strings, got {type(references).__name__}")
    pairs = check_pairs([candidate], [references])
    limits.check_group("the input", candidate, references)
    texts = [candidate, *pairs.references[0]]
    if any(map(is_blank, texts)):
        side = "candidate" if is_blank(candidate) else "reference"
        raise InputError(f"the {side} is empty. Enter some text.")
    counts = token_counts(texts, "bundled")
    limits.check_compared(counts, limits.COMPARED_TOKENS)
    return pairs, counts


def compare(
    metric: str, candidate: Any, references: Any, settings: Mapping[str, Any] | None = None
) -> Answer:
    """Score a candidate against its references. Invalid requests raise `EXPECTED_ERRORS`."""
    settings = check_settings(metric, settings)
    model = settings["model_name_or_path"]
    with LOCK:
        pairs, counts = check_texts(candidate, references)
        if metric == "infolm":
            limits.check_compared(counts, limits.INFOLM_TOKENS[model])
        scorer = load_scorer(metric, model)
        run = scorer.prepare(scorer.settings.replace(**settings), pairs.texts_by_side)
        result = run.score(pairs)
        options = settings
        if "idf" in vars(scorer.settings):  # the explanation uses a single reference
            options = {**settings, "idf": run.tables[1]}
        few_weighted = {name: result.counts[name] for name in ("texts", "few_weighted")}
        ignored = ("few_weighted", "empty") if result.verdicts else ("few_weighted",)
        answer = Answer(
            metric=metric,
            settings=settings,
            candidate=candidate,
            references=pairs.references[0],
            run=run,
            result=result,
            baseline=find_stats(run, pairs) if is_reliable(few_weighted) else None,
            readable=is_reliable({**result.counts, **dict.fromkeys(ignored, 0)}),
            options=options,
        )
        # Computed here, so that a visitor does not wait for the lock again.
        _ = answer.special, answer.tokens
        return answer


def score_by_all(
    candidate: Any, references: Any, settings: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the API's answer for each metric, or its "error" if it cannot score the texts."""
    results = compare_by_all(candidate, references, settings, [*VIEWS])
    return [
        result.as_dict() if isinstance(result, Answer) else {"metric": name, "error": str(result)}
        for name, result in results
    ]


def compare_by_all(
    candidate: Any, references: Any, settings: Any, metrics: Sequence[str] = ()
) -> Iterator[tuple[str, Answer | BaseException]]:
    """Yield each metric with its answer or error.

    Each metric takes the settings that it has. Errors that concern all metrics are raised.
    """
    by_metric = divide_settings(settings)
    check_texts(candidate, references)
    for metric in metrics or fastest_first():
        try:
            yield metric, compare(metric, candidate, references, by_metric[metric])
        except EXPECTED_ERRORS as error:
            yield metric, error


def score_in_parts(
    metric: str, pairs: Pairs, counts: Sequence[Sequence[int]], settings: Mapping[str, Any]
) -> Generator[tuple[float, dict[str, Any]], None, dict[str, Any]]:
    """Yield the fraction of scored pairs after each part, with no result, and return the result.

    Between parts, waiting visitors are served, and scoring stops if the visitor has disconnected.
    Token weights are estimated from all pairs, so the scores are the same as in a single call.
    `counts` are the numbers of tokens in the texts of each pair.
    """
    with LOCK:
        scorer = load_scorer(metric, settings["model_name_or_path"])
        run = scorer.prepare(scorer.settings.replace(**settings), pairs.texts_by_side)
    parts: list[Result] = []
    work = sum(count**2 for row in counts for count in row)
    size = max(1, limits.PART_WORK * len(pairs) // work)
    for start in range(0, len(pairs), size):
        with LOCK:
            parts.append(run.score(pairs.part(start, start + size)))
        yield min(1.0, (start + size) / len(pairs)), {}
    with LOCK:
        baseline, length = find_stats(run, pairs), statistics.mean(run.pair_tokens(pairs))
    result = join_results(parts)
    obstacles = verdict_obstacles(result.counts) if not result.verdicts else []
    names = ("scores", "verdicts", "higher_is_better", "warnings", "signature")
    return {
        "metric": metric,
        "mean": result[metric],
        **{name: result[name] for name in names if name in result},
        "unrelated": None if obstacles or not baseline else baseline.at(length),
        "no_verdict": obstacles,
    }


def find_stats(run: Run[Any], pairs: Pairs) -> BaselineStats | None:
    """Return the package's baseline for these settings and reference counts, or None."""
    counts = Counter(pairs.counts)
    stats = most_frequent(run.unrelated(counts), counts)
    found = stats and stats[run.settings.names[0]]
    return found if found and found.bins else None
