"""Reward functions for TRL's GRPO and similar trainers; TRL is not imported."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from infolm_metric.core.scorer import Scorer
from infolm_metric.integrations import check_one_score

# Warnings that this process has already shown, with numbers removed.
_shown: set[str] = set()


@dataclass(frozen=True)
class Reward:
    """Reward function, created by `reward`; higher is better."""

    scorer: Scorer
    reference_column: str

    @property
    def __name__(self) -> str:
        """Name under which a trainer logs the rewards."""
        return f"{self.scorer.settings.metric}_reward"

    def __call__(self, prompts: Any = None, completions: Any = (), **columns: Any) -> list[float]:
        """Return the reward of each completion.

        `prompts` are ignored. `completions` are strings or lists of messages; only messages from
        the assistant are scored. The reference column contains a reference, or a list of
        references, for each completion. Raises TypeError or ValueError if there are no references,
        or a text is not a string.
        """
        if self.reference_column not in columns:
            raise ValueError(
                f"the data set has no reference column {self.reference_column!r} (columns: "
                f"{', '.join(columns) or 'none'}); set reference_column"
            )
        groups = [
            [group] if isinstance(group, str) else group for group in columns[self.reference_column]
        ]
        settings = self.scorer.settings
        sides: dict[str, Any] = {"sources" if settings.needs_sources else "references": groups}
        with _warnings_once():
            result = self.scorer.score([*map(completion_text, completions)], **sides)
        sign = 1.0 if self.scorer.higher_is_better else -1.0
        return [sign * score for score in result.scores[settings.names[0]]]


def reward(scorer: Scorer, reference_column: str = "reference") -> Reward:
    """Return a reward function that uses a scorer and can be pickled.

    `scorer` has a single score, such as `MENLIScorer(task="answer")`. `reference_column` is the
    column of references. Raises ValueError if the scorer has several scores, or token weights that
    depend on the batch.

    >>> from infolm_metric import MENLIScorer
    >>> rewards = reward(MENLIScorer(model_name_or_path="bundled", task="answer"))
    >>> right, wrong = rewards(completions=["It is Paris.", "Rome"], reference=["Paris", "Paris"])
    >>> right > 0.7 > wrong
    True
    """
    check_one_score(scorer.settings)
    if scorer.settings.idf_sides:
        raise ValueError(
            f"idf must be False, 'bundled' or a table, got {scorer.settings.idf_sides[0]!r}; IDF "
            "cannot be estimated from a batch of completions"
        )
    return Reward(scorer, reference_column)


def completion_text(completion: str | Sequence[Mapping[str, Any]]) -> str:
    """Return a completion's text: the string itself, or the assistant's joined messages.

    >>> completion_text([{"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}])
    'Yes.'
    """
    if isinstance(completion, str):
        return completion
    messages = [each for each in completion if each.get("role", "assistant") == "assistant"]
    return "\n".join(filter(None, (_content_text(each.get("content")) for each in messages)))


def _content_text(content: str | Sequence[str | Mapping[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = (part if isinstance(part, str) else part.get("text") or "" for part in content)
    return "".join(parts)


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
