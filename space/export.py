"""Makes a folder that deploys as a Hugging Face Space: the page with the package beside it.

    python space/export.py FOLDER --metric infolm

The page opens with the metric named, whose card and module script lie in the folder, so that
`evaluate.load("<user>/<metric>")` finds it. A Space is built with nothing but its requirements.txt
in sight: that file names what the page imports, in the versions that the tests run with. Push the
folder to a Space with git; its large files go into LFS.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

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
    """Make the folder; raises ValueError if there is something in it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} exists and is not an empty folder; name a new one")
    shutil.copytree(SPACE, folder, ignore=EXCLUSIONS, dirs_exist_ok=True)
    shutil.copytree(ROOT / "infolm_metric", folder / "infolm_metric", ignore=EXCLUSIONS)
    shutil.copy(SPACE / "cards" / f"{metric}.md", folder / "README.md")
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder / name)
    (folder / f"{metric}.py").write_text(module_script(METRICS[metric]))
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if re.split(r"[=;]", line)[0] in IMPORTED_PACKAGES]
    (folder / "requirements.txt").write_text("\n".join(pins) + "\n")
    (folder / ".gitattributes").write_text(LARGE_FILES)


def main(argv: Sequence[str] | None = None) -> None:
    """Make the folder that the arguments name."""
    parser = argparse.ArgumentParser(description="Make a folder that deploys as a Space.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    parser.add_argument("--metric", choices=METRICS, default="infolm", help="which metric it is of")
    arguments = parser.parse_args(argv)
    try:
        export(arguments.folder, arguments.metric)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(f"{arguments.folder}: push it to a Space, or try it: python {arguments.folder}/app.py")


if __name__ == "__main__":
    main()
