"""Assertions on generated texts for test suites, which the fixtures in pytest_plugin.py return.

By default, they use the bundled models, which are loaded once per process. Invalid arguments raise
InputError before a model is loaded.
"""

from __future__ import annotations

from infolm_metric.answer_check.verdict import LIKELY_CORRECT, VERDICTS
from infolm_metric.core.checks import InputError, check_known
from infolm_metric.core.inputs import as_list, check_pairs, check_text, check_texts
from infolm_metric.core.results import FEW_TEXTS, comparison_obstacles, mean
from infolm_metric.integrations import check_one_score, load_scorer, present_references
from infolm_metric.meta_evaluation.significance import approximate_randomization, system_verdict
from infolm_metric.metrics import METRICS
from infolm_metric.scoring.scorer import score_systems


def assert_answer(answer: str, references: object, allow: object = (), **settings: object) -> None:
    """Raise AssertionError unless an answer agrees with a reference answer.

    Args:
        answer: the answer, a string.
        references: a reference answer, or a list of its aliases.
        allow: list of verdicts that are accepted in addition to "likely correct": "unclear",
            "likely wrong", or None for a withheld verdict.
        **settings: settings of answer_check, such as `thresholds`.

    Raises:
        AssertionError: answer_check has another verdict.
        InputError: an argument is invalid.

    >>> assert_answer("It was Neil Armstrong.", ["Neil Armstrong", "Armstrong"])
    >>> assert_answer("It was Buzz Aldrin.", ["Neil Armstrong", "Armstrong"])
    Traceback (most recent call last):
    AssertionError: the verdict is 'likely wrong' (score 0.1...), expected 'likely correct'
    reason: ...
    """
    __tracebackhide__ = True
    check_text("answer", answer)
    group = present_references("references", references)
    if not group:
        raise InputError(f"references must contain a text that is not blank, got {references!r}")
    allowed = as_list("allow", allow)
    for word in allowed:
        if word is not None:
            check_known("verdict in allow", word, VERDICTS, every=True)
    scorer = load_scorer("answer_check", model_name_or_path="bundled")
    result = scorer.score([answer], [group], **settings)
    (verdict,), score = result.verdicts, next(iter(result.scores.values()))[0]
    if verdict == LIKELY_CORRECT or verdict in allowed:
        return
    # The explanation of the reference that determined the verdict.
    explanations = [scorer.explain(answer, text, **settings) for text in group]
    main = min(explanations, key=lambda each: (each.verdict != verdict, abs(each.score - score)))
    expected = " or ".join(map(repr, dict.fromkeys([LIKELY_CORRECT, *allowed])))
    raise AssertionError(
        f"the verdict is {verdict!r} (score {score:.3f}), expected {expected}\n"
        f"reason: {main.reason}\nanswer: {answer!r}\nreferences: {group}\n"
        f"signature: {result.signature}"
    )


def assert_not_worse(
    new: object, old: object, references: object, metric: str = "bertscore", **settings: object
) -> None:
    """Raise AssertionError if new texts score significantly worse than old texts.

    The new texts are worse if their mean score is worse, and p < 0.05 in the two-sided paired
    permutation test (approximate randomization), as in `infolm compare`.

    Args:
        new: the new texts, a list of at least 10 strings.
        old: the old texts, in the same order.
        references: one reference per text, or a list of references per text.
        metric: name of the metric.
        **settings: settings of the metric, with a single score and without idf="separate".

    Raises:
        AssertionError: the new texts are worse, or the texts do not allow a verdict because they
            are out of domain, for example.
        InputError: an argument is invalid.

    >>> texts = [f"The train to {city} leaves at noon." for city in ("Rome", "Oslo") * 5]
    >>> assert_not_worse(texts, texts, references=texts)
    >>> assert_not_worse(["A dog barked."] * 10, texts, references=texts)
    Traceback (most recent call last):
    AssertionError: the new texts are significantly worse by bertscore (higher is better)
    score: ...
    """
    __tracebackhide__ = True
    check_known("metric", metric, list(METRICS))
    systems = check_texts("new", new), check_texts("old", old)
    groups = as_list("references", references)
    sizes = [*map(len, systems), len(groups)]
    if len({*sizes}) > 1 or sizes[0] < FEW_TEXTS:
        raise InputError(
            f"new, old and references must have the same length, at least {FEW_TEXTS}, got "
            f"{sizes[0]}, {sizes[1]} and {sizes[2]}. With fewer texts, tests miss most differences."
        )
    scorer = load_scorer(metric, model_name_or_path="bundled")
    changed = scorer.settings.replace(**settings)
    check_one_score(changed)
    if "candidates" in changed.idf_sides:
        raise InputError("idf must not be 'separate'. Use idf='references', idf=False or a table.")
    pairs = check_pairs([*systems[0], *systems[1]], groups * 2)
    result = score_systems(scorer, changed, pairs, len(groups))[1]
    scores = result.scores[changed.names[0]]
    new_scores, old_scores = scores[: len(groups)], scores[len(groups) :]
    p_value = approximate_randomization(new_scores, old_scores)
    difference = mean(new_scores) - mean(old_scores)
    verdict = system_verdict(difference, p_value, result.higher_is_better)
    obstacles = comparison_obstacles(result.counts)
    if verdict != "worse" and not obstacles:
        return
    sign, better = (1, "higher") if result.higher_is_better else (-1, "lower")
    losses = [sign * (y - x) for x, y in zip(new_scores, old_scores, strict=True)]
    worst = losses.index(max(losses))
    problem = f"are significantly worse by {metric} ({better} is better)"
    reason = f"{sum(loss > 0 for loss in losses)} new texts score worse, most of all new[{worst}]: "
    reason += f"{new_scores[worst]:.4f} instead of {old_scores[worst]:.4f}"
    if obstacles:
        problem = f"have no verdict by {metric}, because of {', '.join(obstacles)}"
        verdict, reason = "none", "The warnings contain the remedies."
    raise AssertionError(
        f"the new texts {problem}\n"
        f"score: {mean(new_scores):.4f} (new), {mean(old_scores):.4f} (old), p = {p_value:.2g}\n"
        f"verdict: {verdict} ({len(groups)} texts)\nreason: {reason}\n"
        f"signature: {result.signature}"
    )
