"""Files of the project, for tests that examine the project as a whole."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def project_files() -> list[Path]:
    """List the files of the project relative to ROOT: tracked, or untracked and not ignored.

    Files of virtual environments are left out, whatever the environment is called.
    """
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    files = [Path(name) for name in sorted(set(listing.split("\0")) - {""})]
    environments = {file.parent for file in files if file.name == "pyvenv.cfg"}
    return [x for x in files if (ROOT / x).is_file() and environments.isdisjoint(x.parents)]
