"""Makes a folder that deploys as a Hugging Face Space: the page with the package beside it.

    python space/export.py FOLDER

A Space is built with nothing but its requirements.txt in sight: so that file names the
dependencies alone, in the versions that the tests run with, and the package is copied beside the
page. Push the folder to a Space with git; its large file goes into LFS.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Sequence
from configparser import ConfigParser
from pathlib import Path

SPACE = Path(__file__).resolve().parent
ROOT = SPACE.parent
LARGE_FILES = "*.safetensors filter=lfs diff=lfs merge=lfs -text\n"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "export.py", "screenshot.png")


def export(folder: Path) -> None:
    """Make the folder; raises ValueError if there is something in it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} exists and is not an empty folder; name a new one")
    shutil.copytree(SPACE, folder, ignore=LEFT_OUT, dirs_exist_ok=True)
    shutil.copytree(ROOT / "infolm_metric", folder / "infolm_metric", ignore=LEFT_OUT)
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "requirements.txt").write_text("\n".join(pins()) + "\n")
    (folder / ".gitattributes").write_text(LARGE_FILES)


def pins() -> list[str]:
    """What the package and the page import, in the versions of requirements.txt."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    needed = {
        _name(line)
        for section, key in (("options", "install_requires"), ("options.extras_require", "space"))
        for line in config[section][key].split("\n")
        if line
    }
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [line for line in lines if _name(line) in needed]


def _name(requirement: str) -> str:
    """The name of what a line of requirements asks for, as the index writes it."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def main(argv: Sequence[str] | None = None) -> None:
    """Make the folder that the arguments name."""
    parser = argparse.ArgumentParser(description="Make a folder that deploys as a Space.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    folder = parser.parse_args(argv).folder
    try:
        export(folder)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(f"{folder}: push it to a Space, or try it: python {folder / 'app.py'}")


if __name__ == "__main__":
    main()
