"""`infolm compare`: several systems side by side, with intervals and tests against the first."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import ratings as shared
from infolm_metric.commands.options import SETTINGS, Command, check_writable, given_settings, option
from infolm_metric.kernel import text_files

if TYPE_CHECKING:
    import numpy as np

TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomisation"}


def _compare(arguments: argparse.Namespace) -> None:
    """Scores every system on the same references, and writes the table."""
    if arguments.output != "-":
        check_writable(arguments.output)
    if arguments.json and arguments.markdown:
        raise ValueError("give --json or --markdown, not both")
    if arguments.resamples < 1:
        raise ValueError(f"--resamples must be at least 1, got {arguments.resamples}")
    names = _names(arguments.systems)
    systems = []
    for path in arguments.systems:
        candidates, references = text_files.read_parallel(path, arguments.references)
        systems.append(candidates)

    from infolm_metric.infolm.scorer import InfoLMScorer
    from infolm_metric.meta_evaluation.grid import score_measures

    scorer = InfoLMScorer(**shared.progress(given_settings(arguments)))
    if scorer.settings.idf == "separate":
        raise ValueError(
            "--idf separate weighs each system by its own texts, so that systems cannot be "
            "compared; use references, none or a table"
        )
    scored = score_measures(
        scorer,
        [text for candidates in systems for text in candidates],
        references * len(systems),
        corpus=[text for group in references for text in group],
    )
    results = {
        measure: [
            _row(name, own, column.reshape(len(systems), -1)[0], arguments, first=not index)
            for index, (name, own) in enumerate(
                zip(names, column.reshape(len(systems), -1), strict=True)
            )
        ]
        for measure, column in scored.scores.items()
    }
    if arguments.json:
        lines: Iterator[str] = iter(
            [
                json.dumps(
                    {
                        "systems": results,
                        "baseline": names[0],
                        "test": TESTS[arguments.test],
                        "resamples": arguments.resamples,
                        "seed": arguments.seed,
                        "signature": scored.signature,
                    }
                )
            ]
        )
    else:
        lines = _lines(results, len(references), scored.signature, arguments)
    shared.write("".join(line + "\n" for line in lines), arguments.output)


def _names(paths: list[str]) -> list[str]:
    """What to call the systems: the files' names, or their paths where names repeat."""
    if len(paths) < 2:
        raise ValueError("give at least two files of candidates, the baseline first")
    names = [os.path.basename(path) for path in paths]
    names = names if len(set(names)) == len(names) else paths
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{min(twice)} is given twice; give each system once")
    return names


def _row(
    name: str, own: np.ndarray, baseline: np.ndarray, arguments: argparse.Namespace, first: bool
) -> dict[str, Any]:
    """A system's mean, interval and p-value."""
    from infolm_metric.meta_evaluation.resampling import (
        approximate_randomization,
        draw,
        paired_bootstrap,
        percentile_interval,
    )

    counts = draw(1, len(own), arguments.resamples, arguments.seed, "samples").samples
    low, high = percentile_interval(counts @ own / len(own))
    test = {"bootstrap": paired_bootstrap, "randomization": approximate_randomization}
    p = None if first else test[arguments.test](own, baseline, arguments.resamples, arguments.seed)
    return {"system": name, "mean": float(own.mean()), "low": low, "high": high, "p_value": p}


def _lines(
    results: dict[str, list[dict[str, Any]]],
    texts: int,
    signature: str,
    arguments: argparse.Namespace,
) -> Iterator[str]:
    from infolm_metric.meta_evaluation.tables import LAYOUTS, p_value

    layout = LAYOUTS["markdown" if arguments.markdown else "text"]
    for measure, rows in results.items():
        baseline = rows[0]["mean"]
        yield from layout(
            ["system", measure, "95% interval", "difference", "p"],
            [
                [
                    row["system"],
                    f"{row['mean']:.4f}",
                    f"[{row['low']:.4f}, {row['high']:.4f}]",
                    "baseline" if row["p_value"] is None else f"{row['mean'] - baseline:+.4f}",
                    p_value(row["p_value"]),
                ]
                for row in rows
            ],
        )
        yield ""
    yield (
        f"{texts} texts; lower is better. Intervals: bootstrap over texts. p: two-sided, by "
        f"{TESTS[arguments.test]} against {results[next(iter(results))][0]['system']} "
        f"({arguments.resamples} resamples, seed {arguments.seed})."
    )
    yield f"signature: {signature}"


COMMAND = Command(
    "compare",
    "compare systems, with intervals and significance",
    _compare,
    {
        "what to compare": (
            option(
                "systems",
                nargs="+",
                metavar="SYSTEM",
                help="plain text with one candidate per line; the first is the baseline",
            ),
            option(
                "-r",
                "--references",
                metavar="FILE",
                action="append",
                required=True,
                help="plain text with as many lines; repeat for several references each",
            ),
        ),
        "how to test": (
            option(
                "--test",
                choices=tuple(TESTS),
                default="bootstrap",
                help="paired bootstrap (default) or approximate randomisation",
            ),
            *shared.RESAMPLING,
        ),
        "how to score": SETTINGS,
        "output": (
            option("--json", action="store_true", help="one JSON object"),
            option("--markdown", action="store_true", help="tables in Markdown"),
            option("-o", "--output", metavar="FILE", default="-", help="write to a file"),
        ),
    },
    epilogue="""\
Every text is read by the model once, however many systems share a reference or an output. The means
are those that infolm score gives for each system alone.

example:
  infolm compare baseline.txt mine.txt theirs.txt -r references.txt --model bundled
""",
)
