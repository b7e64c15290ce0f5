"""`infolm report`: the paper's figures for one's own data, and a page about them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from infolm_metric.commands import ratings as shared
from infolm_metric.commands.options import Command, choice, option, scorer_of, setting_options
from infolm_metric.commands.output import folder_for


def _report(arguments: argparse.Namespace) -> None:
    """Scores the rows and writes figures and page."""
    settings = shared.settings_before(arguments)
    found = shared.read(arguments)
    noticed = _robustness_of(arguments.robustness)

    from infolm_metric.kernel.progress import bar
    from infolm_metric.meta_evaluation.checks import rivals
    from infolm_metric.meta_evaluation.report import write_report
    from infolm_metric.meta_evaluation.study import own, scored

    scorer = scorer_of(settings)
    names = [each.describe() for each in own(scorer.settings)]
    rivals(arguments.against, [*names, *found.metrics], found.lengths)
    folder = folder_for(arguments.output)
    total = len(scored(scorer.settings)) * len(found.predictions)
    with bar(scorer.settings.verbose, total=total, unit="score", desc="settings") as shown:
        page = write_report(
            found,
            scorer,
            folder,
            against=arguments.against,
            format=arguments.format,
            missing=arguments.missing,
            resamples=arguments.resamples,
            seed=arguments.seed,
            robustness=noticed,
            report=shown.update,
        )
    print(page)


def _robustness_of(path: str | None) -> Any:
    """What the file holds; ValueError unless `infolm robustness --json` wrote it."""
    if path is None:
        return None
    remedy = "name a file that `infolm robustness CASES --json -o FILE` wrote"
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}; check its name") from None
    except ValueError:
        raise ValueError(f"--robustness {path}: not valid JSON; {remedy}") from None
    if not isinstance(found, dict) or not isinstance(found.get("metrics"), dict):
        raise ValueError(f"--robustness {path}: no results of metrics; {remedy}")
    return found


COMMAND = Command(
    "report",
    "write figures and a page on agreement with human scores",
    _report,
    lambda own: {
        "what people said": shared.DATA,
        "what they notice": (
            option(
                "--robustness",
                metavar="FILE",
                help="what infolm robustness --json wrote: adds which attacks metrics notice",
            ),
        ),
        "how to correlate": (*shared.AGAINST, *shared.RESAMPLING),
        "how to score": (shared.METRIC, *setting_options(own, shared.settings(own))),
        "output": (
            option("-o", "--output", metavar="DIR", required=True, help="folder to write to"),
            choice("--format", ("png", "svg"), "of figures (default: png)"),
        ),
    },
    epilogue=f"""\
Writes index.html, which holds its figures and can be sent alone, and each figure as a file. Needs
matplotlib (pip install matplotlib).

{shared.ROWS}

example:
  infolm report ratings.jsonl -o report --model bundled --against bleu
""",
)
