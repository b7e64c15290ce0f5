"""Project rules that tools can check: lint, format, types, imports, paths and file sizes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project_files import ROOT, project_files

HOOKS = re.findall(r"entry: (.+)", (ROOT / ".pre-commit-config.yaml").read_text())
MACHINE_PATH = re.compile(rb"(?<![\w.])/(?:work|root|farm|home|Users)/\w")
BUNDLED = Path("infolm_metric/bundled")
WEIGHTS = {BUNDLED / "model.safetensors", BUNDLED / "nli/model.safetensors"}
VALID = """# mypy: disallow-untyped-calls
from infolm_metric import BaryScorer, BaryScoreSettings, InfoLM, InfoLMScorer, InfoLMSettings
scorer = InfoLMScorer(InfoLMSettings(model_name_or_path="bundled", temperature=2.0, idf=False))
mean: float = scorer.score(["a"], ["b"], information_measure=["kl", "l1"])["infolm"]
InfoLM(temperature=1.5).compute(predictions=["a"], references=["b"], batch_size=8)
BaryScorer(BaryScoreSettings(layers=(1, 2))).explain("a", "b").moves()[0].mass + 1.0
"""
INVALID = """# mypy: disallow-untyped-calls
from infolm_metric import BaryScoreSettings, InfoLMScorer, InfoLMSettings, MENLISettings
InfoLMSettings(temprature=2.0)
InfoLMSettings(temperature="warm")
BaryScoreSettings(layers=2.5)
MENLISettings(direction="ah")
InfoLMScorer().score(["a"], ["b"], verbose="much")
"""


def run(command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a tool from this environment in ROOT."""
    tool, *options = command.split()
    program = Path(sys.executable).parent / tool
    command_line = [program, *options, *arguments]
    return subprocess.run(command_line, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if not hook.startswith("mypy")])
def test_pre_commit_hooks_pass(hook):
    options = {"ruff format": "--check .", "ruff check": ".", "lint-imports": "--no-cache"}
    process = run(f"{hook} {options.get(hook, '')}")
    assert process.returncode == 0, process.stdout + process.stderr


def test_mypy_finds_errors_only_in_a_program_with_invalid_settings(tmp_path):
    """Check the package and programs that use it in a single run, because each run is slow."""
    programs = {tmp_path / "right.py": VALID, tmp_path / "wrong.py": INVALID}
    for path, program in programs.items():
        path.write_text(program)
    (hook,) = (hook for hook in HOOKS if hook.startswith("mypy"))
    process = run(hook, *programs)
    errors = re.findall(r"^.*?([\w.]+):(\d+): error", process.stdout, re.MULTILINE)
    expected = [("wrong.py", str(line)) for line in range(3, 8)]
    assert errors == expected, process.stdout + process.stderr


def test_no_file_contains_a_local_path():
    lines = [
        f"{path}:{number}: {line.decode(errors='replace')}"
        for path in project_files()
        if path not in WEIGHTS
        for number, line in enumerate((ROOT / path).read_bytes().splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not lines, "\n".join(lines)


def test_only_bundled_weights_exceed_1_mb_and_none_exceeds_48_mb():
    sizes = {path: (ROOT / path).stat().st_size for path in project_files()}
    assert {path for path, size in sizes.items() if size > 1_000_000} <= WEIGHTS
    assert max(sizes.values()) <= 48_000_000
