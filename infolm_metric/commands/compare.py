"""`infolm compare`: compare systems, with confidence intervals and significance tests.

Each system's mean score equals the result of infolm score. One of the files may be - (standard
input).

For example:
  infolm compare theirs.txt mine.txt another.txt -r references.txt --model bundled
  infolm compare theirs.txt mine.txt -r references.txt --metric infolm --metric menli
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from infolm_metric.commands import options, outputs
from infolm_metric.commands.parser import FailedError, Parser
from infolm_metric.core.checks import InputError, warn_user
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import FEW_TEXTS, Result, comparison_obstacles
from infolm_metric.core.settings import Settings
from infolm_metric.tables import read_parallel

TEST = "approximate randomization"
USAGE = "infolm compare [options] SYSTEM SYSTEM [SYSTEM ...] -r REFERENCES"


def add_options(parser: Parser) -> None:
    group = parser.add_argument_group("systems and references")
    text = "plain text, one candidate per line (later systems are tested against the first)"
    group.add_argument("systems", nargs="+", metavar="SYSTEM", help=text)
    options.add_references(group, required=True)
    options.add_metric(parser, multiple=True)
    outputs.add_output(parser.add_argument_group("output"))
    group = parser.add_argument_group("significance test")
    options.add_resampling(group)
    text = (
        "exit with code 1 if a system is significantly worse than the first, or if there is no "
        "verdict, for example because texts are out of domain (with fewer than "
        f"{FEW_TEXTS} texts, only warn)"
    )
    group.add_argument("--fail-if-worse", action="store_true", help=text)
    options.add_common(parser)


def run(arguments: argparse.Namespace) -> None:
    names = arguments.systems
    if len(names) < 2 or len({*names}) < len(names):
        raise InputError(f"SYSTEM must name two or more files, each once, got {', '.join(names)}")
    outputs.check_output(arguments, outputs.REPORTS, *names, *arguments.references)
    options.check_resampling(arguments)
    settings = options.read_metrics(arguments)
    if any("candidates" in item.idf_sides for item in settings):
        raise InputError(
            "--idf separate estimates token weights from each system's texts, so scores are not "
            "comparable. Use references, none, bundled or a file written by infolm idf."
        )
    rows = read_parallel(names[0], [*names[1:], *arguments.references])
    texts = [(row["prediction"], *row["references"]) for _, row in rows]
    _check_count(len(texts), arguments)
    systems, results = _score(settings, texts, arguments)
    reasons = chain.from_iterable(comparison_obstacles(result.counts) for result in results)
    obstacles = ", ".join(dict.fromkeys(reasons))
    test = {"test": TEST, "resamples": arguments.resamples, "seed": arguments.seed}
    metrics = outputs.describe_metrics(results)
    report = {"systems": systems, "against": names[0], **test, "metrics": metrics}
    lines = _lines(systems, len(texts), results, obstacles, arguments)
    outputs.write_report(arguments, report, lines)
    if arguments.fail_if_worse and len(texts) >= FEW_TEXTS:
        _check_none_worse(report, obstacles)


def _score(
    settings: Sequence[Settings], texts: Sequence[Sequence[str]], arguments: argparse.Namespace
) -> tuple[dict[str, list[dict[str, Any]]], list[Result]]:
    """Score all systems with each metric. Return report rows by score name, and the results.

    Each row of `texts` contains the texts of all systems, followed by the references.
    """
    from infolm_metric.scoring.scorer import score_systems  # imports torch

    systems: dict[str, list[dict[str, Any]]] = {}
    results, progress = [], options.progress_enabled(arguments.quiet)
    count = len(arguments.systems)
    pairs = Pairs.of((row[system], [*row[count:]]) for system in range(count) for row in texts)
    for metric_settings in settings:
        scorer = options.make_scorer(metric_settings)
        run, result = score_systems(scorer, metric_settings, pairs, len(texts), progress)
        results.append(result)
        for name, scores in result.scores.items():
            bounds = run.scorer.bounds(run.settings, name)
            systems[run.settings.column(name)] = _rows(scores, bounds, result, arguments)
    return systems, results


def _check_none_worse(report: Mapping[str, Any], obstacles: str) -> None:
    """Raise FailedError if a system is significantly worse than the first, or has no verdict."""
    if obstacles:
        raise FailedError(f"no verdict, because of {obstacles}. See the warnings for remedies.")
    rows = ((name, row) for name, part in report["systems"].items() for row in part)
    worse = [f"{row['system']} by {name}" for name, row in rows if row["verdict"] == "worse"]
    if worse:
        raise FailedError(f"significantly worse than {report['against']}: {', '.join(worse)}")


def _check_count(texts: int, arguments: argparse.Namespace) -> None:
    """Check that there are at least two texts, and warn if there are too few for a verdict."""
    if texts < 2:
        raise InputError(f"SYSTEM {arguments.systems[0]} must have at least 2 texts, got {texts}")
    if texts < FEW_TEXTS:
        warn_user(
            f"got {texts} texts. With fewer than {FEW_TEXTS}, systems get no verdict, and "
            "--fail-if-worse does not fail. Add texts."
        )


def _rows(
    scores: list[float], bounds: tuple[float, float], result: Result, arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return each system's mean, interval, p-value and verdict, from scores [systems * texts].

    Intervals are clipped to the bounds of the score, and p-values are corrected with Holm's method.
    The first system has no p-value and no verdict (None). The other verdicts are None if there are
    few texts, or if `comparison_obstacles` returns reasons.
    """
    from infolm_metric.meta_evaluation import significance

    names, resamples, seed = arguments.systems, arguments.resamples, arguments.seed
    systems: np.ndarray = np.reshape(scores, (len(names), -1))
    has_verdict = systems.shape[1] >= FEW_TEXTS and not comparison_obstacles(result.counts)
    test = significance.approximate_randomization
    p_values = significance.holm([test(x, systems[0], resamples, seed) for x in systems[1:]])
    rows: list[dict[str, Any]] = []
    for name, column in zip(names, systems, strict=True):
        low, high = np.clip(significance.mean_interval(column), *bounds).tolist()
        row = {"system": name, "mean": float(column.mean()), "low": low, "high": high}
        row |= {"p_value": None, "verdict": None}
        if rows:
            p = float(p_values[len(rows) - 1])
            difference = row["mean"] - rows[0]["mean"]
            verdict = significance.system_verdict(difference, p, result.higher_is_better)
            row |= {"p_value": p, "verdict": verdict if has_verdict else None}
        rows.append(row)
    return rows


def _lines(
    systems: Mapping[str, list[dict[str, Any]]],
    texts: int,
    results: Sequence[Result],
    obstacles: str,
    arguments: argparse.Namespace,
) -> Iterator[str]:
    from infolm_metric.meta_evaluation.agreement import format_p_value
    from infolm_metric.meta_evaluation.significance import SIGNIFICANCE_LEVEL

    table = []
    for name, rows in systems.items():
        for row in rows:
            interval = f"[{row['low']:.4f}, {row['high']:.4f}]"
            test = ["-", "", ""]
            if row is not rows[0]:
                test = [f"{row['mean'] - rows[0]['mean']:+.4f}"]
                test += [format_p_value(row["p_value"]), row["verdict"] or "none"]
            table.append([name, row["system"], f"{row['mean']:.4f}", interval, *test])
    header = ["metric", "system", "mean", "95% interval", "difference", "p", "verdict"]
    yield from outputs.aligned(header, table, left=2)
    yield ""
    directions = outputs.describe_directions(results)
    others = len(arguments.systems) - 1
    corrected = f", corrected for {others} systems (Holm)" if others > 1 else ""
    none = f" No verdict, because of {obstacles}." if obstacles else ""
    yield (
        f"{texts} texts, {directions}. Intervals: Student's t over texts. Difference and "
        f"two-sided p-value: compared with {arguments.systems[0]}, {TEST} "
        f"({arguments.resamples} resamples, seed {arguments.seed}){corrected}. Verdict: better or "
        f"worse if p < {SIGNIFICANCE_LEVEL}, otherwise unsure, or none with fewer than {FEW_TEXTS} "
        f"texts.{none}"
    )
    yield from outputs.signature_lines(results, arguments)
