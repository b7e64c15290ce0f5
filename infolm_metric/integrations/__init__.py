"""Integrations with other frameworks, one file per framework."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import as_list, check_text, is_blank, is_missing
from infolm_metric.metrics import find

if TYPE_CHECKING:
    from infolm_metric.core.settings import Settings


@contextmanager
def require(package: str) -> Iterator[None]:
    """Raise ImportError with installation instructions if an optional library is missing.

    >>> with require("no-such-library"):
    ...     import no_such_library
    Traceback (most recent call last):
    ImportError: no-such-library is not installed. Run: pip install no-such-library
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(f"{package} is not installed. Run: pip install {package}") from error


def check_one_score(settings: Settings, part: str = "") -> None:
    """Check that the settings request a single score by name, not a list of names.

    If `part` names the texts that are scored at a time, such as "sample", also check that their
    scores do not depend on the other texts.
    """
    if settings.several:
        raise InputError(
            f"{settings.names_field} must be one name, because this framework expects one score, "
            f"got {list(settings.names)}"
        )
    if part and settings.idf_sides:
        raise InputError(
            f"idf={settings.idf!r} counts documents among all {' and '.join(settings.idf_sides)}, "
            f"but the metric sees one {part} at a time. Pass idf=False, idf='bundled' or a table."
        )


@cache
def load_scorer(name: str, **settings: str) -> Any:
    """Return a metric's scorer, the same in each call, so that its model is loaded only once."""
    return find(name).scorer_type()(**settings)


def load_sample_scorer(name: str, settings: Mapping[str, Any]) -> Any:
    """Return a metric's scorer for frameworks that score each sample as soon as it is finished.

    `idf` is False by default. Raises InputError if the metric or a setting is unknown, if the
    settings request several scores, or if IDF would be estimated from the samples.
    """
    metric = find(name)
    has_idf = "idf" in metric.settings_type().__dataclass_fields__
    scorer = metric.scorer_type()(**({"idf": False} if has_idf else {}) | dict(settings))
    check_one_score(scorer.settings, "sample")
    return scorer


def present_references(name: str, references: object) -> list[str]:
    """Return a row's references without blank and missing texts. The list may be empty.

    `references` is a string, a list of strings or None. `name` is its name in messages. Raises
    InputError for other types.

    >>> present_references("answer[0]", ["Paris", None, " "]), present_references("answer[1]", None)
    (['Paris'], [])
    >>> present_references("answer[2]", 1969)
    Traceback (most recent call last):
    infolm_metric.InputError: answer[2] must be a string, got 1969 (int). Convert it...
    """
    if is_missing(references):
        return []
    if isinstance(references, str) or not hasattr(references, "__len__"):  # a number
        check_text(name, references)
        references = [references]
    texts = as_list(name, references)
    for index, text in enumerate(texts):
        if not is_missing(text):
            check_text(f"{name}[{index}]", text)
    return [text for text in texts if not (is_missing(text) or is_blank(text))]
