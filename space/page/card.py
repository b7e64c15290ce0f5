"""Card that shows the scores of a pair by all metrics, and the explanation of one score.

Each scale runs from the worst score on the left to the best score on the right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from infolm_metric.metrics import METRICS, similarities

from . import appearance as html
from .appearance import HIGHER, LOWER, METRIC_NAMES
from .reproduction import command_of, python_of
from .scoring import Answer, is_answer

CHECKER = "answer_check"
TONES, HTML = html.TEXTS["tones"], html.TEXTS["html"]
Results = Mapping[str, Answer | BaseException | float]


def summarize(tones: Mapping[str, str], identical: bool = False, mentioned: bool = False) -> str:
    """Choose the sentence about all verdicts. Return its name in texts.toml.

    `tones` are the tones of verdicts in texts.toml, by metric. Leave out answer_check unless the
    candidate is an LLM's answer. `mentioned` is True if the answer contains the reference.

    >>> summarize({"infolm": "good", "baryscore": "good", "menli": "bad"})
    'facts'
    """
    wording = [tones[metric] for metric in similarities() if metric in tones]
    menli, answer = tones.get("menli"), tones.get(CHECKER)
    if answer:
        agreement = {"good": "agrees", "bad": "wrong"}.get(answer, "unclear")
        return "mentioned" if mentioned and agreement != "agrees" else agreement
    if not wording and not menli:
        return "unreadable"
    if identical:
        return "identical"
    close = 2 * wording.count("good") > len(wording)
    rules = {  # apart and close in wording
        "bad": ("contradiction", "facts"),
        "doubt": ("doubted", "doubted_close"),
        "good": ("reworded", "same"),
        "part": ("reworded_more", "more"),
        "weak": ("unrelated", "related"),
    }
    return rules.get(menli or "", ("unrelated", "wording"))[close]


def sentence(answers: Sequence[Answer], candidate: str, references: Sequence[str]) -> str:
    """Return a sentence about the verdicts of all metrics on a candidate."""
    tones = {x.metric: TONES[x.verdict] for x in answers if x.verdict in TONES}
    if not is_answer(candidate, references):
        tones.pop(CHECKER, None)
    identical = any(answer.result.counts["identical"] for answer in answers)
    text = candidate.casefold()
    mentioned = any(reference.casefold() in text for reference in references)
    return str(html.TEXTS["summary"][summarize(tones, identical, mentioned)])


def choose_metric(results: Results, judged: bool, opened: str) -> str:
    """Return the metric whose explanation is shown after a comparison."""
    if judged:
        return CHECKER
    readable = {name for name, x in results.items() if isinstance(x, Answer) and x.readable}
    names = [opened, *METRIC_NAMES] if opened != CHECKER else [*METRIC_NAMES]
    return next((name for name in names if name in readable), opened)


def card(
    headline: str,
    results: Results | None = None,
    note: str = "",
    kind: str = "waiting",
    opened: str = "",
    judged: bool = False,
) -> str:
    """Return an HTML card with a headline and a row for each metric.

    A metric without a result is pending. `note` is HTML. `opened` is the explained metric. If the
    candidate is `judged` as an LLM's answer, all metrics except answer_check are dimmed. Otherwise,
    answer_check is folded.
    """
    answers = [x for x in (results or {}).values() if isinstance(x, Answer)]
    links = ""
    if kind == "done" and answers:
        links = HTML["links"].format(command=html.code("Command", command_of(answers)))
    rows = {x: _row(x, (results or {}).get(x), x == opened) for x in METRIC_NAMES}
    checker = rows.pop(CHECKER)
    if not judged:
        unfolded = "open" if opened == CHECKER else ""
        checker = HTML["folded"].format(row=checker, open=unfolded)
    return HTML["card"].format(
        kind=kind,
        role="alert" if kind == "refused" else "status",
        headline=html.escape(html.shorten(headline)),
        dim="dim" if judged else "",
        rows="".join(rows.values()),
        checker=checker,
        note=note and f'<p class="lesson">{note}</p>',
        links=links,
    )


def _row(metric: str, result: Answer | BaseException | float | None, pressed: bool) -> str:
    """Return a row of the card: a button if the metric has a score."""
    question = METRICS[metric].question
    names = {"metric": metric, "name": METRIC_NAMES[metric], "question": question}
    if isinstance(result, float):
        words = HTML["progress"].format(done=result, name=METRIC_NAMES[metric])
        return HTML["no_score"].format(kind="pending", words=words, **names)
    if not isinstance(result, Answer):
        reason = html.TEXTS["notes"]["no_model"] if isinstance(result, OSError) else str(result)
        words = f"Not computed: {html.escape(html.shorten(reason))}" if result else ""
        return HTML["no_score"].format(kind="failed" if result else "pending", words=words, **names)
    if result.settings.get("masking") == "none":
        names |= {"name": html.TEXTS["notes"]["one_pass_name"]}
    tone, score = TONES.get(result.verdict, "none"), html.number(result.score)
    names |= {"pressed": str(pressed).lower(), "verdict": result.verdict}
    return HTML["row"].format(tone=tone, score=score, scale=_scale(result), **names)


def _scale(answer: Answer) -> str:
    """Return a scale with a marker at the score.

    A band marks the range of unrelated texts or of unclear answers.
    """
    run, scorer = answer.run, answer.run.scorer
    higher, thresholds = scorer.higher_is_better, getattr(run, "thresholds", None)
    worst, best = sorted(scorer.bounds(run.settings, *run.settings.names), reverse=not higher)
    low, high = thresholds or answer.unrelated or (0, 0)
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
    words, unrelated = html.TEXTS["notes"], answer.unrelated
    direction = HIGHER if answer.run.scorer.higher_is_better else LOWER
    lines = [f"Score {html.number(answer.score)}: {direction}."]
    if answer.settings.get("masking") == "none":
        lines.append(words["one_pass"])
    if answer.readable and unrelated:
        lines.append(words["unrelated"].format(*unrelated))
    elif not answer.readable or not answer.special:
        lines.append(words["unknown" if answer.readable else "unreadable"])
    lines.append(words["lower" if answer.metric in similarities() else "higher"])
    if len(answer.references) > 1:
        text = answer.references[answer.closest]
        lines.append(words["explained"].format(number=answer.closest + 1, text=text))
    return HTML["explanation"].format(
        metric=answer.metric,
        title=f"{METRIC_NAMES[answer.metric]}: {answer.verdict}",
        lines=html.items([*lines, *html.notes(answer.result["warnings"])]),
        view=answer.explain()[1],
        reproduction=html.code("Python", python_of(answer))
        + html.code("Command line", command_of([answer]))
        + html.code("Signature", str(answer.result["signature"])),
    )
