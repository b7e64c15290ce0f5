"""Makes `evaluate.load("infolm")` find the installed package, from any folder, also offline.

`evaluate.load("infolm")` looks for ./infolm/infolm.py, then on the Hugging Face Hub, and then in
its cache of module scripts, where it takes the newest. Behind a firewall that drops packets it
waits minutes for the Hub; with HF_EVALUATE_OFFLINE=1 it goes to the cache at once, and
`evaluate.load(str(register()))` never asks the Hub.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import evaluate.config

# evaluate takes the first metric class among the names of the script, copies the script away and
# imports the copy. So there is one absolute import, and no class of its own: what evaluate loads
# is the package's class, which can be pickled and compared.
SCRIPT = '''\
"""InfoLM for `evaluate.load("infolm")`: the metric of the installed package infolm-metric."""

from infolm_metric import InfoLM

__all__ = ["InfoLM"]
'''


def register(modules_cache: str | os.PathLike[str] | None = None) -> Path:
    """The path of the module script, put where `evaluate.load("infolm")` finds it.

    `modules_cache` is the folder of evaluate's module scripts; by default the one that evaluate
    uses, which HF_HOME and HF_MODULES_CACHE change. Scripts of other versions go, and doing it
    again repairs what is damaged.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     script = register(folder)
    ...     script.name, len(script.parent.name), script.read_text() == SCRIPT
    ('infolm.py', 64, True)
    """
    root = Path(modules_cache or evaluate.config.HF_MODULES_CACHE).expanduser()
    version = hashlib.sha256(SCRIPT.encode()).hexdigest()
    below = (evaluate.config.MODULE_NAME_FOR_DYNAMIC_MODULES, "metrics", "evaluate-metric--infolm")
    folder = root
    for name in (*below, version):
        folder = folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
    script = folder / "infolm.py"
    _write(script, SCRIPT)
    for other in folder.parent.iterdir():
        if other.is_dir() and other != folder:
            shutil.rmtree(other, ignore_errors=True)  # what stays is older, and evaluate skips it
    return script


def _write(path: Path, text: str) -> None:
    """Nothing; writes the file at once, so that whoever reads it meanwhile gets a whole one."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
