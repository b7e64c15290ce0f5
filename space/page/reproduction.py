"""Python code and commands that reproduce the shown scores, without default settings.

Both name the model even if it is the default, which depends on environment variables.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from .appearance import METRIC_NAMES
from .settings import SCORERS

FLAGS = {"information_measure": "measure"}


def python_of(answer: Any, measures: Sequence[str] = ()) -> str:
    """Return Python code that prints the score, or the scores of several measures."""
    settings = "".join(f", {k}={v!r}" for k, v in _changed_settings(answer, measures).items())
    texts = f"[{answer.candidate!r}], [{[*answer.references]!r}]"
    call = f'score({texts}, metric="{answer.metric}"{settings})'
    key = "scores" if measures else answer.metric
    return f'from infolm_metric import score\nprint({call}["{key}"])'


def command_of(answers: Iterable[Any], measures: Sequence[str] = ()) -> str:
    """Return a command that prints the scores of all answers."""
    answers = sorted(answers, key=lambda answer: [*METRIC_NAMES].index(answer.metric))
    settings = {k: v for answer in answers for k, v in _changed_settings(answer, measures).items()}
    del settings["model_name_or_path"]
    models = {answer.metric: answer.settings["model_name_or_path"] for answer in answers}
    flags = [f"--metric={metric}" for metric in models]
    if len({*models.values()}) == 1:
        flags.append(f"--model={models[answers[0].metric]}")
    else:
        flags += [f"--model={metric}={model}" for metric, model in models.items()]
    for name, value in settings.items():
        flag = f"--{FLAGS.get(name, name).replace('_', '-')}"
        values = value if isinstance(value, list) else ["none" if value is False else value]
        flags += [f"{flag}={each}" for each in values]
    texts = [answers[0].candidate, *answers[0].references]
    return shlex.join(["infolm", "score", *flags, "--", *texts])


def _changed_settings(answer: Any, measures: Sequence[str] = ()) -> dict[str, Any]:
    """Return the model, and the used settings that differ from the defaults."""
    changed = {"information_measure": [*measures]} if measures else {}
    settings = answer.settings | changed
    used = SCORERS[answer.metric].settings_type.of(**settings)
    unused = getattr(used, "unused", ())
    defaults = vars(type(used)()) | {"model_name_or_path": None}
    return {k: v for k, v in settings.items() if k not in unused and v != defaults[k]}
