"""`infolm compare`: several systems side by side, with intervals and tests against the first."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from infolm_metric.commands.options import (
    RESAMPLING,
    Command,
    check_resampling,
    choice,
    columns_of,
    labels_of,
    metric_option,
    option,
    scorer_of,
    setting_options,
    settings_given,
)
from infolm_metric.commands.output import JSON, LAYOUTS, MARKDOWN, OUTPUT, check_output, write
from infolm_metric.kernel import text_files
from infolm_metric.kernel.lines import check_there

TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomisation"}


def _compare(arguments: argparse.Namespace) -> None:
    """Scores every system on the same references, and writes the table."""
    check_output(arguments)
    check_resampling(arguments)
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
    lines = text_files.iterate_parallel(
        arguments.systems[0], [*arguments.systems[1:], *arguments.references]
    )
    texts = [[first, *others] for first, others in lines]
    systems = [[row[index] for row in texts] for index in range(count)]
    references = [row[count:] for row in texts]
    if len(references) < 2:
        raise ValueError(
            f"{names[0]} must have at least two texts to tell chance from difference, got "
            f"{len(references)}; give more"
        )

    from infolm_metric.meta_evaluation.significance import FEW

    if len(references) < FEW:
        warnings.warn(
            f"infolm: {len(references)} texts; with fewer than {FEW} a difference, and how sure it "
            "is, are largely chance: give more texts",
            stacklevel=2,
        )

    scorer, labels = scorer_of(settings), labels_of(settings)
    results = [scorer.score(candidates, references) for candidates in systems]
    columns = [columns_of(result, labels) for result in results]
    rows = {label: _rows(names, [each[label] for each in columns], arguments) for label in labels}
    if "rescaled" in results[0]:
        for index, result in enumerate(results):
            for label, column in columns_of(result, labels, "rescaled_scores").items():
                rows[label][index]["rescaled"] = sum(column) / len(column)
    if arguments.json:
        made = {
            "systems": rows,
            "against": names[0],
            "higher_is_better": results[0]["higher_is_better"],
            "test": TESTS[arguments.test],
            "resamples": arguments.resamples,
            "seed": arguments.seed,
            "signature": results[0]["signature"],
        }
        write([json.dumps(made, allow_nan=False)], arguments.output)
    else:
        write(_lines(rows, len(references), results[0], arguments), arguments.output)


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
    names: list[str], systems: list[list[float]], arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Each system's mean, interval and p-value, of scores [systems, texts]."""
    import numpy as np

    from infolm_metric.meta_evaluation.significance import (
        approximate_randomization,
        draw,
        paired_bootstrap,
        percentile_interval,
    )

    resamples, seed = arguments.resamples, arguments.seed
    scores = np.asarray(systems)
    counts = draw(1, scores.shape[1], resamples, seed, "samples").samples
    test = {"bootstrap": paired_bootstrap, "randomization": approximate_randomization}
    rows: list[dict[str, Any]] = []
    for name, own in zip(names, scores, strict=True):
        low, high = percentile_interval(counts @ own / len(own))
        p = test[arguments.test](own, scores[0], resamples, seed) if rows else None
        row = {"system": name, "mean": float(own.mean()), "low": low, "high": high, "p_value": p}
        rows.append(row)
    return rows


def _lines(
    systems: Mapping[str, list[dict[str, Any]]],
    texts: int,
    result: Mapping[str, Any],
    arguments: argparse.Namespace,
) -> Iterator[str]:
    from infolm_metric.meta_evaluation.agreement import format_p_value

    layout = LAYOUTS["markdown" if arguments.markdown else "text"]
    for label, rows in systems.items():
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
                    format_p_value(row["p_value"]),
                ]
                for row in rows
            ],
        )
        yield ""
    better = "higher" if result["higher_is_better"] else "lower"
    yield (
        f"{texts} texts; {better} is better. Intervals: bootstrap over texts. p: two-sided, by "
        f"{TESTS[arguments.test]} against {first['system']} "
        f"({arguments.resamples} resamples, seed {arguments.seed})."
    )
    if "rescaled" in result:
        yield "Rescaled: 1 is a copy, 0 is what unrelated texts score; the tests are of the others."
    yield f"signature: {result['signature']}"


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
            *RESAMPLING,
        ),
        "how to score": (metric_option(), *setting_options(own)),
        "output": (JSON, MARKDOWN, OUTPUT),
    },
    epilogue="""\
The means are those that infolm score gives for each system alone; with --rescale-with-baseline they
stand there rescaled, too, by one baseline for all systems. One of the files can be -, standard
input.

example:
  infolm compare theirs.txt mine.txt another.txt -r references.txt --model bundled
""",
)
