"""What pip installs: the wheel and the sdist carry the package whole and score away from here."""

import ast
import re
import shutil
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.processes import printed
from tests.project_files import ROOT, project_files

LARGEST_WHEEL = 100_000_000  # bytes
HARNESSES = {"anyio", "inspect-ai", "lm-eval"}  # what infolm_metric/integrations is used in
LICENSES = {"LICENSE", "NOTICE"}
PACKAGE = {str(path) for path in project_files() if path.parts[0] == "infolm_metric"}
EXACT_PIN = re.compile(r"[\w-]+==[\d.]+(\.post\d+)?(; python_version (<|>=) \"3\.\d+\")?")
SCORE = """
import infolm_metric
scorer = infolm_metric.InfoLMScorer(model_name_or_path="bundled")
result = scorer.score(["The cat sat on the mat."], ["A cat was sitting on the mat."])
print(infolm_metric.__file__)
print(*result.scores["fisher_rao_distance"])
"""


def normalized(name: str) -> str:
    """The name of a distribution in the one spelling that the index compares by."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    """The names of what setup.cfg asks for, with every extra."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    parts = [setup["options"]["install_requires"], *setup["options.extras_require"].values()]
    names = {normalized(re.split(r"[<>=[]", line)[0]) for part in parts for line in part.split()}
    return names - {"infolm-metric"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the project's files, so that building leaves nothing in the working tree."""
    copy = tmp_path_factory.mktemp("checkout")
    for path in project_files():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, copy / path)
    return copy


@pytest.fixture(scope="module")
def archives(checkout, tmp_path_factory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("archives")
    printed("-m", "build", "--no-isolation", checkout, "--outdir", folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(archives, tmp_path_factory) -> Path:
    """A folder of its own that the wheel is installed in."""
    target = tmp_path_factory.mktemp("installed")
    options = ("--no-deps", "--no-index", "--target", target)
    printed("-m", "pip", "install", *options, archives[1], cwd=target.parent)
    return target


def test_the_sdist_carries_the_package_and_the_licences(archives):
    with tarfile.open(archives[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= PACKAGE | LICENSES


def test_the_wheel_carries_the_package_and_the_licences_and_nothing_else(archives):
    with zipfile.ZipFile(archives[1]) as archive:
        names = set(archive.namelist())
        for weights in (name for name in PACKAGE if name.endswith(".safetensors")):
            assert archive.read(weights) == (ROOT / weights).read_bytes()
    about = {name for name in names if ".dist-info/" in name}
    assert names - about == PACKAGE
    assert {Path(name).name for name in about if "/licenses/" in name} == LICENSES
    assert archives[1].stat().st_size < LARGEST_WHEEL


def test_the_long_description_has_no_link_that_an_index_cannot_follow(archives):
    with zipfile.ZipFile(archives[1]) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        targets = re.findall(r"\]\(([^)]+)\)", archive.read(metadata).decode())
    assert targets and [target for target in targets if not target.startswith("https://")] == []
    printed("-m", "doctest", "setup.py", cwd=ROOT)


def test_an_installed_wheel_scores_as_the_checkout_does(installed, checkout, tmp_path):
    (module, score), (_, expected) = (
        printed("-c", SCORE, cwd=tmp_path, env={"PYTHONPATH": str(folder)}).splitlines()
        for folder in (installed, checkout)
    )
    assert Path(module) == installed / "infolm_metric" / "__init__.py"
    assert 0 < float(score) < 1 and float(score) == pytest.approx(float(expected), abs=1e-6)


def test_an_installed_wheel_brings_the_infolm_command(installed, tmp_path):
    environment = {"PYTHONPATH": str(installed)}
    usage = printed(installed / "bin" / "infolm", "--help", cwd=tmp_path, env=environment)
    assert usage.startswith("usage: infolm")


def test_requirements_pin_every_declared_dependency_exactly():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not EXACT_PIN.fullmatch(pin)] == []
    assert declared() <= {normalized(pin.partition("==")[0]) for pin in pins}


def test_every_import_of_the_package_is_declared():
    """What only comes along with another package goes when that package drops it."""
    imported = set()
    for path in (ROOT / "infolm_metric").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    distributions = packages_distributions()
    outside = imported - sys.stdlib_module_names - {"infolm_metric"}
    names = {normalized(name) for module in outside for name in distributions.get(module, [module])}
    assert names - HARNESSES <= declared()
