"""What is made from the declared settings: typed keywords, and the table in docs/settings.md.

python -m tests.docs.generated        writes the files that are stale
"""

import dataclasses
import re
from pathlib import Path

from infolm_metric.kernel.settings import Settings
from infolm_metric.metrics import METRICS
from tests.project_files import ROOT

TABLE = Path("docs/settings.md")
COMMAND = "python -m tests.docs.generated"


def keywords(settings: type[Settings]) -> str:
    """The module with the typed keywords of a metric's methods."""
    fields = [f"    {name}: {each.given}" for name, each in settings.choices().items()]
    words = set(re.findall(r"\w+", " ".join(fields)))
    abstract = [name for name in ("Mapping", "Sequence") if name in words]
    lines = [
        f'"""The settings of {settings.metric} as typed keywords; made by `{COMMAND}`."""',
        "",
        "from __future__ import annotations",
        "",
        "import os",
        *([f"from collections.abc import {', '.join(abstract)}"] if abstract else []),
        "from typing import TYPE_CHECKING, TypedDict",
        "",
        "if TYPE_CHECKING:",
        "    from infolm_metric.kernel.baselines import Baseline",
        *(["    from infolm_metric.kernel.idf.table import IDF"] if "IDF" in words else []),
        *(
            ["    from infolm_metric.kernel.settings import Settings"]
            if "Settings" in words
            else []
        ),
        "",
        "",
        "class Keywords(TypedDict, total=False):",
        '    """What can be given to the scorer, to its methods and to `compute`."""',
        "",
        *fields,
    ]
    return "\n".join(lines) + "\n"


OF_THE_MODEL = {  # what a model adds to every signature -> its name there
    "model_name_or_path": "model",
    "model_revision": "model",
    "max_length": "max_length",
    "long_text": "long_text",
    "dtype": "dtype",
    "rescale_with_baseline": "baseline",
}


def table(settings: type[Settings]) -> str:
    """The rows of docs/settings.md for one metric."""
    defaults = {each.name: each.default for each in dataclasses.fields(settings)}
    lines = [
        f"## {settings.metric}",
        "",
        "| setting | type | default | flag | in the signature | what it is |",
        "|---|---|---|---|---|---|",
    ]
    for name, each in settings.choices().items():
        kind = each.given.replace("|", "\\|")
        flag = f"`{each.flags[-1]}`" if each.flags else ""
        signed = "yes" if each.signed or name in OF_THE_MODEL else ""
        cells = (f"`{name}`", kind, repr(defaults[name]), flag, signed, settings.help(name))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def expected() -> dict[Path, str]:
    """The content of each generated file, by its path in the project."""
    kinds = {name: metric.settings_type() for name, metric in METRICS.items()}
    found = {
        Path(f"infolm_metric/{name}/keywords.py"): keywords(kind) for name, kind in kinds.items()
    }
    head = (
        "# What can be set?\n\nEvery setting can be given to `compute`, to `evaluate.load(...)`, "
        "where it becomes the default of every `compute`, to the scorer, and to its methods. The "
        f"same declarations make the checks and the command line's options; `{COMMAND}` makes this "
        "page.\n\nMore of [measures](measures.md), of [idf](weights.md), of [models]"
        "(bundled_model.md), of [baselines](reading_a_score.md#the-same-on-a-scale-from-0-to-1), "
        "of [several masks at once](speed.md#several-masks-at-once-an-approximation).\n\n"
    )
    found[TABLE] = head + "\n".join(table(kind) for kind in kinds.values())
    return found


if __name__ == "__main__":
    for path, content in expected().items():
        (ROOT / path).parent.mkdir(exist_ok=True)
        (ROOT / path).write_text(content)
