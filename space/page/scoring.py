"""Scoring with any of the metrics: one pair with an explanation, or many pairs in parts."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from infolm_metric.core.baselines import BaselineStats, most_frequent
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, check_pairs, is_blank
from infolm_metric.core.results import Result, is_reliable, join_results, verdict_obstacles
from infolm_metric.core.scorer import Run
from infolm_metric.core.signature import Signature

from . import answer_check_view, baryscore_view, bertscore_view, infolm_view, limits, menli_view
from .appearance import NO_VERDICT, ExplanationView, shorten
from .fair_lock import FairLock
from .settings import METRIC_LABELS, SCORERS, check_settings, default

# Modules that explain scores, by metric.
VIEWS: dict[str, Any] = {
    "infolm": infolm_view,
    "baryscore": baryscore_view,
    "bertscore": bertscore_view,
    "menli": menli_view,
    "answer_check": answer_check_view,
}
# Lock that is held while a model is loaded or used, because tokenizers are not thread-safe.
LOCK = FairLock()
REUSE_BYTES = 1 << 28  # cache of encoded texts, per scorer
EXPECTED_ERRORS = (InputError, OSError)  # invalid input; other errors are bugs


def refusal(error: BaseException) -> gr.Error:
    """Return the error that the API reports for an invalid request."""
    return gr.Error(shorten(str(error)), print_exception=False)


class LockedProperty:
    """Attribute that is computed on first use, under LOCK.

    `functools.cached_property` has its own lock in Python 3.11, shared by all instances. Two
    visitors who hold it and LOCK in different orders would wait for each other.
    """

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute = compute

    def __get__(self, answer: Any, owner: type) -> Any:
        with LOCK:
            value = answer.__dict__[self.compute.__name__] = self.compute(answer)
        return value


@dataclass(frozen=True)
class Answer:
    """Score of a candidate against its references, with an explanation computed on first use."""

    metric: str
    settings: dict[str, Any]
    candidate: str
    references: list[str]
    score: float
    higher_is_better: bool
    baseline: BaselineStats | None  # None if not available, or if it does not apply to the texts
    readable: bool  # False if the score is not meaningful, e.g. for out-of-domain texts
    identical: bool  # True if the texts have the same token ids
    verdicts: Sequence[str | None]  # the answer's verdict, if the metric has verdicts
    thresholds: tuple[float, float] | None  # of the verdicts
    warnings: Mapping[str, int]
    signature: Signature
    bounds: tuple[float, float]
    scorer: Any
    options: dict[str, Any]  # settings, with token weights estimated from all references

    @LockedProperty
    def closest(self) -> int:
        """Index of the explained reference."""
        candidates = [self.candidate] * len(self.references)
        result = self.scorer.score(candidates, self.references, **self.options)
        # The denial of a reference also lowers the verdicts on similar references.
        same = [i for i, verdict in enumerate(result.verdicts) if verdict == self.verdicts[0]]
        best = max if self.higher_is_better else min
        return best(same or range(len(candidates)), key=result["scores"].__getitem__)

    @LockedProperty
    def view(self) -> ExplanationView:
        """Explanation of the score against the closest reference."""
        reference = self.references[self.closest]
        return VIEWS[self.metric].explain(self.scorer, self.candidate, reference, self.options)

    @LockedProperty
    def special(self) -> tuple[str, str]:
        """Verdict that replaces the verdict relative to unrelated texts, or "", and its reason."""
        find_verdict = getattr(VIEWS[self.metric], "verdict", None)
        return find_verdict(self) if find_verdict else ("", "")

    @property
    def name(self) -> str:
        """Name of the metric. For InfoLM, with the measure."""
        title = METRIC_LABELS[self.metric].partition(":")[0]
        measure = self.settings.get("information_measure", default("infolm", "information_measure"))
        return f"{title} ({measure})" if self.metric == "infolm" else title

    @property
    def best(self) -> float:
        """Best possible score."""
        return self.bounds[self.higher_is_better]

    @property
    def verdict(self) -> str:
        """Verdict on the score, relative to unrelated texts if possible."""
        if not self.readable:
            return "This score is not meaningful"
        if self.identical:
            return "Same score as an identical text"
        if self.special[0] or self.baseline is None:
            return self.special[0] or NO_VERDICT
        words = self.baseline.verdict(self.score, self.best)
        return f"{words.capitalize()} unrelated texts"

    def as_dict(self) -> dict[str, Any]:
        """Return the API's answer."""
        names = ("metric", "score", "higher_is_better", "verdict", "warnings", "signature")
        unrelated = self.baseline and vars(self.baseline)
        with LOCK:
            details = {"explained_reference": self.closest, "why": self.view.details}
            values = {name: getattr(self, name) for name in names}
        if self.verdicts:  # as in the package, in lower case or None
            values["verdict"] = self.verdicts[0] if self.readable else None
        return values | {"unrelated": unrelated} | details


@functools.cache
def load_scorer(metric: str, model: str) -> Any:
    """Return the scorer that all visitors share. The caller must hold LOCK."""
    scorer = SCORERS[metric](model_name_or_path=model, reuse_memory=REUSE_BYTES)
    scorer.keep_logits = True  # InfoLM's explanations need the logits
    return scorer


def token_counts(texts: Sequence[str], model: str) -> list[int]:
    """Return the number of tokens of each text, including special tokens."""
    with LOCK:
        tokenizer = load_scorer("infolm", model).tokenizer
        return [len(ids) for ids in tokenizer(list(texts), verbose=False)["input_ids"]]


def compare(
    metric: str, candidate: Any, references: Any, settings: Mapping[str, Any] | None = None
) -> Answer:
    """Score a candidate against its references. Invalid requests raise `EXPECTED_ERRORS`."""
    settings = check_settings(metric, settings)
    if not isinstance(references, list):
        raise InputError(f"references must be a list of strings, got {type(references).__name__}")
    pairs = check_pairs([candidate], [references])
    limits.check_group("the input", candidate, references)
    (references,) = pairs.references
    if any(map(is_blank, (candidate, *references))):
        side = "candidate" if is_blank(candidate) else "reference"
        raise InputError(f"the {side} is empty. Enter some text.")
    model = settings["model_name_or_path"]
    with LOCK:
        limits.check_compared(token_counts([candidate, *references], model), metric, model)
        scorer = load_scorer(metric, model)
        metric_settings = scorer.settings.replace(**settings)
        run = scorer.prepare(metric_settings, pairs.texts_by_side)
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
            references=references,
            score=result[metric],
            higher_is_better=result["higher_is_better"],
            baseline=find_stats(run, pairs) if is_reliable(few_weighted) else None,
            readable=is_reliable({**result.counts, **dict.fromkeys(ignored, 0)}),
            identical=result.counts["identical"] > 0,
            verdicts=result.verdicts,
            thresholds=getattr(run, "thresholds", None),
            warnings=result["warnings"],
            signature=result["signature"],
            bounds=scorer.bounds(metric_settings, *metric_settings.names),
            scorer=scorer,
            options=options,
        )
        _ = answer.special  # computed here, so that a visitor does not wait for the lock again
        return answer


def score_in_parts(
    metric: str, pairs: Pairs, counts: Sequence[Sequence[int]], settings: Mapping[str, Any]
) -> Iterator[int | dict[str, Any]]:
    """Yield the number of scored pairs after each part, and finally the result.

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
        yield min(start + size, len(pairs))
    with LOCK:
        baseline = find_stats(run, pairs)
    result = join_results(parts)
    obstacles = verdict_obstacles(result.counts) if not result.verdicts else []
    names = ("scores", "verdicts", "higher_is_better", "warnings", "signature")
    yield {
        "metric": metric,
        "mean": result[metric],
        **{name: result[name] for name in names if name in result},
        "unrelated": None if obstacles else baseline,
        "no_verdict": obstacles,
    }


def find_stats(run: Run[Any], pairs: Pairs) -> BaselineStats | None:
    """Return the package's baseline for these settings and reference counts, or None."""
    counts = Counter(pairs.counts)
    stats = most_frequent(run.unrelated(counts), counts)
    return stats[run.settings.names[0]] if stats else None
