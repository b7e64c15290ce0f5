"""`infolm report`: the paper's figures for one's own data, and a page about them."""

from __future__ import annotations

import argparse

from infolm_metric.commands import ratings as shared
from infolm_metric.commands.options import SETTINGS, Command, given_settings, option


def _report(arguments: argparse.Namespace) -> None:
    """Scores the rows and writes figures and page."""
    found = shared.read(arguments)
    metrics = shared.columns(found, arguments)
    for name in arguments.baseline:
        if name not in metrics:
            raise ValueError(
                f"--baseline {name}: no metric of that name; there are "
                f"{', '.join(map(repr, metrics)) or 'none beside InfoLM'}"
            )
    folder = shared.folder_for(arguments.output)

    from datasets.utils import tqdm

    from infolm_metric.infolm.scorer import InfoLMScorer
    from infolm_metric.meta_evaluation.report import write_report
    from infolm_metric.meta_evaluation.study import sweeps_of

    scorer = InfoLMScorer(**shared.progress(given_settings(arguments)))
    total = sum(sweep.size for sweep in sweeps_of(scorer.settings)) * len(found.predictions)
    quiet = not scorer.settings.verbose
    with tqdm(total=total, unit="score", desc="settings", disable=quiet) as bar:
        page = write_report(
            found,
            scorer,
            folder,
            columns=metrics,
            baselines=arguments.baseline,
            format=arguments.format,
            missing=arguments.missing,
            resamples=arguments.resamples,
            seed=arguments.seed,
            report=bar.update,
        )
    print(page)


COMMAND = Command(
    "report",
    "write figures and a page on agreement with human scores",
    _report,
    {
        "what people said": shared.DATA,
        "how to correlate": (
            option(
                "--baseline",
                action="append",
                default=[],
                metavar="NAME",
                help="metric in the data that the others are tested against; repeat for several",
            ),
            *shared.RESAMPLING,
        ),
        "how to score": SETTINGS,
        "output": (
            option("-o", "--output", metavar="DIR", required=True, help="folder to write to"),
            option(
                "--format", choices=("png", "svg"), default="png", help="of figures (default: png)"
            ),
        ),
    },
    epilogue=f"""\
Writes index.html, which holds its figures and can be sent alone, and each figure as a file. Needs
matplotlib: pip install 'infolm-metric[plots]'.

{shared.ROWS}

example:
  infolm report ratings.jsonl -o report --model bundled --baseline bleu
""",
)
