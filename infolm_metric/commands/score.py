"""`infolm score`: texts against references, from the arguments, from files or from a data set."""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import score_input
from infolm_metric.commands.options import (
    SettingsTypes,
    add_metric,
    add_number,
    add_running,
    add_settings,
    chosen,
    scorer_of,
    shows_progress,
)
from infolm_metric.commands.output import STANDARD_OUTPUT, check_output, write
from infolm_metric.core.files import Row
from infolm_metric.core.settings import check_at_least

if TYPE_CHECKING:
    from infolm_metric.core.results import Result
    from infolm_metric.core.scorer import Scorer
    from infolm_metric.jobs.resume import JobResult

FORMS = {
    ".jsonl": "job",
    ".ndjson": "job",
    ".csv": "table",
    ".tsv": "table",
    ".json": "json",
    ".parquet": "",
    ".gz": "",
}
"""What is written to a file, by the end of its name; where nothing stands, nothing can be."""

USAGE = """\
infolm score [options] TEXT REFERENCE [REFERENCE ...]
       infolm score [options] -c CANDIDATES.txt -r REFERENCES.txt
       infolm score [options] TABLE"""
EPILOG = """\
Tables (.jsonl, .ndjson, .csv, .tsv, .parquet) have a column prediction, and one of references: a
text or a list. Files are UTF-8; .gz is decompressed. Put -- before texts that start with a dash.

examples:
  infolm score --model bundled "the candidate text" "the reference text" "another reference"
  infolm score -c system.txt -r references.txt -r more_references.txt -m kl -m l1
  infolm score outputs.jsonl -o scores.jsonl
"""


def add_options(parser: argparse.ArgumentParser, types: SettingsTypes) -> None:
    """The options of the command."""
    score_input.add_texts(parser.add_argument_group("texts and files"), types)
    add_metric(parser, types)
    group = parser.add_argument_group("output")
    group.add_argument("--per-pair", action="store_true", help="a line for each pair")
    group.add_argument("--json", action="store_true", help="all of it, as one JSON object")
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default=STANDARD_OUTPUT,
        help="write to a file; to .jsonl an object for each pair, by a job that the same command "
        "takes up again; to .csv or .tsv a table",
    )
    group.add_argument(
        "--rescale-with-baseline",
        nargs="?",
        const=True,
        metavar="FILE",
        help="also 1 for a copy, 0 for unrelated texts; FILE of infolm baseline",
    )
    score_input.add_datasets(parser.add_argument_group("columns and data sets"))
    group = parser.add_argument_group("running")
    group.add_argument("--restart", action="store_true", help="begin the job of the .jsonl anew")
    group.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="ray: on the cluster of RAY_ADDRESS, or here; -o names a folder, .parquet",
    )
    add_number(group, "--workers", "Ray actors at most (default: all)")
    add_running(group)
    add_settings(parser, types)


def run(arguments: argparse.Namespace) -> None:
    """Scores the texts that the arguments name, and writes the result."""
    score_input.check_way(arguments)
    form = _form(arguments)
    on_ray = arguments.engine == "ray"
    if arguments.workers is not None and not on_ray:
        raise ValueError("--workers needs --engine ray")
    check_at_least("workers", arguments.workers, 1)
    if arguments.restart and (on_ray or form != "job"):
        raise ValueError("--restart needs a job: -o SCORES.jsonl")
    settings = chosen(arguments)
    if on_ray:
        _score_on_ray(settings, arguments)
        return
    source = score_input.open_source(arguments)
    check_output(arguments, source.files)
    if form == "job":
        from infolm_metric.jobs.resume import run_job

        scorer = scorer_of(settings)
        result = run_job(
            scorer,
            source,
            arguments.output,
            rescale_with_baseline=arguments.rescale_with_baseline,
            restart=arguments.restart,
            verbose=shows_progress(arguments),
        )
        if result.resumed:
            print(f"infolm: {result.resumed} pairs were there already", file=sys.stderr)
        _print(scorer, result)
    else:
        _score_at_once(settings, list(source.rows()), source, form, arguments)


def _form(arguments: argparse.Namespace) -> str:
    """What is to be written: "json", "per pair", "summary", a "table" or a "job"."""
    if arguments.json and arguments.per_pair:
        raise ValueError("--json holds each pair's scores already; leave --per-pair out")
    if arguments.json or arguments.per_pair:
        return "json" if arguments.json else "per pair"
    form = FORMS.get(PurePath(arguments.output.lower()).suffix, "summary")
    if not form and arguments.engine != "ray":
        raise ValueError(
            f"cannot write {arguments.output}: name a file that ends in .jsonl (a job), .csv, "
            ".tsv, .json or .txt"
        )
    return form


def _score_on_ray(settings: Any, arguments: argparse.Namespace) -> None:
    """Scores the rows of files or of a data set on a Ray cluster; prints the summary."""
    if not (arguments.data or arguments.dataset):
        raise ValueError("--engine ray needs --data PATH or --dataset NAME")
    try:
        import ray
    except ImportError as error:
        raise ModuleNotFoundError(
            "--engine ray needs Ray; install it with: pip install 'ray[data]'"
        ) from error

    from infolm_metric.jobs import ray_jobs

    ray_jobs.check_output(arguments.output)
    ray_jobs.start(shows_progress(arguments))
    if arguments.data:
        source = ray_jobs.open_files(arguments.data)
    else:
        source = ray.data.from_huggingface(score_input.load_dataset(arguments))
    scorer = scorer_of(settings)
    result = ray_jobs.score_files(
        source,
        arguments.output,
        scorer,
        workers=arguments.workers,
        candidate_column=arguments.candidate_column,
        reference_columns=arguments.reference_column,
        rescale_with_baseline=arguments.rescale_with_baseline,
    )
    _print(scorer, result)


def _print(scorer: Scorer, result: JobResult) -> None:
    """Prints the summary of what was written."""
    verdicts = _verdicts(scorer, result.baseline, result.means, result.pairs, result.counts)
    lines = _summary(scorer, result.means, result.pairs, result.signature, verdicts)
    write(lines, STANDARD_OUTPUT)


def _score_at_once(
    settings: Any, rows: Sequence[Row], source: Any, form: str, arguments: argparse.Namespace
) -> None:
    """Scores all pairs together and writes the whole result."""
    from infolm_metric.core.baselines import baseline_of
    from infolm_metric.core.inputs import Pairs
    from infolm_metric.core.results import mean, warn
    from infolm_metric.jobs.resume import scored_rows

    pairs = Pairs.of(map(source.pair, rows))
    if not len(pairs):
        raise ValueError(f"{source.name} has no rows; give one row for each pair")
    baseline = baseline_of(settings.metric, arguments.rescale_with_baseline)
    scorer = scorer_of(settings)
    statistics = scorer.count(pairs, settings)
    shown = shows_progress(arguments)
    result = scorer.score_part(pairs, settings, statistics, baseline, shown)
    warn(result.counts, scorer.sentences)
    if form == "json":
        write([json.dumps(result.as_dict(), allow_nan=False)], arguments.output)
        return
    if form == "table":
        separator = "\t" if arguments.output.lower().endswith(".tsv") else ","
        write(_table(list(scored_rows(rows, result.columns())), separator), arguments.output)
    means = {name: mean(column) for name, column in result.columns().items()}
    known = scorer.known_baseline(settings, statistics, Counter(pairs.counts), baseline)
    verdicts = _verdicts(scorer, known, means, len(pairs), result.counts)
    lines = list(_summary(scorer, means, len(pairs), result.signature, verdicts))
    if form == "per pair":
        lines = [*_per_pair(result), *("# " + line for line in lines)]
    write(lines, STANDARD_OUTPUT if form == "table" else arguments.output)


def _table(rows: Sequence[Mapping[str, Any]], separator: str) -> Iterator[str]:
    """A header and the rows as CSV; a list is written as JSON, which can be read again."""
    names = dict.fromkeys(name for row in rows for name in row)
    text = io.StringIO()
    table = csv.DictWriter(text, names, delimiter=separator, lineterminator="\n")
    table.writeheader()
    for row in rows:
        table.writerow(
            {
                name: json.dumps(value, ensure_ascii=False, default=str)
                if isinstance(value, list | dict)
                else value
                for name, value in row.items()
            }
        )
    yield text.getvalue().removesuffix("\n")


def _per_pair(result: Result) -> Iterator[str]:
    """Tab-separated lines: a header, then each pair's number, from 1, and its scores."""
    columns = result.columns()
    yield "\t".join(["pair", *columns])
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        yield "\t".join([str(number), *(f"{value:.6g}" for value in row)])


def _verdicts(
    scorer: Scorer,
    baseline: Mapping[str, Mapping[str, Any]] | None,
    means: Mapping[str, float],
    pairs: int,
    counts: Mapping[str, int],
) -> dict[str, str]:
    """By name of a score what unrelated texts score and where its mean lies, if that is known."""
    from infolm_metric.core.baselines import VERDICTS, BaselineStats
    from infolm_metric.core.results import is_judged

    higher, settings, lines = scorer.higher_is_better, scorer.settings, {}
    for name, numbers in (baseline or {}).items():
        stats = BaselineStats(**{key: each for key, each in numbers.items() if key != "source"})
        verdict = stats.verdict(means[name], scorer.bounds(settings, name)[int(higher)])
        if not is_judged(counts):
            verdict = "not to be judged: the model had too little that it can read"
        elif verdict != "a copy":
            # What follows from its reference, as MENLI asks, is nearer to being correct.
            close = verdict in VERDICTS and not higher
            verdict += " unrelated texts" + ("; close does not mean correct" if close else "")
        lines[name] = (
            f"unrelated texts: {stats.mean:.3g}, eight in ten between {stats.deciles[0]:.3g} and "
            f"{stats.deciles[-1]:.3g} ({stats.pairs} pairs of the {numbers['source']}); "
            f"{'this pair' if pairs == 1 else 'the mean'} is {verdict}"
        )
    return lines


def _summary(
    scorer: Scorer,
    means: Mapping[str, float],
    pairs: int,
    signature: str,
    verdicts: Mapping[str, str],
) -> Iterator[str]:
    """A line for each kind of score, with the mean and what it means; one for the signature."""
    of = f"mean of {pairs} pairs; " if pairs > 1 else ""
    for name in scorer.settings.names:
        title = scorer.settings.label(name)
        yield f"{title}: {means[name]:.6g} ({of}{_meaning(scorer, name)})"
        if name in verdicts:
            yield verdicts[name]
        if (rescaled := means.get(f"{name}_rescaled")) is not None:
            yield f"{title} rescaled: {rescaled:.6g} ({of}1 = a copy, 0 = unrelated texts)"
    yield f"signature: {signature}"


def _meaning(scorer: Scorer, name: str) -> str:
    """Which scores of this name are better, what the best means, and how far they can go."""
    bounds = scorer.bounds(scorer.settings, name)
    ends = list(zip(("smallest", "largest"), bounds, strict=True))
    better, words = "lower is better", list[str]()
    if scorer.higher_is_better:
        ends, better = ends[::-1], "higher is better"
    for end, value in ends:
        if scorer.best_means and not words:
            words.append(f"{value:.6g} = {scorer.best_means}")
        elif math.isfinite(value):
            words.append(f"{end} {value:.6g}")
        elif scorer.best_means:
            words.append(f"no {end} value")
    return "; ".join(filter(None, [better, ", ".join(words)]))
