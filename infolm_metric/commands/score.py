"""`infolm score`: score texts from arguments, files or a data set against references.

A table (.jsonl, .ndjson, .csv, .tsv, .parquet) has the columns prediction and references; a row's
references are a string or a list of strings. Text files must be UTF-8 and can be compressed (.gz).
Put -- before texts that start with a dash.

For example:
  infolm score --model bundled "the candidate text" "the reference text" "another reference"
  infolm score -c system.txt -r references.txt -r more_references.txt -m kl -m l1
  infolm score outputs.jsonl -o scores.jsonl
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import options, score_input
from infolm_metric.commands.options import STANDARD_OUTPUT, write
from infolm_metric.core.baselines import PACKAGE, BaselineStats, Verdict, resolve_baseline
from infolm_metric.core.checks import check_at_least
from infolm_metric.core.files import finite, json_line
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import Summary, mean, verdict_obstacles, warn
from infolm_metric.tables import Source, read_rows

if TYPE_CHECKING:
    from infolm_metric.core.scorer import Scorer

FORMATS = {".jsonl": "job", ".ndjson": "job", ".csv": "table", ".tsv": "table"}
FORMATS |= {".txt": "summary", "": "summary", ".json": "json"}
"""Output formats by file extension."""
RESCALED = "1 = best possible score, 0 = mean score of unrelated texts"
USAGE = """\
infolm score [options] TEXT REFERENCE [REFERENCE ...]
       infolm score [options] -c CANDIDATES.txt -r REFERENCES.txt
       infolm score [options] TABLE"""


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    score_input.add_texts(parser.add_argument_group("texts and files"), types)
    options.add_metric(parser, types)
    add = parser.add_argument_group("output").add_argument
    add("--per-pair", action="store_true", help="print one line per pair")
    add("--json", action="store_true", help="print all results as one JSON object")
    text = "output file: .jsonl (resumable job), .csv, .tsv, .json or .txt (summary)"
    add("-o", "--output", metavar="FILE", default=STANDARD_OUTPUT, help=text)
    text = "rescale scores (1: best, 0: unrelated texts); FILE is written by infolm baseline"
    add("--rescale-with-baseline", nargs="?", const=True, metavar="FILE", help=text)
    score_input.add_datasets(parser.add_argument_group("columns and data sets"), types)
    running = parser.add_argument_group("running")
    add = running.add_argument
    add("--restart", action="store_true", help="discard an existing job and start over")
    text = "ray: use the cluster at RAY_ADDRESS or this machine; requires -o FOLDER.parquet"
    add("--engine", choices=("local", "ray"), default="local", help=text)
    add("--workers", type=int, metavar="N", help="maximum number of Ray actors (default: no limit)")
    options.add_settings(parser, types, running=running)


@dataclass(frozen=True, kw_only=True)
class ScoreRequest:
    """Checked arguments of `infolm score`.

    `format` is "per pair", "ray" or one of the values of FORMATS.
    """

    source: Source
    settings: Any
    format: str
    output: str
    rescale_with_baseline: bool | str
    verbose: bool
    restart: bool
    workers: int | None

    @classmethod
    def parse(cls, arguments: argparse.Namespace) -> ScoreRequest:
        """Check the arguments, without reading the texts or loading a model."""
        source = score_input.parse_source(arguments)
        output_format = _output_format(arguments, source)
        settings = options.read_settings(arguments.metric, arguments)
        if output_format != "ray":  # Ray writes a folder, which score_source checks
            options.check_output(arguments, *source.files)
        names = ("output", "rescale_with_baseline", "restart", "workers")
        values = {name: getattr(arguments, name) for name in names}
        values |= {"format": output_format, "verbose": options.progress_enabled(arguments.quiet)}
        return cls(source=source, settings=settings, **values)


def run(arguments: argparse.Namespace) -> None:
    request = ScoreRequest.parse(arguments)
    execute = _run_job if request.format in ("job", "ray") else _score_in_memory
    execute(request)


def _output_format(arguments: argparse.Namespace, source: Source) -> str:
    """Return the output format; raise ValueError if other options conflict with it."""
    flags = (arguments.engine == "ray", arguments.json, arguments.per_pair)
    formats = [*compress(("ray", "json", "per pair"), flags)]
    if len(formats) > 1:
        raise ValueError(
            "--json, --per-pair and --engine ray are mutually exclusive; --json includes all pairs"
        )
    suffix = PurePath(arguments.output.lower()).suffix
    if suffix not in FORMATS and formats != ["ray"]:
        raise ValueError(
            f"cannot write {arguments.output}: its name must end in "
            f"{', '.join(filter(None, FORMATS))} or have no extension; rename it"
        )
    output_format = formats[0] if formats else FORMATS[suffix]
    if arguments.restart and output_format != "job":
        raise ValueError("--restart requires a job; add -o SCORES.jsonl")
    if arguments.workers is not None and output_format != "ray":
        raise ValueError("--workers requires --engine ray")
    check_at_least("--workers", arguments.workers, 1)
    if output_format == "ray" and not source.load:
        raise ValueError("--engine ray requires --data PATH or --dataset NAME")
    return output_format


def _run_job(request: ScoreRequest) -> None:
    """Run a resumable job or use a Ray cluster, and print the summary."""
    scorer = options.make_scorer(request.settings)
    job: Any = (scorer, request.source, request.output)
    names = ("rescale_with_baseline", "verbose")
    keywords: Any = {name: getattr(request, name) for name in names}
    if request.format == "job":
        from infolm_metric.jobs.resume import run_job

        result = run_job(*job, restart=request.restart, **keywords)
        scores = (row[request.settings.names[0]] for _, row in read_rows(request.output))
        lines = _summary_with_verdicts(scorer, result, scores)
    else:
        try:
            from infolm_metric.jobs.ray_jobs import score_source
        except ImportError as error:
            message = "--engine ray requires Ray; run: pip install 'ray[data]'"
            raise ModuleNotFoundError(message) from error
        result = score_source(*job, workers=request.workers, **keywords)
        lines = list(_summary(scorer, result))
    if result.resumed:
        print(f"infolm: {result.resumed} pairs had already been scored", file=sys.stderr)
    write(lines, STANDARD_OUTPUT)


def _score_in_memory(request: ScoreRequest) -> None:
    """Score all pairs in one call and write the result."""
    from infolm_metric.jobs import resume

    source, settings, output = request.source, request.settings, request.output
    rows = list(source.rows())
    pairs = Pairs.of(map(source.pair, rows))
    if not len(pairs):
        raise ValueError(f"{source.name} has no rows; add one row per pair")
    baseline = resolve_baseline(settings.metric, request.rescale_with_baseline)
    scorer = options.make_scorer(settings)
    if request.format == "table":
        names = [resume.PAIR, *resume.result_columns(settings, baseline)]
        for where, row in rows:
            resume.check_new_columns(where, row, names)
    run = scorer.prepare(settings, pairs.texts_by_side, baseline)
    result = run.score(pairs, request.verbose)
    warn(result.counts, scorer.warning_messages)
    if request.format == "json":
        write([json.dumps(result.as_dict(), allow_nan=False)], output)
        return
    columns = result.columns()
    means = {name: mean(column) for name, column in columns.items()}
    totals = run.summary(means, result.counts, Counter(pairs.counts))
    lines = _summary_with_verdicts(scorer, totals, columns[settings.names[0]])
    if request.format == "table":
        separator = "\t" if output.lower().endswith(".tsv") else ","
        write(_table(list(resume.scored_rows(rows, columns)), separator), output)
        output = STANDARD_OUTPUT
    elif request.format == "per pair":
        lines = [*_per_pair(columns), *("# " + line for line in lines)]
    write(lines, output)


def _table(rows: Sequence[Mapping[str, Any]], separator: str) -> Iterator[str]:
    """Yield the rows as CSV with a header; lists are written as JSON, which infolm can read."""
    text, names = io.StringIO(), dict.fromkeys(name for row in rows for name in row)
    # All strings are quoted, because most readers end a row at an unquoted carriage return.
    options: dict[str, Any] = {"lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC}
    table = csv.DictWriter(text, names, delimiter=separator, **options)
    table.writeheader()
    for row in rows:
        lists = {name: value for name, value in row.items() if isinstance(value, list | dict)}
        table.writerow(finite(row) | {name: json_line(value) for name, value in lists.items()})
    yield text.getvalue().removesuffix("\n")


def _per_pair(columns: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield tab-separated lines: a header, then each pair's number (from 1) and scores."""
    yield "\t".join(["pair", *columns])
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        yield "\t".join([str(number), *(f"{value:.6g}" for value in row)])


def _summary(scorer: Scorer, result: Summary) -> Iterator[str]:
    """Yield each mean score with its interpretation, then the signature."""
    prefix = f"mean of {result.pairs} pairs; " if result.pairs > 1 else ""
    for name in scorer.settings.names:
        title = scorer.settings.label(name)
        yield f"{title}: {result.means[name]:.6g} ({prefix}{_meaning(scorer, name)})"
        if result.baseline:
            yield _verdict(scorer, name, result, result.baseline[name])
        if (rescaled := result.means.get(f"{name}_rescaled")) is not None:
            yield f"{title} rescaled: {rescaled:.6g} ({prefix}{RESCALED})"
    yield f"signature: {result.signature}"


def _summary_with_verdicts(scorer: Scorer, result: Summary, scores: Iterable[float]) -> list[str]:
    """Return the summary with the number of each verdict, if the metric has verdicts."""
    lines = list(_summary(scorer, result))
    prefix = "verdict: "
    numbers = {k.removeprefix(prefix): n for k, n in result.counts.items() if k.startswith(prefix)}
    if numbers:
        words = ", ".join(f"{number} {verdict}" for verdict, number in numbers.items())
        lines.insert(-1, f"verdicts: {words}" if result.pairs > 1 else f"verdict: {words[2:]}")
    return lines


def _meaning(scorer: Scorer, name: str) -> str:
    """Describe a score's direction and bounds."""
    ends = list(zip(("minimum", "maximum"), scorer.bounds(scorer.settings, name), strict=True))
    better, words = "lower is better", list[str]()
    if scorer.higher_is_better:
        ends, better = ends[::-1], "higher is better"
    for end, value in ends:
        if scorer.perfect_score_label and not words:
            words.append(f"{value:.6g} = {scorer.perfect_score_label}")
        elif math.isfinite(value):
            words.append(f"{end} {value:.6g}")
        elif scorer.perfect_score_label:
            words.append(f"no {end}")
    return "; ".join(filter(None, [better, ", ".join(words)]))


def _verdict(scorer: Scorer, name: str, result: Summary, stats: BaselineStats) -> str:
    """Describe the baseline and compare the mean score with it."""
    higher, counts = scorer.higher_is_better, dict(result.counts)
    identical = counts.get("identical") == result.pairs
    verdict = stats.verdict(result.means[name], scorer.best(scorer.settings, name), identical)
    words = f"{'this pair is' if result.pairs == 1 else 'on average, the pairs are'} {verdict}"
    if stats.source != PACKAGE:  # the user's own texts may come from the same template
        counts["few_weighted"] = 0
    if obstacles := verdict_obstacles(counts):
        words = f"no verdict, because of {', '.join(obstacles)}"
    elif verdict != Verdict.COPY:
        # MENLI differs: a candidate that is entailed by its reference is usually correct.
        close = verdict in (Verdict.FAR_CLOSER, Verdict.CLOSER) and not higher
        words += " unrelated texts" + (" (close does not mean correct)" if close else "")
    return (
        f"unrelated texts: mean {stats.mean:.3g}, 80% between {stats.deciles[0]:.3g} and "
        f"{stats.deciles[-1]:.3g} ({stats.pairs} pairs, baseline from the {stats.source}); {words}"
    )
