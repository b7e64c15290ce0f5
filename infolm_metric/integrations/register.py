"""Registration of the metrics with `evaluate`, so that `evaluate.load("infolm")` finds them.

`evaluate.load("infolm")` searches for ./infolm/infolm.py, then queries the Hugging Face Hub, and
finally loads the newest script in its cache of module scripts.
`evaluate.load(str(register()["infolm"]))` never queries the Hub.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from infolm_metric.core.files import write_text
from infolm_metric.metrics import METRICS, Metric


def module_script(metric: Metric, documentation: str = "", wheel: str = "") -> str:
    """Return the script from which `evaluate` loads one of the package's metrics.

    `evaluate` uses the first metric class in a copy of the script. The script imports this class
    from the package, so that instances can be pickled and compared. If the package is missing,
    `evaluate` names the command that installs the address after "From:", here a `wheel`.
    """
    name, (module, _, kind) = metric.registered_name, metric.evaluate.partition(":")
    source = f"  # From: {wheel}" if wheel else ""
    summary = f'{kind} for `evaluate.load("{name}")`: the metric of the package infolm-metric.'
    docstring = f"{summary}\n\n{documentation}".strip()
    return f'''\
r"""{docstring}
"""

from {module} import {kind}{source}

__all__ = ["{kind}"]
'''


def register(modules_cache: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Write each metric's module script to the folder that `evaluate.load(name)` searches.

    Other modules with the same names are kept. A second call repairs damaged scripts. By default,
    `modules_cache` is the folder that `evaluate` uses, which depends on HF_HOME and
    HF_MODULES_CACHE. The result maps each registered name to the path of its script. BERTScore is
    registered as infolm_bertscore, because the Hub has another bertscore. Raises OSError if the
    folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     script = register(folder)["infolm"]
    ...     script.name, len(script.parent.name), script.read_text().splitlines()[3]
    ('infolm.py', 64, 'from infolm_metric.infolm_metric import InfoLM')
    """
    from evaluate import config

    root = Path(modules_cache or config.HF_MODULES_CACHE).expanduser()
    folder = root / config.MODULE_NAME_FOR_DYNAMIC_MODULES / "metrics"
    try:
        return {
            metric.registered_name: _write(module_script(metric), folder, metric.registered_name)
            for metric in METRICS.values()
        }
    except OSError as error:
        raise OSError(
            f"cannot write the module scripts to the folder {str(root)!r}: "
            f"{error.strerror or error}. Choose a writable folder: modules_cache in Python, or the "
            "variable HF_MODULES_CACHE, or HF_HOME for all Hugging Face caches."
        ) from error


def _write(text: str, metrics: Path, name: str) -> Path:
    """Write a script to evaluate's cache, below the folder `metrics`, and return its path."""
    folder = metrics / f"evaluate-metric--{name}" / hashlib.sha256(text.encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    for package in (folder, *list(folder.parents)[:3]):
        (package / "__init__.py").touch()
    script = folder / f"{name}.py"
    # The write is atomic, because other processes may read the script. An existing script is also
    # rewritten, because evaluate selects the newest script.
    write_text(script, text)
    return script
