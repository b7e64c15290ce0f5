"""`infolm compare`: several systems side by side, with intervals and tests against the first."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import ratings as shared
from infolm_metric.commands.options import (
    Command,
    choice,
    metric_option,
    option,
    scorer_of,
    setting_options,
    settings_given,
)
from infolm_metric.commands.output import JSON, MARKDOWN, OUTPUT, check_output, write
from infolm_metric.kernel import text_files
from infolm_metric.kernel.lines import check_there

if TYPE_CHECKING:
    import numpy as np

    from infolm_metric.meta_evaluation.grid import Columns

TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomisation"}


def _compare(arguments: argparse.Namespace) -> None:
    """Scores every system on the same references, and writes the table."""
    check_output(arguments)
    shared.check_resampling(arguments)
    names = _names(arguments.systems)
    check_there([*arguments.systems, *arguments.references])
    settings = settings_given(arguments)
    if "candidates" in settings.counted:
        raise ValueError(
            "--idf separate weighs each system by its own texts, so that systems cannot be "
            "compared; use references, none or a table"
        )
    count = len(names)
    # All at once, because standard input can be read once.
    rows = text_files.iterate_parallel(
        arguments.systems[0], [*arguments.systems[1:], *arguments.references]
    )
    texts = [[first, *others] for first, others in rows]
    systems = [[row[index] for row in texts] for index in range(count)]
    references = [row[count:] for row in texts]
    if len(references) < 2:
        raise ValueError(
            f"{names[0]} must have at least two texts to tell chance from difference, got "
            f"{len(references)}; give more"
        )

    from infolm_metric.meta_evaluation.grid import score_measures
    from infolm_metric.meta_evaluation.resampling import FEW

    if len(references) < FEW:
        warnings.warn(
            f"infolm: {len(references)} texts; with fewer than {FEW} a difference, and how sure it "
            "is, are largely chance: give more texts",
            stacklevel=2,
        )

    scored = score_measures(
        scorer_of(settings),
        [text for candidates in systems for text in candidates],
        references * len(systems),
        corpus=[text for group in references for text in group],
    )
    results = {
        label: _rows(names, column.reshape(count, -1), arguments)
        for label, column in scored.scores.items()
    }
    for label, column in scored.rescaled.items():
        for row, own in zip(results[label], column.reshape(count, -1), strict=True):
            row["rescaled"] = float(own.mean())
    if arguments.json:
        made = {
            "systems": results,
            "against": names[0],
            "higher_is_better": scored.higher_is_better,
            "test": TESTS[arguments.test],
            "resamples": arguments.resamples,
            "seed": arguments.seed,
            "signature": scored.signature,
        }
        lines = iter([json.dumps(made, allow_nan=False)])
    else:
        lines = _lines(results, len(references), scored, arguments)
    write(lines, arguments.output)


def _names(paths: list[str]) -> list[str]:
    """What to call the systems: the files' names, or their paths where names repeat."""
    if len(paths) < 2:
        raise ValueError("give at least two files of candidates")
    names = [os.path.basename(path) for path in paths]
    names = names if len(set(names)) == len(names) else paths
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{min(twice)} is given twice; give each system once")
    return names


def _rows(
    names: list[str], systems: np.ndarray, arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Each system's mean, interval and p-value, of scores [systems, texts]."""
    from infolm_metric.meta_evaluation.resampling import (
        approximate_randomization,
        draw,
        paired_bootstrap,
        percentile_interval,
    )

    resamples, seed = arguments.resamples, arguments.seed
    counts = draw(1, systems.shape[1], resamples, seed, "samples").samples
    test = {"bootstrap": paired_bootstrap, "randomization": approximate_randomization}
    rows: list[dict[str, Any]] = []
    for name, own in zip(names, systems, strict=True):
        low, high = percentile_interval(counts @ own / len(own))
        p = test[arguments.test](own, systems[0], resamples, seed) if rows else None
        row = {"system": name, "mean": float(own.mean()), "low": low, "high": high, "p_value": p}
        rows.append(row)
    return rows


def _lines(
    results: Mapping[str, list[dict[str, Any]]],
    texts: int,
    scored: Columns,
    arguments: argparse.Namespace,
) -> Iterator[str]:
    from infolm_metric.meta_evaluation.tables import LAYOUTS, p_value

    layout = LAYOUTS["markdown" if arguments.markdown else "text"]
    for label, rows in results.items():
        first = rows[0]
        rescaled = ["rescaled"] if "rescaled" in first else []
        yield from layout(
            ["system", label, *rescaled, "95% interval", "difference", "p"],
            [
                [
                    row["system"],
                    f"{row['mean']:.4f}",
                    *(f"{row[name]:.4f}" for name in rescaled),
                    f"[{row['low']:.4f}, {row['high']:.4f}]",
                    "the first" if row is first else f"{row['mean'] - first['mean']:+.4f}",
                    p_value(row["p_value"]),
                ]
                for row in rows
            ],
        )
        yield ""
    better = "higher" if scored.higher_is_better else "lower"
    yield (
        f"{texts} texts; {better} is better. Intervals: bootstrap over texts. p: two-sided, by "
        f"{TESTS[arguments.test]} against {first['system']} "
        f"({arguments.resamples} resamples, seed {arguments.seed})."
    )
    if scored.rescaled:
        yield "Rescaled: 1 is a copy, 0 is what unrelated texts score; the tests are of the others."
    yield f"signature: {scored.signature}"


COMMAND = Command(
    "compare",
    "compare systems, with intervals and significance",
    _compare,
    lambda own, *_: {
        "what to compare": (
            option(
                "systems",
                nargs="+",
                metavar="SYSTEM",
                help="plain text with one candidate per line; the others are tested against the "
                "first",
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
            choice(
                "--test", tuple(TESTS), "paired bootstrap (default) or approximate randomisation"
            ),
            *shared.RESAMPLING,
        ),
        "how to score": (metric_option(), *setting_options(own)),
        "output": (JSON, MARKDOWN, OUTPUT),
    },
    epilogue="""\
Every text is read by the model once, however many systems share a reference or an output. The means
are those that infolm score gives for each system alone; with --rescale-with-baseline they stand
there rescaled, too, by one baseline for all systems. One of the files can be -, standard input.

example:
  infolm compare theirs.txt mine.txt another.txt -r references.txt --model bundled
""",
)
