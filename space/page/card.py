"""Card that shows the scores of a pair by all metrics, and the explanation of one score.

Each scale runs from the worst score on the left to the best score on the right.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from infolm_metric.metrics import similarities

from . import appearance as html
from .appearance import HIGHER, LOWER, METRIC_NAMES
from .scoring import LOCK, Answer
from .settings import SCORERS

TONES = html.TEXTS["tones"]
HTML = html.TEXTS["html"]
FLAGS = {"information_measure": "measure"}


def summarize(tones: Mapping[str, str], identical: bool = False, mentioned: bool = False) -> str:
    """Return the rule of the sentence about all verdicts, a name in texts.toml.

    `tones` are the tones of the metrics with a verdict. `mentioned` is True if the candidate
    contains all tokens of the reference.

    >>> summarize({"infolm": "good", "baryscore": "good", "menli": "bad"})
    'facts'
    """
    wording = [tones[metric] for metric in similarities() if metric in tones]
    close = 2 * wording.count("good") > len(wording)
    menli, answer = tones.get("menli"), tones.get("answer_check")
    doubted = mentioned and answer in ("weak", "bad")
    if identical:
        return "identical"
    if menli == "bad":
        return "facts" if close else "disagree" if answer == "good" else "contradiction"
    if close and doubted:
        return "doubted"
    if close:
        return {"good": "same", "part": "more", "weak": "related"}.get(menli or "", "wording")
    if answer == "good":
        return "answer" if wording or menli else "agrees"
    if doubted:
        return "mentioned"
    if menli in ("good", "part"):
        return {"good": "reworded", "part": "reworded_more"}[menli]
    if wording or menli:
        return "unrelated"
    return {"bad": "wrong", "weak": "unclear"}.get(answer or "", "unreadable")


def sentence(answers: Iterable[Answer]) -> str:
    """Return a sentence about the verdicts of all metrics."""
    by_metric = {answer.metric: answer for answer in answers}
    tones = {name: TONES[x.verdict] for name, x in by_metric.items() if x.verdict in TONES}
    identical = any(answer.identical for answer in by_metric.values())
    why = by_metric["answer_check"].view[0] if "answer_check" in by_metric else {}
    mentioned = bool(why.get("matched")) and not why.get("missing")
    return str(html.TEXTS["summary"][summarize(tones, identical, mentioned)])


def card(
    headline: str,
    results: Mapping[str, Answer | BaseException] | None = None,
    note: str = "",
    kind: str = "waiting",
    opened: str = "",
) -> str:
    """Return an HTML card with a headline and a row for each metric.

    A metric without a result is pending. `note` is HTML. `opened` is the explained metric.
    """
    answers = [x for x in (results or {}).values() if isinstance(x, Answer)]
    done = kind == "done" and answers
    command = html.details("Reproduce", html.code("Command", command_of(answers))) if done else ""
    return HTML["card"].format(
        kind=kind,
        role="alert" if kind == "refused" else "status",
        headline=html.escape(html.shorten(headline)),
        rows="".join(_row(x, (results or {}).get(x), x == opened) for x in METRIC_NAMES),
        note=note and f'<p class="lesson">{note}</p>',
        command=command,
    )


def _row(metric: str, result: Answer | BaseException | None, pressed: bool) -> str:
    """Return a row of the card: a button if the metric has a score."""
    question = html.TEXTS["questions"][metric]
    names = {"metric": metric, "name": METRIC_NAMES[metric], "question": question}
    if not isinstance(result, Answer):
        reason = html.TEXTS["notes"]["no_model"] if isinstance(result, OSError) else str(result)
        words = f"Not computed: {html.escape(html.shorten(reason))}" if result else ""
        return HTML["no_score"].format(kind="failed" if result else "pending", words=words, **names)
    tone, score = TONES.get(result.verdict, "none"), html.number(result.score)
    names |= {"pressed": str(pressed).lower(), "verdict": result.verdict}
    return HTML["row"].format(tone=tone, score=score, scale=_scale(result), **names)


def _scale(answer: Answer) -> str:
    """Return a scale with a marker at the score.

    A band marks the range of unrelated texts or of unclear answers.
    """
    run, stats, best = answer.run, answer.unrelated, answer.best
    higher, thresholds = run.scorer.higher_is_better, getattr(run, "thresholds", None)
    worst = run.scorer.bounds(run.settings, *run.settings.names)[not higher]
    low, high = thresholds or (sorted(stats.percentiles[2::2]) if stats else (0, 0))
    # BaryScore's bound, 4, and negative cosines are too far from typical scores to be shown.
    if math.isinf(worst) or answer.metric == "baryscore":
        worst = max(answer.score, float(f"{1.25 * max(answer.score, high, 1e-9):.1g}"))
    elif answer.metric == "bertscore":
        worst = min(0.0, answer.score)
    values = (answer.score, low, high) if higher else (answer.score, high, low)
    at, start, stop = (100 * min(1.0, max(0.0, (x - worst) / (best - worst))) for x in values)
    name = "unclear" if thresholds else "unrelated texts"
    places = {"start": start, "width": stop - start, "middle": (start + stop) / 2}
    band = HTML["band"].format(name=name, low=low, high=high, **places) if high > low else ""
    return HTML["scale"].format(worst=f"{worst:.2g}", best=f"{best:.2g}", band=band, at=at)


def explanation(answer: Answer) -> str:
    """Return the explanation of a score as HTML."""
    with LOCK:
        view = answer.view[1]
    words, reason = html.TEXTS["notes"], answer.special[1]
    direction = HIGHER if answer.run.scorer.higher_is_better else LOWER
    lines = [reason] if reason and answer.readable else []
    lines.append(f"Score {html.number(answer.score)}: {direction}.")
    if answer.readable and answer.unrelated:
        lines.append(html.unrelated_words(answer.unrelated))
    elif not answer.readable or not reason:
        lines.append(words["unknown" if answer.readable else "unreadable"])
    lines.append(words["lower" if answer.metric in similarities() else "higher"])
    if len(answer.references) > 1:
        text = answer.references[answer.closest]
        lines.append(words["explained"].format(number=answer.closest + 1, text=text))
    names = ("Python", "Command line", "Signature")
    return HTML["explanation"].format(
        metric=answer.metric,
        title=f"{METRIC_NAMES[answer.metric]}: {answer.verdict}",
        lines=html.items([*lines, *html.notes(answer.result["warnings"])]),
        view=view,
        reproduction="".join(map(html.code, names, reproduce(answer))),
    )


def reproduce(answer: Answer) -> list[str]:
    """Return Python code and a command that omit default settings, and the signature.

    Both name the model even if it is the default, which depends on environment variables.
    """
    settings = "".join(f", {k}={v!r}" for k, v in _changed_settings(answer).items())
    texts = f"[{answer.candidate!r}], [{answer.references!r}]"
    python = HTML["python"].format(metric=answer.metric, texts=texts, settings=settings)
    return [python, command_of([answer]), str(answer.result["signature"])]


def command_of(answers: Iterable[Answer]) -> str:
    """Return a command that prints the scores of all answers."""
    answers = sorted(answers, key=lambda answer: [*METRIC_NAMES].index(answer.metric))
    settings = {k: v for answer in answers for k, v in _changed_settings(answer).items()}
    del settings["model_name_or_path"]
    models = {answer.metric: answer.settings["model_name_or_path"] for answer in answers}
    flags = [f"--metric={metric}" for metric in models]
    if len({*models.values()}) == 1:
        flags.append(f"--model={models[answers[0].metric]}")
    else:
        flags += [f"--model={metric}={model}" for metric, model in models.items()]
    values = {k: "none" if v is False else v for k, v in settings.items()}
    flags += [f"--{FLAGS.get(k, k).replace('_', '-')}={v}" for k, v in values.items()]
    return shlex.join(
        ["infolm", "score", *flags, "--", answers[0].candidate, *answers[0].references]
    )


def _changed_settings(answer: Answer) -> dict[str, Any]:
    """Return the model, and the settings that differ from the defaults."""
    defaults = vars(SCORERS[answer.metric]().settings) | {"model_name_or_path": None}
    return {k: v for k, v in answer.settings.items() if v != defaults[k]}
