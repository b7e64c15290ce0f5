"""Scoring of one pair by one metric or all metrics, and of the pairs of a file."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from infolm_metric.core.baselines import Verdict
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, check_text, check_texts, is_blank
from infolm_metric.core.results import Result, Summary, verdict_obstacles
from infolm_metric.metrics import fastest_first
from infolm_metric.scoring.scorer import Run

from . import limits, views
from .appearance import shorten
from .settings import check_settings, divide_settings
from .workers import LONG, SHORT, Worker, token_counts

KEPT_ANSWERS = 64  # so that a changed setting only affects the metrics that have it
EXPECTED_ERRORS = (InputError, OSError)  # invalid input. Other errors are bugs.
ANSWER_WORDS = 5  # maximum length of a reference whose longer candidate counts as an answer


def refusal(error: BaseException) -> gr.Error:
    """Return the error that the API reports for an invalid request."""
    return gr.Error(shorten(str(error)), print_exception=False)


def is_answer(candidate: str, references: Sequence[str]) -> bool:
    """Return True if the references are short and the candidate is at least twice as long.

    >>> is_answer("It was Neil Armstrong.", ["Neil Armstrong"]), is_answer("A cat.", ["A dog."])
    (True, False)
    """
    words = max(len(reference.split()) for reference in references)
    return words <= ANSWER_WORDS and len(candidate.split()) >= 2 * words


@dataclass(frozen=True)
class Answer:
    """Score of a candidate against its references.

    Attributes:
        options: settings for a single reference, with token weights from all references.
        closest: index of the explained reference.
        special: verdict of the metric itself, or "" for a verdict relative to unrelated texts.
    """

    worker: Worker
    settings: dict[str, Any]
    candidate: str
    references: Sequence[str]
    options: dict[str, Any]
    run: Run[Any]
    result: Result
    closest: int
    special: str

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.result.metric

    @property
    def score(self) -> float:
        """Score of the candidate."""
        return float(self.result[self.metric])

    @property
    def readable(self) -> bool:
        """False if the score is not meaningful, for example for out-of-domain texts."""
        ignored = ("few_weighted", "empty") if self.result.verdicts else ("few_weighted",)
        return not verdict_obstacles({**self.result.counts, **dict.fromkeys(ignored, 0)})

    @functools.cached_property
    def summary(self) -> Summary:
        """Comparison with unrelated texts."""
        return self.run.summary({}, self.result.counts, {len(self.references): 1})

    @property
    def verdict(self) -> str:
        """Verdict of the metric itself if it has one, otherwise relative to unrelated texts."""
        if not self.readable:
            return "This score is not meaningful"
        if self.result.counts["identical"]:
            return "Same score as an identical text"
        if self.special or not self.unrelated:
            return self.special or "No verdict"
        words = Verdict.of(self.summary.percentile(*self.run.settings.names))
        return f"{words.capitalize()} unrelated texts"

    @property
    def unrelated(self) -> tuple[float, float] | None:
        """Range of 80% of the scores of unrelated texts of the same length, or None."""
        counts = {name: self.result.counts[name] for name in ("texts", "few_weighted")}
        if not self.summary.baseline or verdict_obstacles(counts):
            return None
        (stats,) = self.summary.baseline.values()
        low, high = sorted(stats.at(self.summary.tokens).percentiles[2::2])
        return low, high

    def explain(self) -> tuple[list[str], str]:
        """Return the explanation as lines of text and as HTML."""
        return self.worker.call(views.draw, self)

    def as_dict(self) -> dict[str, Any]:
        """Return the API's answer."""
        result = self.result
        verdict: str | None = self.verdict
        if result.verdicts:  # as in the package, in lower case or None
            verdict = result.verdicts[0] if self.readable else None
        names = ("higher_is_better", "warnings", "signature")
        return {
            **{"metric": self.metric, "score": self.score, "verdict": verdict},
            **{name: result[name] for name in names},
            "unrelated": self.unrelated,
            "explained_reference": self.closest,
            "why": self.explain()[0],
        }


def check_pair(candidate: Any, references: Any) -> tuple[list[str], list[int]]:
    """Check a candidate and references. Return the references and the token counts of all texts."""
    check_text("candidate", candidate)
    (group,) = Pairs([candidate], [check_texts("references", references, 1)]).references
    texts = [candidate, *group]
    limits.check_group("the input", references, texts)
    if any(map(is_blank, texts)):
        side = "candidate" if is_blank(candidate) else "reference"
        raise InputError(f"the {side} is empty. Enter some text.")
    counts: list[int] = SHORT.call(token_counts, texts)
    limits.check_tokens(counts, limits.COMPARED_TOKENS)
    return group, counts


def plan_job(
    metric: str, candidate: Any, references: Any, settings: Mapping[str, Any] | None
) -> tuple[Worker, tuple[Any, ...]]:
    """Check a request. Return the worker for it, and the arguments of `Worker.follow`."""
    settings, worker = check_settings(metric, settings), SHORT
    group, counts = check_pair(candidate, references)
    if metric == "infolm" and settings.get("masking") != "none":
        limit = limits.INFOLM_TOKENS[settings["model_name_or_path"]]
        remedy = "Shorten the text, or set masking='none', which computes another metric."
        limits.check_tokens(counts, limit, remedy)
        worker = LONG if max(counts) > limits.SHORT_TOKENS else SHORT
    job = metric, candidate, tuple(group), tuple(settings.items())
    return worker, (sum(counts), score_pair, *job)


@functools.lru_cache(KEPT_ANSWERS)
def score_pair(
    worker: Worker, metric: str, candidate: str, references: Sequence[str], items: Any
) -> Answer:
    """Score a pair, as a job. `items` are the settings."""
    settings, pairs = dict(items), Pairs([candidate], [[*references]])
    run = prepare(worker, metric, pairs, settings)
    result, closest, options = run.score(pairs, rank=True), 0, settings
    if "idf" in vars(run.settings):
        options = {**settings, "idf": run.tables[1] or False}
    if len(references) > 1:
        each = run.scorer.score([candidate] * len(references), [*references], **options)
        # The denial of a reference also lowers the verdicts on similar references.
        same = [i for i, verdict in enumerate(each.verdicts) if verdict == result.verdicts[0]]
        best = max if run.scorer.higher_is_better else min
        closest = best(same or range(len(references)), key=each["scores"].__getitem__)
    special = views.find_verdict(run, candidate, references[closest], result)
    return Answer(worker, settings, candidate, references, options, run, result, closest, special)


def prepare(worker: Worker, metric: str, pairs: Pairs, settings: Any) -> Run[Any]:
    """Prepare a run of a worker's scorer."""
    scorer = worker.scorer(metric, settings["model_name_or_path"])
    return scorer.prepare(scorer.settings.replace(**settings), pairs.texts_by_side)


def compare(
    metric: str, candidate: Any, references: Any, settings: Mapping[str, Any] | None = None
) -> Answer:
    """Score a candidate against its references. Invalid requests raise `EXPECTED_ERRORS`."""
    worker, (_, *job) = plan_job(metric, candidate, references, settings)
    return worker.call(*job)


def settings_of_page(candidate: Any, references: Any, settings: Any) -> dict[str, dict[str, Any]]:
    """Return the settings of each metric. InfoLM uses a single pass for very long texts."""
    by_metric, (_, counts) = divide_settings(settings), check_pair(candidate, references)
    limit = limits.INFOLM_TOKENS[by_metric["infolm"].get("model_name_or_path", "bundled")]
    if max(counts) > limit or sum(counts[1:]) > 2 * limit:
        by_metric["infolm"]["masking"] = "none"
    return by_metric


def compare_by_all(
    candidate: Any, references: Any, by_metric: Mapping[str, Any]
) -> Iterator[tuple[str, Answer | BaseException | float]]:
    """Yield each metric with the fraction that is done, and then with its answer or error."""
    for metric in fastest_first():
        try:
            worker, job = plan_job(metric, candidate, references, by_metric[metric])
            for update in worker.follow(*job):
                yield metric, update
        except EXPECTED_ERRORS as error:
            yield metric, error


def score_by_all(
    candidate: Any, references: Any, settings: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the API's answer for each metric, or its "error" if it cannot score the texts."""
    by_metric = divide_settings(settings)
    check_pair(candidate, references)  # errors that concern all metrics are raised
    updates = compare_by_all(candidate, references, by_metric)
    results: dict[str, Any] = by_metric | dict(updates)  # the last ones, in the order of METRICS
    return [
        x.as_dict() if isinstance(x, Answer) else {"metric": metric, "error": str(x)}
        for metric, x in results.items()
    ]


def score_pairs(worker: Worker, metric: str, pairs: Pairs, settings: Any) -> dict[str, Any]:
    """Score the pairs of a file, as a job."""
    return prepare(worker, metric, pairs, settings).score(pairs).as_dict()
