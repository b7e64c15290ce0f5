"""Reward functions for TRL's GRPO and similar trainers. TRL is not imported."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from infolm_metric.answer_check.guard import guard as guard_factor
from infolm_metric.core.checks import InputError, warn_user
from infolm_metric.core.inputs import as_list, check_text, strip_thinking
from infolm_metric.integrations import check_one_score, present_references
from infolm_metric.scoring.scorer import Scorer

# Warnings that this process has already shown, with numbers removed.
_shown: set[str] = set()


@dataclass(frozen=True)
class Reward:
    """Reward function, created by `reward`. Higher is better."""

    scorer: Scorer[Any]
    reference_column: str
    guard: bool = False

    @property
    def __name__(self) -> str:
        """Name under which a trainer logs the rewards."""
        return f"{self.scorer.settings.metric}_reward"

    def __call__(
        self, prompts: object = None, completions: object = (), **columns: object
    ) -> list[float | None]:
        """Return the reward of each completion. None for rows without a reference.

        `prompts` are strings or lists of messages, which only the guard uses. None is allowed.
        `completions` are strings or lists of messages. Of messages, only the last one from the
        assistant is scored. Thinking is removed. The reference column contains a reference or a
        list of references for each completion. Blank and missing references are left out. Rows
        with no reference left get None, so TRL skips this function for them. Raises InputError
        if the column is missing, lengths differ, or a completion, reference or prompt has the wrong
        type.
        """
        column = self.reference_column
        if column not in columns:
            raise InputError(
                f"the data set has no reference column {column!r} (columns: "
                f"{', '.join(columns) or 'none'}). Set reference_column."
            )
        texts = [
            strip_thinking(completion_text(completion, f"completions[{row}]"))
            for row, completion in enumerate(as_list("completions", completions))
        ]
        groups = [
            present_references(f"{column}[{row}]", references)
            for row, references in enumerate(as_list(column, columns[column]))
        ]
        if not texts or len(texts) != len(groups):
            raise InputError(
                f"completions and {column} must have the same length, at least 1, got "
                f"{len(texts)} and {len(groups)}"
            )
        questions = _questions(prompts, len(texts)) if self.guard else []
        rows = [row for row, group in enumerate(groups) if group]
        rewards: list[float | None] = [None] * len(texts)
        with _warnings_once():
            if len(rows) < len(texts):
                warn_user(
                    f"{len(texts) - len(rows)} of {len(texts)} rows have no reference in "
                    f"the column {column!r}. Their reward is None. Remove these rows, or add "
                    "references."
                )
            if rows:
                pairs = [texts[row] for row in rows], [groups[row] for row in rows]
                (scores,) = self.scorer.score(*pairs).scores.values()
                for row, score in zip(rows, scores, strict=True):
                    rewards[row] = score if self.scorer.higher_is_better else -score
                    if self.guard:
                        rewards[row] = score * guard_factor(texts[row], groups[row], questions[row])
        return rewards


def reward(
    scorer: Scorer[Any], reference_column: str = "reference", guard: bool | None = None
) -> Reward:
    """Return a reward function that uses a scorer and can be pickled.

    `scorer` has a single score, such as `AnswerCheckScorer()`. Distances (InfoLM, BaryScore) are
    negated. `reference_column` is the column of references. `guard` multiplies the scores of
    answer_check by penalties on repetitions, copies of the prompt, several proposed answers, and
    length (default: True for answer_check, else False). The guard makes rewards harder to game, but
    does not prevent it: an essay that mentions many answers is not detected. Raises InputError if
    the scorer has several scores, or token weights that depend on the batch, or if `guard` is True
    for another scorer.

    >>> from infolm_metric import AnswerCheckScorer
    >>> rewards = reward(AnswerCheckScorer())
    >>> right, wrong = rewards(completions=["It is Paris.", "Rome"], reference=["Paris", "Paris"])
    >>> right > 0.7 > wrong
    True
    """
    if not isinstance(scorer, Scorer):
        raise InputError(f"scorer must be a scorer such as AnswerCheckScorer(), got {scorer!r:.60}")
    check_one_score(scorer.settings, "batch")
    is_answer_check = scorer.settings.metric == "answer_check"
    if not (guard is None or isinstance(guard, bool)):
        raise InputError(f"guard must be True, False or None, got {guard!r:.60}")
    if guard and not is_answer_check:
        raise InputError(
            f"guard must be False or None for {scorer.settings.metric}, got True. Its penalties "
            "were tested with answer_check only. They would raise negative rewards."
        )
    return Reward(scorer, reference_column, is_answer_check if guard is None else guard)


def _questions(prompts: object, size: int) -> list[str]:
    """Return the last user message of each prompt, or empty strings without prompts."""
    if prompts is None:
        return [""] * size
    prompts = as_list("prompts", prompts)
    if len(prompts) != size:
        raise InputError(f"prompts must have one entry per completion ({size}), got {len(prompts)}")
    return [_last_text(x, f"prompts[{row}]", ("user", None)) for row, x in enumerate(prompts)]


def completion_text(completion: object, name: str = "completion") -> str:
    """Return a completion's text: the string itself, or the text of the last assistant message.

    A message without a role counts as an assistant message. Images, reasoning, tool calls and other
    parts that are not text are left out. Without an assistant message, the text is empty. `name` is
    the name of the completion in messages. Raises InputError if the completion is neither a string
    nor a list of messages.

    >>> completion_text([{"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}])
    'Yes.'
    """
    return _last_text(completion, name, (None, "assistant"))


def _last_text(messages: object, name: str, roles: tuple[str | None, ...]) -> str:
    """Return a string unchanged, or the text of the last message with a role in `roles`."""
    if isinstance(messages, str):
        return content_text(messages, name)
    if not isinstance(messages, list | tuple):
        raise InputError(
            f"{name} must be a string or a list of messages, such as "
            f'[{{"role": "assistant", "content": "Yes."}}], got {messages!r:.60}'
        )
    last = ""
    for index, message in enumerate(messages):
        label = f"{name}[{index}]"
        if not isinstance(message, Mapping):
            raise InputError(f"{label} must be a message (a dictionary), got {message!r:.60}")
        if message.get("role") in roles:
            last = content_text(message.get("content"), f"{label}['content']")
    return last


def content_text(content: object, name: str) -> str:
    """Return the text of a message's content: None, a string, or a list of parts."""
    if content is None:  # a tool call
        return ""
    if isinstance(content, str):
        check_text(name, content)
        return content
    if not isinstance(content, list | tuple):
        raise InputError(f"{name} must be a string, a list of parts or None, got {content!r:.60}")
    texts = []
    for index, part in enumerate(content):
        text = part
        if isinstance(part, Mapping):
            text = (part.get("text") or "") if part.get("type") in (None, "text") else ""
        check_text(f"{name}[{index}]", text)
        texts.append(text)
    return "".join(texts)


@contextmanager
def _warnings_once() -> Iterator[None]:
    """Show each warning only once per process, even if its numbers change."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        yield
    for record in records:
        key = re.sub(r"\d+", "", str(record.message))
        if key not in _shown:
            _shown.add(key)
            warnings.warn_explicit(record.message, record.category, record.filename, record.lineno)
