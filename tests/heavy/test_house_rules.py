"""The rules of the house that a tool can check: lint, format, types, imports, paths and sizes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project_files import ROOT, project_files

TYPED = [name for name in ("infolm_metric", "space") if (ROOT / name).is_dir()]
MACHINE_PATH = re.compile(rb"(?<![\w.])/(?:work|root|farm|home|Users)/\w")
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"
WEIGHTS = {
    Path("infolm_metric/bundled/model.safetensors"),
    Path("infolm_metric/bundled/nli/model.safetensors"),
}


RIGHT = """# mypy: disallow-untyped-calls
from infolm_metric import BaryScore, BaryScorer, InfoLM, InfoLMScorer
scorer = InfoLMScorer(model_name_or_path="bundled", temperature=2.0)
mean: float = scorer.score(["a"], ["b"], information_measure=["kl", "l1"], idf=False)["infolm"]
InfoLM(temperature=1.5).compute(predictions=["a"], references=["b"], batch_size=8)
BaryScorer(layers="all").explain("a", "b", layers=[1, 2]).moves()[0].mass + 1.0
BaryScore(layers=2).compute(predictions=["a"], references=["b"], idf=False)
"""
WRONG = """# mypy: disallow-untyped-calls
from infolm_metric import BaryScorer, InfoLM, InfoLMScorer
InfoLMScorer(temprature=2.0)
InfoLMScorer().score(["a"], ["b"], temperature="warm")
InfoLM(temprature=2.0)
InfoLM().compute(predictions=["a"], references=["b"], batch_size=[8])
BaryScorer(layers=2.5)
"""


def assert_passes(*arguments: str) -> None:
    """Fail with what the tool printed if `python arguments`, run in ROOT, complains."""
    result = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_ruff_finds_nothing():
    assert_passes("-m", "ruff", "check", ".")


def test_the_code_is_formatted():
    assert_passes("-m", "ruff", "format", "--check", "--diff", ".")


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy says, in one run, of the package, of the page and of a user's two programs."""
    folder = tmp_path_factory.mktemp("user")
    files = [folder / "right.py", folder / "wrong.py"]
    for file, program in zip(files, (RIGHT, WRONG), strict=True):
        file.write_text(program)
    command = [sys.executable, "-m", "mypy", *TYPED, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.stderr and done.returncode == 1, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if " error: " in line]


def test_types_check(complaints):
    assert [line for line in complaints if "wrong.py:" not in line] == []


def test_a_static_checker_knows_the_settings(complaints):
    lines = [re.search(r"wrong\.py:(\d+): ", line) for line in complaints]
    assert [int(line[1]) for line in lines if line] == [3, 4, 5, 6, 7]


def test_imports_go_one_way():
    """The contracts are in setup.cfg."""
    assert_passes("-c", LINT_IMPORTS, "--no-cache")


def test_what_runs_before_a_commit_is_what_runs_here():
    configuration = (ROOT / ".pre-commit-config.yaml").read_text()
    entries = re.findall(r"entry: (.+)", configuration)
    assert entries == ["ruff format", "ruff check", f"mypy {' '.join(TYPED)}", "lint-imports"]


def test_no_file_names_a_path_of_a_machine():
    found = [
        f"{path}:{number}: {line.decode(errors='replace')}"
        for path in project_files()
        if path not in WEIGHTS
        for number, line in enumerate((ROOT / path).read_bytes().splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)


def test_only_the_bundled_weights_are_large():
    large = {path for path in project_files() if (ROOT / path).stat().st_size > 1_000_000}
    assert large <= WEIGHTS


def test_the_bundled_weights_keep_within_their_48_megabytes():
    assert all((ROOT / path).stat().st_size <= 48_000_000 for path in WEIGHTS)
