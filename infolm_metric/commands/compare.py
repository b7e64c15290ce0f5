"""`infolm compare`: compare systems, with confidence intervals and significance tests.

Each system's mean score equals the result of infolm score. One of the files may be - (standard
input).

For example:
  infolm compare theirs.txt mine.txt another.txt -r references.txt --model bundled
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from infolm_metric.commands import options
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import Result, verdict_obstacles, warn
from infolm_metric.core.tables import read_parallel

TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomization"}
# Counts that can prevent a verdict. Empty and very short texts cannot, because they are the
# system's fault.
COUNTS = ("texts", "pairs", "out_of_domain", "few_weighted", "indistinguishable")
SIGNIFICANCE_LEVEL = 0.05
FEW = 20  # with fewer texts, differences are mostly due to chance
USAGE = "infolm compare [options] SYSTEM SYSTEM [SYSTEM ...] -r REFERENCES"


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    group = parser.add_argument_group("systems and references")
    text = "plain text, one candidate per line; later systems are tested against the first"
    group.add_argument("systems", nargs="+", metavar="SYSTEM", help=text)
    options.add_references(group, required=True)
    options.add_metric(parser, types)
    options.add_output(parser.add_argument_group("output"))
    group = parser.add_argument_group("significance test")
    text = f"{' or '.join(TESTS.values())} (default: bootstrap)"
    group.add_argument("--test", choices=TESTS, default="bootstrap", help=text)
    options.add_resampling(group)
    text = "exit with code 1 if a system is significantly worse than the first or has no verdict"
    group.add_argument("--fail-if-worse", action="store_true", help=text)
    options.add_settings(parser, types)


def run(arguments: argparse.Namespace) -> None:
    names, paths = arguments.systems, [*arguments.systems, *arguments.references]
    if len(names) < 2 or len({*names}) < len(names):
        raise ValueError(f"SYSTEM must name at least two different files, got {', '.join(names)}")
    options.check_output(arguments, *paths)
    options.check_resampling(arguments)
    settings = options.read_settings(arguments.metric, arguments)
    if "candidates" in settings.idf_sides:
        raise ValueError(
            "--idf separate estimates token weights from each system's texts, so scores are not "
            "comparable; use references, none, bundled or a file written by infolm idf"
        )
    rows = [
        [row["prediction"], *row["references"]] for _, row in read_parallel(paths[0], paths[1:])
    ]
    if len(rows) < 2:
        raise ValueError(f"{names[0]} must have at least two texts, got {len(rows)}; add more")
    result = _score(settings, rows, len(names), arguments)
    systems = {
        settings.label(name): _rows(names, scores, result, arguments)
        for name, scores in result.scores.items()
    }
    report = {
        "systems": systems,
        "against": names[0],
        "higher_is_better": result.higher_is_better,
        "test": TESTS[arguments.test],
        "resamples": arguments.resamples,
        "seed": arguments.seed,
        "signature": result.signature,
    }
    options.write_report(arguments, report, _lines(systems, len(rows), result, arguments))
    if arguments.fail_if_worse:
        _check_none_worse(systems, result)


def _obstacles(result: Result) -> list[str]:
    """Return the reasons against verdicts."""
    return verdict_obstacles({name: result.counts.get(name, 0) for name in COUNTS})


def _check_none_worse(systems: Mapping[str, list[dict[str, Any]]], result: Result) -> None:
    """Raise RuntimeError if a system is significantly worse than the first, or has no verdict."""
    verdicts = {
        f"{row['system']} by {label}": row["verdict"]
        for label, rows in systems.items()
        for row in rows[1:]
    }
    if None in verdicts.values():
        raise RuntimeError(
            f"no verdict, because of {', '.join(_obstacles(result))}. The warnings above contain "
            "the remedies"
        )
    if worse := [name for name, verdict in verdicts.items() if verdict == "worse"]:
        first = next(iter(systems.values()))[0]["system"]
        raise RuntimeError(f"significantly worse than {first}: {', '.join(worse)}")


def _score(
    settings: Any, rows: Sequence[list[str]], systems: int, arguments: argparse.Namespace
) -> Result:
    """Score all systems with the same token weights, from rows of candidates and references."""
    if len(rows) < FEW:
        warnings.warn(
            f"infolm: got {len(rows)} texts; with fewer than {FEW}, differences are mostly due to "
            "chance and p-values are unreliable; add texts",
            stacklevel=2,
        )
    pairs = Pairs.of((row[index], row[systems:]) for index in range(systems) for row in rows)
    first = pairs.part(0, len(rows))
    scorer, verbose = options.make_scorer(settings), options.progress_enabled(arguments.quiet)
    # The references are the same for all systems, so they are counted only once.
    statistics = scorer.count(first.texts_by_side, settings)
    result = scorer.score_part(pairs, settings, statistics, verbose=verbose)
    counts = {**result.counts, "blank_references": first.blank_references}
    warn(counts, scorer.warning_messages)
    return result


def _rows(
    names: Sequence[str], scores: Sequence[float], result: Result, arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return each system's mean, interval, p-value and verdict, from scores [systems * texts].

    The verdict is None if `_obstacles` returns reasons.
    """
    from infolm_metric.meta_evaluation import significance

    resamples, seed = arguments.resamples, arguments.seed
    reliable = not _obstacles(result)
    systems: np.ndarray = np.reshape(scores, (len(names), -1))
    counts = significance.draw(1, systems.shape[1], resamples, seed, "samples").samples
    is_bootstrap = arguments.test != "randomization"
    test = significance.paired_bootstrap if is_bootstrap else significance.approximate_randomization
    rows: list[dict[str, Any]] = []
    for name, column in zip(names, systems, strict=True):
        low, high = significance.percentile_interval(counts @ column / len(column))
        row = {"system": name, "mean": float(column.mean()), "low": low, "high": high}
        row |= {"p_value": None, "verdict": None}
        if rows:
            p = test(column, systems[0], resamples, seed)
            better = (row["mean"] > rows[0]["mean"]) == result.higher_is_better
            verdict = "unsure" if p >= SIGNIFICANCE_LEVEL else "better" if better else "worse"
            row |= {"p_value": p, "verdict": verdict if reliable else None}
        rows.append(row)
    return rows


def _lines(
    systems: Mapping[str, list[dict[str, Any]]],
    texts: int,
    result: Result,
    arguments: argparse.Namespace,
) -> Iterator[str]:
    from infolm_metric.meta_evaluation.agreement import format_p_value

    for label, rows in systems.items():
        table = []
        for row in rows:
            interval = f"[{row['low']:.4f}, {row['high']:.4f}]"
            difference = "-" if row is rows[0] else f"{row['mean'] - rows[0]['mean']:+.4f}"
            p, verdict = format_p_value(row["p_value"]), row["verdict"] or ""
            table.append([row["system"], f"{row['mean']:.4f}", interval, difference, p, verdict])
        header = ["system", label, "95% interval", "difference", "p", "verdict"]
        yield from arguments.layout(header, table)
        yield ""
    direction = "higher" if result.higher_is_better else "lower"
    none = (
        f" No verdict, because of {', '.join(reasons)}." if (reasons := _obstacles(result)) else ""
    )
    yield (
        f"{texts} texts; {direction} is better. Intervals: bootstrap over texts. Difference and "
        f"two-sided p-value: compared with {arguments.systems[0]}, {TESTS[arguments.test]} "
        f"({arguments.resamples} resamples, seed {arguments.seed}). Verdict: better or worse if "
        f"p < {SIGNIFICANCE_LEVEL}, otherwise unsure.{none}"
    )
    yield f"signature: {result.signature}"
