"""What pip installs: the wheel and the sdist carry the bundled model and score away from here."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.project_files import ROOT, project_files

WEIGHTS = (
    "infolm_metric/bundled/model.safetensors",
    "infolm_metric/bundled/nli/model.safetensors",
)
LARGEST_WHEEL = 100_000_000  # bytes
BUNDLED = {
    f"infolm_metric/bundled/{name}"
    for name in (
        "README.md",
        "baryscore_baseline.json",
        "config.json",
        "idf.json",
        "infolm_baseline.json",
        "menli_baseline.json",
        "model.safetensors",
        "nli/README.md",
        "nli/config.json",
        "nli/model.safetensors",
        "nli/tokenizer.json",
        "nli/tokenizer_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    )
}
HARNESSES = {"anyio", "inspect-ai", "lm-eval"}  # what infolm_metric/integrations is used in
LICENSES = {"LICENSE", "NOTICE"}
WORDS = {"infolm_metric/robustness/words.toml"}
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


def run(*command: str | Path, cwd: Path, **environment: str) -> list[str]:
    """The lines that the command printed; fails with all it said if it does not exit with 0."""
    result = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()


def build(kind: str, source: Path, into: Path) -> Path:
    """The one archive, a "wheel" or an "sdist", that is built from the project at source."""
    options = ["--no-isolation", f"--{kind}", "--outdir", into]
    run(sys.executable, "-m", "build", *options, source, cwd=into.parent)
    (archive,) = into.iterdir()
    return archive


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the project's files, so that building leaves nothing in the working tree."""
    copy = tmp_path_factory.mktemp("checkout")
    for path in project_files():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, copy / path)
    return copy


@pytest.fixture(scope="module")
def checkout_score(checkout, tmp_path_factory) -> str:
    """The score that the project's files print without being installed."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    _, score = run(sys.executable, "-c", SCORE, cwd=elsewhere, PYTHONPATH=str(checkout))
    return score


@pytest.fixture(scope="module")
def sdist(checkout, tmp_path_factory) -> Path:
    return build("sdist", checkout, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheels(checkout, sdist, tmp_path_factory) -> dict[str, Path]:
    """A wheel built from the checkout, and one from the unpacked sdist."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    sources = {"checkout": checkout, "sdist": next(unpacked.iterdir())}
    return {
        name: build("wheel", source, tmp_path_factory.mktemp("wheel"))
        for name, source in sources.items()
    }


@pytest.fixture(params=["checkout", "sdist"])
def wheel(request, wheels) -> Path:
    return wheels[request.param]


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory) -> Path:
    """A folder of its own that the wheel from the sdist is installed in."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-index", "--target", target]
    run(sys.executable, "-m", "pip", "install", *options, wheels["sdist"], cwd=target.parent)
    return target


def test_the_sdist_carries_the_bundled_model_and_the_licences(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= BUNDLED | LICENSES | WORDS


def test_the_wheel_carries_the_bundled_model_and_the_licences(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        weights = {name: archive.read(name) for name in WEIGHTS}
    assert names >= BUNDLED | WORDS
    assert {Path(name).name for name in names if ".dist-info/licenses/" in name} == LICENSES
    assert weights == {name: (ROOT / name).read_bytes() for name in WEIGHTS}
    assert Path(wheel).stat().st_size < LARGEST_WHEEL


def test_the_wheel_carries_nothing_but_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        folders = {name.partition("/")[0] for name in archive.namelist()}
    assert {folder.partition("-")[0] for folder in folders} == {"infolm_metric"}


def test_the_long_description_has_no_link_that_an_index_cannot_follow(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        targets = re.findall(r"\]\(([^)]+)\)", archive.read(metadata).decode())
    assert targets and [target for target in targets if not target.startswith("https://")] == []
    run(sys.executable, "-m", "doctest", "setup.py", cwd=ROOT)


def test_both_wheels_hold_the_same_bytes(wheels):
    """So that it is enough to install one."""
    contents = []
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            contents.append({(file.filename, file.CRC) for file in archive.infolist()})
    assert contents[0] == contents[1]


def test_an_installed_wheel_scores_as_the_checkout_does(installed, checkout_score, tmp_path):
    module, score = run(sys.executable, "-c", SCORE, cwd=tmp_path, PYTHONPATH=str(installed))
    assert Path(module) == installed / "infolm_metric" / "__init__.py"
    assert 0 < float(score) < 1
    assert score == checkout_score


def test_an_installed_wheel_brings_the_infolm_command(installed, tmp_path):
    usage = run(installed / "bin" / "infolm", "--help", cwd=tmp_path, PYTHONPATH=str(installed))
    assert usage[0].startswith("usage: infolm")


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
    names = {normalized(each) for name in outside for each in distributions.get(name, [name])}
    assert names - HARNESSES <= declared()
