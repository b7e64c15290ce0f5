"""`infolm register`: lets `evaluate.load("infolm")` find the installed package, also offline.

`evaluate.load("infolm")` looks for ./infolm/infolm.py, then on the Hugging Face Hub, and then in
its cache of module scripts, where it takes the newest. Behind a firewall that drops packets it
waits minutes for the Hub; with HF_EVALUATE_OFFLINE=1 it goes to the cache at once, and
`evaluate.load(str(register()["infolm"]))` never asks the Hub.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from pathlib import Path

from infolm_metric.commands import options
from infolm_metric.core.files import write_whole
from infolm_metric.metrics import METRICS, Metric


def module_script(metric: Metric) -> str:
    """The script by which `evaluate` finds a metric of the package.

    `evaluate` takes the first metric class among the names of the script, copies the script away
    and imports the copy. So there is one absolute import, and no class of its own: what evaluate
    loads is the package's class, which can be pickled and compared.
    """
    name, (module, _, kind) = metric.name, metric.evaluate.partition(":")
    return f'''\
"""{kind} for `evaluate.load("{name}")`: the metric of the installed package infolm-metric."""

from {module} import {kind}

__all__ = ["{kind}"]
'''


def register(modules_cache: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """The module script of each metric by its name, put where `evaluate.load(name)` finds it.

    `modules_cache` is the folder of evaluate's module scripts; by default the one that evaluate
    uses, which HF_HOME and HF_MODULES_CACHE change. Other modules of the name stay, and doing it
    again repairs what is damaged.

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
        return {name: _put(module_script(metric), folder, name) for name, metric in METRICS.items()}
    except OSError as error:
        raise OSError(
            f"cannot write the scripts of the metrics to the folder {str(root)!r}: "
            f"{error.strerror or error}; choose a folder that can be written by HF_MODULES_CACHE, "
            "or by HF_HOME for all caches of Hugging Face"
        ) from error


def _put(text: str, metrics: Path, name: str) -> Path:
    """The path of the script, written where evaluate looks below its folder of metrics."""
    folder = metrics / f"evaluate-metric--{name}" / hashlib.sha256(text.encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    for package in (folder, *list(folder.parents)[:3]):
        (package / "__init__.py").touch()
    script = folder / f"{name}.py"
    # At once, so that whoever reads it meanwhile gets a whole one; now, because evaluate takes the
    # newest, and others of the name are left alone.
    write_whole(script, [text.encode()])
    return script


USAGE = "infolm register"


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """The options of the command."""
    options.add_settings(parser, ())


def run(arguments: argparse.Namespace) -> None:
    """Registers the metrics with `evaluate`, and says how to load them."""
    scripts = register()
    for script in scripts.values():
        print(script)
    for name in scripts:
        print(f'evaluate.load("{name}") now finds the metric, from any folder.')
    print("Where the Hub cannot be reached, set HF_EVALUATE_OFFLINE=1 to save the wait for it.")
