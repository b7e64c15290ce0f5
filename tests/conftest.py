"""Common fixtures: no network, separate caches, and tiny models that are built once.

Each worker of pytest-xdist is a process with its own caches, temporary folders, models and Space.

The environment is set first, because conftest.py files in folders import libraries that read it.
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

# Tests of batch invariance require the CPU, so GPUs are hidden.
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
UNSET = ("HF_DATASETS_CACHE", "HF_METRICS_CACHE", "HF_MODULES_CACHE")
UNSET += ("INFOLM_MODEL", "INFOLM_NLI_MODEL")
HOME = tempfile.mkdtemp(prefix="infolm-tests-")

# Keep the libraries off the network and away from the user's caches and settings.
os.environ.update(ENVIRONMENT, HF_HOME=HOME)
for variable in UNSET:
    os.environ.pop(variable, None)
# Workers that each use all cores would slow each other down. The process that starts the workers
# must not set this variable, because they would inherit it.
if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // int(workers))))

# Tests may be slow on a busy machine, and their fixtures do not change between examples.
hypothesis.settings.register_profile(
    "infolm",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),  # reproducible results
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("infolm")


def pytest_configure(config: pytest.Config) -> None:
    config.add_cleanup(functools.partial(shutil.rmtree, HOME, ignore_errors=True))


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory) -> Callable[..., Path]:
    """Function that returns the folder of a tiny model, given a family and overrides."""
    from tests.model_families import build

    @functools.cache
    def folder(family: str, **overrides: object) -> Path:
        return build(family, tmp_path_factory.mktemp(family), **overrides)

    return folder


@pytest.fixture(scope="session")
def tiny_bert(tiny_models) -> Path:
    """Folder of a tiny BERT."""
    return tiny_models("bert")


@pytest.fixture(scope="module")
def scorer(tiny_bert) -> Any:
    """InfoLM scorer with a tiny BERT."""
    from infolm_metric import InfoLMScorer

    return InfoLMScorer(model_name_or_path=tiny_bert)


@pytest.fixture(scope="session")
def space_url(tmp_path_factory) -> Iterator[str]:
    """URL of the Space, which is started once for all tests."""
    from tests.space_process import running_space

    with running_space(tmp_path_factory.mktemp("space")) as url:
        yield url


@pytest.fixture(scope="session")
def tiny_nli(tmp_path_factory) -> Callable[..., Path]:
    """Function that returns the folder of a tiny NLI model, given a family and labels."""
    from tests import nli_models

    @functools.cache
    def folder(family: str = "bert", labels: tuple[str, ...] = nli_models.LABELS) -> Path:
        return nli_models.build(tmp_path_factory.mktemp(f"nli-{family}"), family, labels)

    return folder


@pytest.fixture
def page_folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """Working folder that looks like the checkout. Changes made by a page are undone."""
    from infolm_metric.infolm.measures import FORMULAS, MEASURES
    from infolm_metric.metrics import METRICS
    from tests.project_files import ROOT

    (tmp_path / "infolm_metric").symlink_to(ROOT / "infolm_metric")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFOLM_MODEL", "bundled")
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    monkeypatch.syspath_prepend(tmp_path)
    with patch.dict(METRICS), patch.dict(MEASURES), patch.dict(FORMULAS):
        yield tmp_path
    for module in tmp_path.glob("*.py"):
        sys.modules.pop(module.stem, None)


@pytest.fixture
def no_model(monkeypatch) -> None:
    """Guard that fails the test if weights are loaded."""
    from infolm_metric.models import checkpoints, encoders

    def load_weights(*arguments: Any, **options: Any) -> None:
        pytest.fail("a model was loaded")

    for module in (checkpoints, encoders):
        monkeypatch.setattr(module, "load_weights", load_weights)
