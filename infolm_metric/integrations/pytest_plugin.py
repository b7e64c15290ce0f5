"""Fixtures for pytest, which finds this module through an entry point.

The fixtures return the functions in assertions.py, which imports torch. Each test run (with
pytest-xdist, each worker) loads a model at most once.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def assert_answer() -> Callable[..., None]:
    """Return the function that fails unless an answer is correct: (answer, references, allow)."""
    from infolm_metric.integrations import assertions

    return assertions.assert_answer


@pytest.fixture(scope="session")
def assert_not_worse() -> Callable[..., None]:
    """Return the function that fails if texts are worse: (new, old, references, metric)."""
    from infolm_metric.integrations import assertions

    return assertions.assert_not_worse
