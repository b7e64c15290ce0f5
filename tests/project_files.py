"""Files of the project, for tests that examine the project as a whole."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def project_files() -> list[Path]:
    """List the files of the project relative to ROOT: tracked, or untracked and not ignored."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = sorted(set(listing.split("\0")) - {""})
    return [Path(name) for name in names if (ROOT / name).is_file()]
