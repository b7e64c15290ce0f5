"""Export the demo and the package to a folder that can be pushed to a Hugging Face Space.

    python space/export.py FOLDER --user USER --metric infolm

The demo starts with the chosen metric. The folder contains the metric's card, tests and module
script, and the package's sources and wheel. `evaluate.load("USER/infolm")` loads the script. Where
the package is missing, `evaluate` names the command that installs the wheel from the Space. The
requirements.txt pins the demo's dependencies to the tested versions.
"""

from __future__ import annotations

import argparse
import pprint
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name

from huggingface_hub import constants

from infolm_metric.core import __version__
from infolm_metric.core.checks import InputError
from infolm_metric.integrations.register import module_script
from infolm_metric.metrics import METRICS, Metric

SPACE = Path(__file__).resolve().parent
ROOT = SPACE.parent

WHEEL = f"infolm_metric-{__version__}-py3-none-any.whl"
LFS = "filter=lfs diff=lfs merge=lfs -text"
EXCLUSIONS = shutil.ignore_patterns("__pycache__", "*.pyc", "export.py", "cards", "screenshot.png")
IMPORTED_PACKAGES = (
    *("gradio", "pandas", "torch", "transformers", "tokenizers", "safetensors", "huggingface_hub"),
    *("datasets", "numpy", "scipy", "POT", "filelock"),
)
# Texts in tests.py: identical, similar and unrelated.
EXAMPLES = {
    "predictions": ["The cat sat on the mat.", "Heavy rain fell.", "Dinner is ready."],
    "references": ["The cat sat on the mat.", "It rained hard.", "The bank raised its rates."],
    "model_name_or_path": "bundled",
}


def export(folder: Path, user: str, metric: str) -> None:
    """Export the Space to a new or empty folder. Raise InputError for an invalid argument."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} must be a new or empty folder. Choose another path.")
    if not re.fullmatch(r"\w[\w.-]*", user):
        raise InputError(f"--user must be a name on the Hub (letters, digits, . _ -), got {user!r}")
    entry = METRICS[metric]
    address = f"{constants.ENDPOINT}/spaces/{user}/{entry.registered_name}"
    wheel = f"{address}/resolve/main/{WHEEL}"
    shutil.copytree(SPACE, folder, ignore=EXCLUSIONS, dirs_exist_ok=True)
    shutil.copytree(ROOT / "infolm_metric", folder / "infolm_metric", ignore=EXCLUSIONS)
    for name in ("LICENSE", "NOTICE", "setup.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    card = (SPACE / "cards" / f"{metric}.md").read_text("utf-8")
    setup = (ROOT / "setup.cfg").read_text("utf-8")
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if re.split(r"[=;]", line)[0] in IMPORTED_PACKAGES]
    files = {
        "README.md": card.replace("WHEEL", wheel).replace("USER", user),
        "setup.cfg": setup.replace("project_urls =", f"project_urls =\n    Homepage = {address}"),
        f"{entry.registered_name}.py": module_script(entry, documentation(entry), wheel),
        "tests.py": test_cases(entry),
        "requirements.txt": "\n".join(pins) + "\n",
        ".gitattributes": f"*.safetensors {LFS}\n*.whl {LFS}\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    build_wheel(folder)


def documentation(metric: Metric) -> str:
    """Return the description and the citation of a metric."""
    info = resolve_name(metric.evaluate)().info
    return f"{info.description.strip()}\n\nCitation:\n{info.citation.strip()}"


def test_cases(metric: Metric) -> str:
    """Return the source of a module with examples and scores, as in the template of `evaluate`."""
    with warnings.catch_warnings(action="ignore"):  # texts are few
        result = resolve_name(metric.evaluate)().compute(**EXAMPLES, details=False)
    cases = [{**EXAMPLES, "result": {name: round(score, 4) for name, score in result.items()}}]
    return f"test_cases = {pprint.pformat(cases, sort_dicts=False)}\n"


def build_wheel(folder: Path) -> None:
    """Build the package's wheel in the folder with the installed setuptools."""
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder))
    command = (sys.executable, "-m", "pip", "wheel", *options, str(folder))
    if subprocess.run(command).returncode:
        raise InputError('the wheel cannot be built. Run: pip install "setuptools>=77"')
    for name in ("build", "infolm_metric.egg-info"):
        shutil.rmtree(folder / name, ignore_errors=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Export a folder that can be pushed to a Space.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="output folder, new or empty")
    parser.add_argument("--user", required=True, help="owner of the Space on the Hub")
    parser.add_argument("--metric", choices=METRICS, default="infolm", help="metric of the Space")
    arguments = parser.parse_args(argv)
    try:
        export(arguments.folder, arguments.user, arguments.metric)
    except (OSError, InputError) as error:
        parser.error(str(error))
    folder = arguments.folder
    print(f"exported to {folder}. Push it to a Space, or run it with `python {folder}/app.py`.")


if __name__ == "__main__":
    main()
