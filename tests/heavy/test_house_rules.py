"""The rules of the house that a tool can check: lint, format, types, imports, paths and sizes."""

import re
import subprocess
import sys
from pathlib import Path

from tests.project_files import ROOT, project_files

TYPED = [name for name in ("infolm_metric", "space") if (ROOT / name).is_dir()]
MACHINE_PATH = re.compile(rb"(?<![\w.])/(?:work|root|farm|home|Users)/\w")
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"
WEIGHTS = {
    Path("infolm_metric/bundled/model.safetensors"),
    Path("infolm_metric/bundled/nli/model.safetensors"),
}


def assert_passes(*arguments: str) -> None:
    """Fail with what the tool printed if `python arguments`, run in ROOT, complains."""
    result = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_ruff_finds_nothing():
    assert_passes("-m", "ruff", "check", ".")


def test_the_code_is_formatted():
    assert_passes("-m", "ruff", "format", "--check", "--diff", ".")


def test_types_check():
    assert_passes("-m", "mypy", *TYPED)


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


RIGHT = """
from infolm_metric import BaryScore, BaryScorer, InfoLM, InfoLMScorer
scorer = InfoLMScorer(model_name_or_path="bundled", temperature=2.0)
mean: float = scorer.score(["a"], ["b"], information_measure=["kl", "l1"], idf=False)["infolm"]
InfoLM(temperature=1.5).compute(predictions=["a"], references=["b"], batch_size=8)
BaryScorer(layers="all").explain("a", "b", layers=[1, 2]).moves()[0].mass + 1.0
BaryScore(layers=2).compute(predictions=["a"], references=["b"], idf=False)
"""

WRONG = """
from infolm_metric import BaryScorer, InfoLM, InfoLMScorer
InfoLMScorer(temprature=2.0)
InfoLMScorer().score(["a"], ["b"], temperature="warm")
InfoLM(temprature=2.0)
InfoLM().compute(predictions=["a"], references=["b"], batch_size=[8])
BaryScorer(layers=2.5)
"""
# What the settings do not need is left unread, because that takes a minute.
CONFIGURATION = """
[mypy]
strict = True
follow_imports = silent
[mypy-torch.*,transformers.*,datasets.*,evaluate.*,numpy.*,scipy.*,huggingface_hub.*]
follow_imports = skip
follow_imports_for_stubs = True
"""


def test_a_static_checker_knows_the_settings(tmp_path):
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    for name, snippet in (("right", RIGHT), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(snippet)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "right.py", "wrong.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [line.split(" error: ")[0] for line in done.stdout.splitlines() if " error: " in line]
    assert lines == [f"wrong.py:{number}:" for number in (3, 4, 5, 6, 7)], done.stdout
