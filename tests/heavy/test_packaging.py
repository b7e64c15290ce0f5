"""The wheel and the sdist contain the whole package, and an installed wheel computes scores."""

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

MAX_WHEEL_BYTES = 100_000_000
# Frameworks that load infolm_metric/integrations.
HARNESSES = {"anyio", "inspect-ai", "lm-eval", "mlflow"}
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


def normalize(name: str) -> str:
    """Return the normalized name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared_dependencies() -> set[str]:
    """Return the names of the dependencies in setup.cfg, with every extra."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    parts = [setup["options"]["install_requires"], *setup["options.extras_require"].values()]
    names = {normalize(re.split(r"[<>=[]", line)[0]) for part in parts for line in part.split()}
    return names - {"infolm-metric"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """Copy of the project, so that building writes nothing to the working tree."""
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
def installation(archives, tmp_path_factory) -> Path:
    """Folder in which the wheel is installed."""
    target = tmp_path_factory.mktemp("installed")
    options = ("--no-deps", "--no-index", "--target", target)
    printed("-m", "pip", "install", *options, archives[1], cwd=target.parent)
    return target


def test_sdist_contains_the_package_and_the_licences(archives):
    with tarfile.open(archives[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= PACKAGE | LICENSES


def test_wheel_contains_only_the_package_and_the_licences(archives):
    with zipfile.ZipFile(archives[1]) as archive:
        names = set(archive.namelist())
        for weights in (name for name in PACKAGE if name.endswith(".safetensors")):
            assert archive.read(weights) == (ROOT / weights).read_bytes()
    metadata_files = {name for name in names if ".dist-info/" in name}
    assert names - metadata_files == PACKAGE
    assert {Path(name).name for name in metadata_files if "/licenses/" in name} == LICENSES
    assert archives[1].stat().st_size < MAX_WHEEL_BYTES


def test_long_description_has_only_absolute_links(archives):
    with zipfile.ZipFile(archives[1]) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        targets = re.findall(r"\]\(([^)]+)\)", archive.read(metadata).decode())
    assert targets and [target for target in targets if not target.startswith("https://")] == []
    printed("-m", "doctest", "setup.py", cwd=ROOT)


def test_installed_wheel_gives_the_scores_of_the_checkout(installation, tmp_path, capsys):
    environment = {"PYTHONPATH": str(installation)}
    module, score = printed("-c", SCORE, cwd=tmp_path, env=environment).splitlines()
    assert Path(module) == installation / "infolm_metric" / "__init__.py"
    exec(SCORE, {})
    _, expected = capsys.readouterr().out.splitlines()
    assert 0 < float(score) < 1 and float(score) == pytest.approx(float(expected), abs=1e-6)


def test_installed_wheel_provides_the_infolm_command(installation, tmp_path):
    environment = {"PYTHONPATH": str(installation)}
    usage = printed(installation / "bin" / "infolm", "--help", cwd=tmp_path, env=environment)
    assert usage.startswith("usage: infolm")


def test_requirements_pin_every_declared_dependency_exactly():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not EXACT_PIN.fullmatch(pin)] == []
    assert declared_dependencies() <= {normalize(pin.partition("==")[0]) for pin in pins}


def test_every_import_is_a_declared_dependency():
    """Check this because packages installed only as dependencies may disappear with an update."""
    imported = set()
    for path in (ROOT / "infolm_metric").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    distributions = packages_distributions()
    external = imported - sys.stdlib_module_names - {"infolm_metric"}
    names = {normalize(name) for module in external for name in distributions.get(module, [module])}
    assert names - HARNESSES <= declared_dependencies()
