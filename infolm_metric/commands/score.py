"""`infolm score`: texts against references, from the arguments, from files or from a data set."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import score_input
from infolm_metric.commands.options import (
    Command,
    amount,
    choice,
    metric_option,
    option,
    scorer_of,
    setting_options,
    settings_given,
)
from infolm_metric.commands.output import STANDARD_OUTPUT, check_output, write
from infolm_metric.kernel.checks import whole_number

if TYPE_CHECKING:
    from infolm_metric.kernel.results import Result
    from infolm_metric.kernel.scorer import MetricScorer
    from infolm_metric.running.resume import JobResult

NOT_WRITTEN = (".csv", ".tsv", ".parquet", ".gz")
JOB_OUTPUTS = (".jsonl", ".ndjson")


def _score(arguments: argparse.Namespace) -> None:
    """Scores the texts that the arguments name, and writes the result."""
    score_input.check_way(arguments)
    if arguments.json and arguments.per_pair:
        raise ValueError("--json holds each pair's scores already; leave --per-pair out")
    rows = arguments.output.lower().endswith(JOB_OUTPUTS) and not (
        arguments.json or arguments.per_pair
    )
    ray_only = arguments.engine == "ray"
    if arguments.workers is not None and not ray_only:
        raise ValueError("--workers needs --engine ray")
    if arguments.workers is not None:
        whole_number("--workers", arguments.workers)
    whole = "--json" if arguments.json else "--per-pair" if arguments.per_pair else ""
    if whole and (ray_only or arguments.restart):
        other = "--engine ray" if ray_only else "--restart"
        raise ValueError(f"{other} writes a row for each pair; leave {whole} out")
    if ray_only:
        if arguments.restart:
            raise ValueError("--restart is not for --engine ray, which begins anew; leave it out")
        _score_on_ray(arguments)
        return
    if arguments.restart and not rows:
        raise ValueError("--restart needs an output whose name ends in .jsonl: -o SCORES.jsonl")
    check_output(arguments)  # Ray writes a folder
    _check_form(arguments)
    if rows:
        _score_as_job(arguments)
    else:
        _score_at_once(arguments)


def _check_form(arguments: argparse.Namespace) -> None:
    """Raise ValueError if the output's name promises a table that is not what is written."""
    suffix = PurePath(arguments.output.lower()).suffix
    meant = {".tsv": arguments.per_pair, ".json": arguments.json}
    if suffix in (*NOT_WRITTEN, ".json") and not meant.get(suffix):
        raise ValueError(
            f"cannot write {arguments.output}: name a file that ends in .jsonl for a row for each "
            "pair, in .tsv with --per-pair, in .json with --json, or in .txt for the summary"
        )


def _score_as_job(arguments: argparse.Namespace) -> None:
    """Scores chunk after chunk for JSON Lines, from where it was stopped; prints the summary."""
    settings = settings_given(arguments)
    source = score_input.open_source(arguments)

    from infolm_metric.running.resume import run_job

    scorer = scorer_of(settings)
    result = run_job(
        scorer,
        source,
        arguments.output,
        restart=arguments.restart,
        progress=scorer.settings.verbose,
    )
    if result.resumed:
        print(f"infolm: {result.resumed} pairs were there already", file=sys.stderr)
    _print(scorer, result)


def _score_on_ray(arguments: argparse.Namespace) -> None:
    """Scores the rows of files or of a data set on a Ray cluster; prints the summary."""
    if not (arguments.data or arguments.dataset):
        raise ValueError("--engine ray needs --data PATH or --dataset NAME")
    settings = settings_given(arguments)
    try:
        import ray
    except ImportError as error:
        raise ModuleNotFoundError(
            "--engine ray needs Ray; install it with: pip install 'ray[data]'"
        ) from error

    from infolm_metric.running import ray as ray_engine
    from infolm_metric.running.ray_tables import open_files

    scorer = scorer_of(settings)
    ray_engine.start()
    ray.data.DataContext.get_current().enable_progress_bars = scorer.settings.verbose
    if arguments.data:
        source = open_files(arguments.data)
    else:
        source = ray.data.from_huggingface(score_input.load_dataset(arguments))
    result = ray_engine.score_files(
        source,
        arguments.output,
        metric=arguments.metric,
        settings=scorer.settings.replace(verbose=False),
        workers=arguments.workers,
        candidate_column=arguments.candidate_column,
        reference_columns=arguments.reference_column,
    )
    _print(scorer, result)


def _print(scorer: MetricScorer, result: JobResult) -> None:
    """Prints the summary of what was written."""
    light = _light(scorer, result.baseline, result.means, result.pairs, result.judged)
    write(_summary(scorer, result.means, result.pairs, result.signature, light), STANDARD_OUTPUT)


def _score_at_once(arguments: argparse.Namespace) -> None:
    """Scores all pairs together and writes the whole result."""
    settings = settings_given(arguments)
    pairs = score_input.read_pairs(arguments)

    from infolm_metric.kernel.rescaling import known_baseline, score_part
    from infolm_metric.kernel.results import mean

    scorer = scorer_of(settings)
    statistics = scorer.inner.count(pairs, settings)
    result = score_part(scorer.inner, pairs, settings, statistics)
    result.remarks.warn()
    if arguments.json:
        lines = [json.dumps(result.as_dict(), allow_nan=False)]
    else:
        means = {name: mean(column) for name, column in result.columns().items()}
        counts = Counter(map(len, pairs.references))
        known = known_baseline(scorer.inner, settings, statistics, counts)
        light = _light(scorer, known, means, len(pairs), result.remarks.judged)
        lines = list(_summary(scorer, means, len(pairs), result.signature, light))
        if arguments.per_pair:
            lines = [*_table(result), *("# " + line for line in lines)]
    write(lines, arguments.output)


def _light(
    scorer: MetricScorer,
    baseline: Mapping[str, Mapping[str, Any]] | None,
    means: Mapping[str, float],
    pairs: int,
    judged: bool = True,
) -> dict[str, str]:
    """By name of a score what unrelated texts score and where its mean lies, if that is known."""
    from infolm_metric.kernel.baselines import VERDICTS, Spread

    settings = scorer.settings
    side = int(scorer.inner.higher_is_better(settings))
    best = {name: scorer.inner.bounds(settings, name)[side] for name in settings.names}
    lines = {}
    for name, found in (baseline or {}).items():
        spread = Spread(**{key: value for key, value in found.items() if key != "source"})
        verdict = spread.verdict(means[name], best[name])
        if not judged:
            verdict = "not to be judged: the model had too little that it can read"
        elif verdict != "a copy":
            # What follows from its reference, as MENLI asks, is nearer to being correct.
            close = verdict in VERDICTS and not side
            verdict += " unrelated texts" + ("; close does not mean correct" if close else "")
        lines[name] = (
            f"unrelated texts: {spread.mean:.3g}, eight in ten between {spread.deciles[0]:.3g} and "
            f"{spread.deciles[-1]:.3g} ({spread.pairs} pairs of the {found['source']}); "
            f"{'this pair' if pairs == 1 else 'the mean'} is {verdict}"
        )
    return lines


def _summary(
    scorer: MetricScorer,
    means: Mapping[str, float],
    pairs: int,
    signature: str,
    light: Mapping[str, str],
) -> Iterator[str]:
    """A line for each kind of score, with the mean and what it means; one for the signature."""
    of = f"mean of {pairs} pairs; " if pairs > 1 else ""
    for name in scorer.settings.names:
        title = scorer.settings.label(name)
        yield f"{title}: {means[name]:.6g} ({of}{_meaning(scorer, name)})"
        if name in light:
            yield light[name]
        if (rescaled := means.get(f"{name}_rescaled")) is not None:
            yield f"{title} rescaled: {rescaled:.6g} ({of}1 = a copy, 0 = unrelated texts)"
    yield f"signature: {signature}"


def _meaning(scorer: MetricScorer, name: str) -> str:
    """Which scores of this name are better, what the best means, and how far they can go."""
    inner, settings = scorer.inner, scorer.settings
    ends = list(zip(("smallest", "largest"), inner.bounds(settings, name), strict=True))
    better, words = "lower is better", list[str]()
    if inner.higher_is_better(settings):
        ends, better = ends[::-1], "higher is better"
    for end, value in ends:
        if inner.best_means and not words:
            words.append(f"{value:.6g} = {inner.best_means}")
        elif math.isfinite(value):
            words.append(f"{end} {value:.6g}")
        elif inner.best_means:
            words.append(f"no {end} value")
    return "; ".join(filter(None, [better, ", ".join(words)]))


def _table(result: Result) -> Iterator[str]:
    """Tab-separated lines: a header, then each pair's number, from 1, and its scores."""
    columns = result.columns()
    shown = {f"{name}_rescaled": f"{name} rescaled" for name in result.names}
    yield "\t".join(["pair", *(shown.get(column, column) for column in columns)])
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        yield "\t".join([str(number), *(f"{value:.6g}" for value in row)])


COMMAND = Command(
    "score",
    "score texts against references",
    _score,
    lambda own, *_: {
        "what to score, in one of these ways": score_input.options(own),
        "how": (metric_option(), *setting_options(own)),
        "output": (
            option(
                "--per-pair",
                action="store_true",
                help="tab-separated table, a line for each pair; the summary follows after #",
            ),
            option(
                "--json",
                action="store_true",
                help="what compute returns, as one JSON object; holds each pair's scores",
            ),
            option(
                "-o",
                "--output",
                metavar="FILE",
                default=STANDARD_OUTPUT,
                help="write to a file; to one whose name ends in .jsonl, an object for each pair, "
                "in chunks kept in FILE.shards, from where the same command goes on if stopped",
            ),
            option(
                "--restart",
                action="store_true",
                help="begin anew, over the .jsonl and its .shards that are there",
            ),
        ),
        "where": (
            choice(
                "--engine",
                ("local", "ray"),
                "local (default), or ray: on the cluster that RAY_ADDRESS names, else on all "
                "cores or GPUs here; --data may be a folder, -o is one, of .parquet or .jsonl",
            ),
            amount("--workers", "Ray actors at most (default: all)"),
        ),
    },
    epilogue="""\
Arguments without a flag are texts, the candidate first, unless there is only one: that is a table,
as if --data stood before it. Plain text files come with -c and -r; they hold one text per line, and
an empty line is an empty text. Files are UTF-8; .gz is decompressed; - is standard input. Put --
before a text that starts with a dash.

examples:
  infolm score --model bundled "the candidate text" "the reference text" "another reference"
  infolm score -c system.txt -r references.txt -r more_references.txt -m kl -m l1
  infolm score --data outputs.jsonl --reference-column target --per-pair
  generate | infolm score -c - -r references.txt --json
  infolm score outputs.jsonl -o scores.jsonl
  infolm score --dataset my/outputs --split test --streaming --idf none -o scores.jsonl
""",
)
