"""Export the demo and the package to a folder that can be deployed as a Hugging Face Space.

    python space/export.py FOLDER --metric infolm

The demo starts with the chosen metric. The folder contains the metric's card and module script, so
`evaluate.load("<user>/<metric>")` works. Its requirements.txt pins the demo's dependencies to the
tested versions. Push the folder to a Space with git. Large files are stored in LFS.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from infolm_metric.core.checks import InputError
from infolm_metric.integrations.register import module_script
from infolm_metric.metrics import METRICS

SPACE = Path(__file__).resolve().parent
ROOT = SPACE.parent

LARGE_FILES = "*.safetensors filter=lfs diff=lfs merge=lfs -text\n"
EXCLUSIONS = shutil.ignore_patterns("__pycache__", "*.pyc", "export.py", "cards", "screenshot.png")
IMPORTED_PACKAGES = (
    *("gradio", "pandas", "torch", "transformers", "tokenizers", "safetensors", "huggingface_hub"),
    *("datasets", "numpy", "scipy", "POT", "filelock"),
)


def export(folder: Path, metric: str) -> None:
    """Export the Space to a new or empty folder. Raise InputError for any other path."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} must be a new or empty folder. Choose another path.")
    shutil.copytree(SPACE, folder, ignore=EXCLUSIONS, dirs_exist_ok=True)
    shutil.copytree(ROOT / "infolm_metric", folder / "infolm_metric", ignore=EXCLUSIONS)
    shutil.copy(SPACE / "cards" / f"{metric}.md", folder / "README.md")
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder / name)
    script = folder / f"{METRICS[metric].registered_name}.py"
    script.write_text(module_script(METRICS[metric]))
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if re.split(r"[=;]", line)[0] in IMPORTED_PACKAGES]
    (folder / "requirements.txt").write_text("\n".join(pins) + "\n")
    (folder / ".gitattributes").write_text(LARGE_FILES)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Export a folder that can be deployed as a Space.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="output folder, new or empty")
    parser.add_argument("--metric", choices=METRICS, default="infolm", help="metric of the Space")
    arguments = parser.parse_args(argv)
    try:
        export(arguments.folder, arguments.metric)
    except (OSError, InputError) as error:
        parser.error(str(error))
    folder = arguments.folder
    print(f"exported to {folder}. Push it to a Space, or run it with `python {folder}/app.py`.")


if __name__ == "__main__":
    main()
