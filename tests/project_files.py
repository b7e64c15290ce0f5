"""Where the project's own files are, for tests that look at the project as a whole."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def project_files() -> list[Path]:
    """The files of the project, relative to ROOT: what git tracks, or would if asked to."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = sorted(set(listing.split("\0")) - {""})
    return [Path(name) for name in names if (ROOT / name).is_file()]
