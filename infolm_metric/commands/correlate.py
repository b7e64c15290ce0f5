"""`infolm correlate`: how far InfoLM, and metrics that ride along, agree with people."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from infolm_metric.commands import ratings as shared
from infolm_metric.commands.options import (
    SETTINGS,
    Command,
    check_writable,
    given_settings,
    option,
)


def _correlate(arguments: argparse.Namespace) -> None:
    """Scores the rows, correlates, and writes the table."""
    if arguments.output != "-":
        check_writable(arguments.output)
    if arguments.json and arguments.markdown:
        raise ValueError("give --json or --markdown, not both")
    found = shared.read(arguments)
    metrics = shared.columns(found, arguments)
    if arguments.no_infolm and not metrics:
        raise ValueError(
            "--no-infolm leaves no metric: the data has none; name columns by --metric"
        )

    from infolm_metric.meta_evaluation.agreement_table import agreement
    from infolm_metric.meta_evaluation.tables import agreement_lines

    signature = None
    if not arguments.no_infolm:
        from infolm_metric.infolm.scorer import InfoLMScorer
        from infolm_metric.meta_evaluation.grid import score_measures

        scorer = InfoLMScorer(**shared.progress(given_settings(arguments)))
        unknown = [name for name in arguments.baseline if name not in metrics]
        if unknown and len(scorer.settings.measures) < 2:
            raise ValueError(
                f"--baseline {unknown[0]}: no metric of that name; there are "
                f"{', '.join(map(repr, metrics)) or 'none beside InfoLM'}"
            )
        scored = score_measures(scorer, found.predictions, found.references)
        signature = scored.signature
        ours = {name: -found.grid(values) for name, values in scored.scores.items()}
        metrics = {**ours, **metrics}
    table = agreement(
        found.human,
        metrics,
        baselines=arguments.baseline,
        levels=arguments.level or ("system", "text"),
        missing=arguments.missing,
        resamples=arguments.resamples,
        confidence=arguments.confidence,
        seed=arguments.seed,
    )
    if arguments.json:
        lines: Iterator[str] = iter(
            [json.dumps({**table.as_dict(), "signature": signature}, allow_nan=False)]
        )
    else:
        layout = "markdown" if arguments.markdown else "text"
        lines = _with_remarks(agreement_lines(table, layout), found.people, signature)
    shared.write("".join(line + "\n" for line in lines), arguments.output)


def _with_remarks(lines: Iterator[str], people: int, signature: str | None) -> Iterator[str]:
    yield from lines
    if people:
        yield f"{people} rows of human texts were passed over."
    if signature:
        yield "InfoLM is negated, so that higher is better everywhere."
        yield f"signature: {signature}"


COMMAND = Command(
    "correlate",
    "correlate metrics with human scores",
    _correlate,
    {
        "what people said": shared.DATA,
        "how to correlate": (
            option(
                "--level",
                action="append",
                choices=("system", "text"),
                help="correlate the systems' means, or the texts of each sample (default: both)",
            ),
            option(
                "--baseline",
                action="append",
                default=[],
                metavar="NAME",
                help="metric that the others are tested against; repeat for several",
            ),
            option(
                "--confidence",
                type=float,
                default=0.95,
                metavar="C",
                help="of the intervals (default: 0.95)",
            ),
            *shared.RESAMPLING,
            option(
                "--no-infolm",
                action="store_true",
                help="only the metrics in the data; no model is loaded",
            ),
        ),
        "how to score": SETTINGS,
        "output": (
            option("--json", action="store_true", help="one JSON object, with every p-value"),
            option("--markdown", action="store_true", help="tables in Markdown"),
            option("-o", "--output", metavar="FILE", default="-", help="write to a file"),
        ),
    },
    epilogue=f"""\
{shared.ROWS}

examples:
  infolm correlate ratings.jsonl --model bundled -m fisher_rao -m l1 --baseline bleu
  infolm correlate ratings.csv --criterion fluency --metric bleu --no-infolm --markdown
""",
)
