"""What every test stands on: no network, caches of its own, and tiny models that are built once.

Each worker of pytest-xdist is a process with its own caches, temporary folders, models and Space.

The environment is set before a test module imports the libraries that read it at import.
"""

import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
UNSET = (
    *("HF_DATASETS_CACHE", "HF_METRICS_CACHE", "HF_MODULES_CACHE"),
    *("INFOLM_MODEL", "INFOLM_NLI_MODEL"),
)

# What a folder and all below it, a file, or one test is marked with. `pytest -m "not slow"` leaves
# out what starts browsers, clusters, ranks or servers, builds packages, or takes long.
MARKS = {
    "tests/integration": ("slow",),
    "tests/packaging": ("slow",),
    "tests/space": ("slow",),
    "tests/space/browser": ("browser",),
    "tests/unit/baryscore/test_scorer.py::"
    "test_two_texts_as_long_as_the_model_takes_equal_the_literal_implementation": ("slow",),
    "tests/unit/bundled": ("slow",),
    "tests/unit/commands/test_main.py::test_an_interrupted_job_says_what_is_kept_and_goes_on": (
        "slow",
    ),
    "tests/unit/commands/test_main.py::test_no_progress_is_shown_in_a_pipe": ("slow",),
    "tests/unit/commands/test_main.py::"
    "test_progress_is_shown_on_a_terminal_unless_told_otherwise": ("slow",),
    "tests/unit/commands/test_main.py::test_a_reader_that_goes_away_is_no_error": ("slow",),
    "tests/unit/commands/test_main.py::"
    "test_one_pair_needs_neither_datasets_nor_evaluate_nor_pandas": ("slow",),
    "tests/unit/commands/test_register.py": ("slow",),
    "tests/unit/commands/test_main.py::test_the_hub_out_of_reach_is_said_once_and_soon": ("slow",),
    "tests/unit/infolm/test_measures.py::"
    "test_shares_are_finite_not_negative_and_add_up_to_the_score": ("slow",),
    "tests/unit/infolm/test_measures.py::test_identical_inputs_score_exactly_zero": ("slow",),
    "tests/unit/infolm/test_measures.py::test_only_unbounded_measures_are_called_unbounded": (
        "slow",
    ),
    "tests/unit/infolm/test_model_families.py": ("slow",),
    "tests/unit/infolm/test_peer_bugs.py": ("slow",),
    "tests/unit/infolm/test_scorer.py::"
    "test_every_measure_equals_the_literal_implementation_for_every_family": ("slow",),
    "tests/unit/running/test_ray.py": ("ray", "slow"),
    "tests/unit/running/test_resume.py": ("slow",),
    "tests/unit/running/test_toy.py": ("slow",),
}


def pytest_configure(config: pytest.Config) -> None:
    """Keeps the libraries off the network, and off the caches and choices of whoever runs this."""
    home = tempfile.mkdtemp(prefix="infolm-tests-")
    config.add_cleanup(functools.partial(shutil.rmtree, home, ignore_errors=True))
    os.environ.update(ENVIRONMENT, HF_HOME=home)
    for name in UNSET:
        os.environ.pop(name, None)
    # Workers that each took all cores would wait for each other. What starts the workers must not
    # set this, for they would inherit it.
    if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):
        threads = max(1, (os.cpu_count() or 1) // int(workers))
        os.environ.setdefault("OMP_NUM_THREADS", str(threads))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks every test as MARKS says of it and of the places it is in; the longest come first."""
    for item in items:
        path = item.path.relative_to(config.rootpath)
        places = [place.as_posix() for place in (path, *path.parents)]
        test = f"{path.as_posix()}::{item.name.partition('[')[0]}"
        for mark in [mark for place in (test, *places) for mark in MARKS.get(place, ())]:
            item.add_marker(mark)
    # A worker that met a long file last would work on alone.
    items.sort(key=lambda item: not item.get_closest_marker("slow"))
    items.sort(key=lambda item: not item.get_closest_marker("ray"))


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory) -> Callable[..., Path]:
    """A function from a family and overrides of its configuration to the model's folder."""
    from tests.model_families import build

    @functools.cache
    def folder(family: str, **overrides: object) -> Path:
        return build(family, tmp_path_factory.mktemp(family), **overrides)

    return folder


@pytest.fixture(scope="session")
def tiny_bert(tiny_models) -> Path:
    """The folder of a tiny BERT."""
    return tiny_models("bert")


@pytest.fixture(scope="session")
def space_url(tmp_path_factory) -> Iterator[str]:
    """The address of the Space, started once for all tests."""
    from tests.space_process import running_space

    with running_space(tmp_path_factory.mktemp("space")) as url:
        yield url


@pytest.fixture(scope="session")
def tiny_nli(tmp_path_factory) -> Callable[..., Path]:
    """A function from a family and labels to the folder of a tiny model of inference."""
    from tests import nli_models

    @functools.cache
    def folder(family: str = "bert", labels: tuple[str, ...] = nli_models.LABELS) -> Path:
        return nli_models.build(tmp_path_factory.mktemp(f"nli-{family}"), family, labels)

    return folder
