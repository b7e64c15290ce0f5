"""What every test stands on: no network, caches of its own, and tiny models that are built once.

Each worker of pytest-xdist is a process with its own caches, temporary folders, models and Space.

The environment is set before a test module imports the libraries that read it at import.
"""

import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis
import pytest

ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
UNSET = (
    *("HF_DATASETS_CACHE", "HF_METRICS_CACHE", "HF_MODULES_CACHE"),
    *("INFOLM_MODEL", "INFOLM_NLI_MODEL"),
)


# A busy machine is no fault, and the fixtures of these tests stay as they are between examples.
hypothesis.settings.register_profile(
    "infolm",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),  # a landing does not hang on a draw
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("infolm")


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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file go to one worker, which makes what they share once."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.as_posix()))


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


@pytest.fixture(scope="module")
def scorer(tiny_bert) -> Any:
    """InfoLM's, with a tiny BERT."""
    from infolm_metric import InfoLMScorer

    return InfoLMScorer(model_name_or_path=tiny_bert)


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


@pytest.fixture
def page_folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """The working folder, which looks like the checkout; what a page adds goes with it."""
    from infolm_metric.infolm.measures import MEASURES
    from infolm_metric.metrics import METRICS
    from tests.project_files import ROOT

    (tmp_path / "infolm_metric").symlink_to(ROOT / "infolm_metric")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFOLM_MODEL", "bundled")
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    monkeypatch.syspath_prepend(tmp_path)
    with patch.dict(METRICS), patch.dict(MEASURES):
        yield tmp_path
    for module in tmp_path.glob("*.py"):
        sys.modules.pop(module.stem, None)


@pytest.fixture
def no_model(monkeypatch) -> None:
    """Fails a test in which weights are loaded."""
    from infolm_metric.baryscore import scorer
    from infolm_metric.core import models
    from infolm_metric.infolm import encoders
    from infolm_metric.menli import nli

    def load_weights(*arguments: Any, **options: Any) -> None:
        pytest.fail("a model was loaded")

    for module in (models, encoders, scorer, nli):
        monkeypatch.setattr(module, "load_weights", load_weights)
