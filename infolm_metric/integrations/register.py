"""Registration of the metrics with `evaluate`, so that `evaluate.load("infolm")` finds them.

`evaluate.load("infolm")` looks for ./infolm/infolm.py, then on the Hugging Face Hub, and then in
its cache of module scripts, where it selects the newest one.
`evaluate.load(str(register()["infolm"]))` never queries the Hub.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from infolm_metric.core.files import write_whole
from infolm_metric.metrics import METRICS, Metric


def module_script(metric: Metric) -> str:
    """Return the script from which `evaluate` loads a metric of the package.

    `evaluate` copies the script, imports the copy and uses the first metric class in it. The script
    only imports the class of the package, with an absolute import, so that instances can be pickled
    and compared.
    """
    name, (module, _, kind) = metric.name, metric.evaluate.partition(":")
    return f'''\
"""{kind} for `evaluate.load("{name}")`: the metric of the installed package infolm-metric."""

from {module} import {kind}

__all__ = ["{kind}"]
'''


def register(modules_cache: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Write the module script of each metric to the folder that `evaluate.load(name)` searches.

    Other modules with the same names are kept. Registering again repairs damaged scripts.

    Args:
        modules_cache: the folder of module scripts; by default the folder used by `evaluate`, which
            depends on HF_HOME and HF_MODULES_CACHE.

    Returns:
        The script of each metric, by name of the metric.

    Raises:
        OSError: the folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     script = register(folder)["infolm"]
    ...     script.name, len(script.parent.name), script.read_text().splitlines()[2]
    ('infolm.py', 64, 'from infolm_metric.infolm_metric import InfoLM')
    """
    from evaluate import config

    root = Path(modules_cache or config.HF_MODULES_CACHE).expanduser()
    folder = root / config.MODULE_NAME_FOR_DYNAMIC_MODULES / "metrics"
    try:
        return {
            name: _write(module_script(metric), folder, name) for name, metric in METRICS.items()
        }
    except OSError as error:
        raise OSError(
            f"cannot write the scripts of the metrics to the folder {str(root)!r}: "
            f"{error.strerror or error}; set HF_MODULES_CACHE to a writable folder, or HF_HOME for "
            "all caches of Hugging Face"
        ) from error


def _write(text: str, metrics: Path, name: str) -> Path:
    """Write a script below the folder `metrics` of evaluate's cache and return its path."""
    folder = metrics / f"evaluate-metric--{name}" / hashlib.sha256(text.encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    for package in (folder, *list(folder.parents)[:3]):
        (package / "__init__.py").touch()
    script = folder / f"{name}.py"
    # Atomic, because others may read it. Always written, because evaluate selects the newest one.
    write_whole(script, [text.encode()])
    return script
