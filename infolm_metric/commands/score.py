"""`infolm score`: score texts from arguments, files or a data set against references.

A table (.jsonl, .ndjson, .csv, .tsv, .parquet) has the columns prediction and references. A row's
references are a string or a list of strings. Text files must be UTF-8 and can be compressed (.gz).
Put -- before texts that start with a dash.

For example:
  infolm score --model bundled "the candidate text" "the reference text" "another reference"
  infolm score -c system.txt -r references.txt -r more_references.txt -m kl -m l1
  infolm score outputs.jsonl --metric baryscore --metric menli --model bundled -o scores.csv
  infolm score outputs.jsonl -o scores.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import options, outputs, score_input
from infolm_metric.commands.parser import Parser
from infolm_metric.core.baselines import PACKAGE, Verdict, resolve_baseline
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, counted
from infolm_metric.core.results import Result, Summary, mean, verdict_obstacles, warn
from infolm_metric.core.settings import Settings
from infolm_metric.integrations import require
from infolm_metric.tables import PAIR, Row, Source, check_new_columns, scored_rows

if TYPE_CHECKING:
    from infolm_metric.scoring.scorer import S, Scorer

VIEWS = {
    "--per-pair": "print one line per pair",
    "--json": outputs.JSON_HELP,
    "--explain": "explain the score of one pair with one reference (not menli)",
    "-b --score-only": "print only the mean score (requires a single score)",
}
ROWS = {".jsonl": "job", ".ndjson": "job", ".csv": "table", ".tsv": "table"}
# Output formats by flag and file extension, as in `outputs`.
FORMATS: Mapping[str, outputs.Formats] = {
    "": {"": "summary", ".txt": "summary", **ROWS, ".json": "json"},
    "--score-only": {"": "summary", ".txt": "summary", **ROWS},
    "--per-pair": {"": "per pair", ".txt": "per pair", **ROWS},
    "--json": {"": "json", ".json": "json"},
    "--explain": {"": "explanation", ".txt": "explanation"},
    "--engine ray": {".parquet": "ray"},
}
RESCALED = "1 = best possible score, 0 = mean score of unrelated texts"
USAGE = """\
infolm score [options] TEXT REFERENCE [REFERENCE ...]
       infolm score [options] -c CANDIDATES.txt -r REFERENCES.txt
       infolm score [options] TABLE"""


def add_options(parser: Parser) -> None:
    score_input.add_texts(parser.add_argument_group("texts and files"))
    options.add_metric(parser, multiple=True)
    group = parser.add_argument_group("output")
    add = group.add_mutually_exclusive_group().add_argument
    for flags, text in VIEWS.items():
        *short, view = flags.split()
        add(*short, view, dest="view", action="store_const", const=view, default="", help=text)
    add = group.add_argument
    text = "output file: .jsonl (resumable job, one metric), .csv, .tsv, .json or .txt (summary)"
    add("-o", "--output", metavar="FILE", default=outputs.STANDARD_OUTPUT, help=text)
    outputs.add_short_signature(group)
    text = "rescale with FILE (infolm baseline) or the package's baseline (pass this option last)"
    add("--rescale-with-baseline", nargs="?", const=True, metavar="FILE", help=text)
    group = parser.add_argument_group("columns and data sets")
    options.add_columns(group)
    options.add_names(group, score_input.DATASET_OPTIONS)
    running = parser.add_argument_group("running")
    add = running.add_argument
    add("--restart", action="store_true", help="discard an existing job and start over")
    text = "ray: use the cluster at RAY_ADDRESS or this machine (requires -o FOLDER.parquet)"
    add("--engine", choices=("local", "ray"), default="local", help=text)
    options.add_running(running)
    options.add_settings(parser)


def run(arguments: argparse.Namespace) -> None:
    """Check the arguments before reading the texts or loading a model, then score the texts."""
    source = score_input.parse_source(arguments)
    output_format = _output_format(arguments, source)
    settings = options.read_metrics(arguments)
    _check_metrics(arguments, settings, output_format)
    if output_format == "explanation":
        _explain(arguments, source, settings[0])
    elif output_format in ("job", "ray"):
        _run_job(arguments, source, settings[0], output_format)
    else:
        _score_in_memory(arguments, source, settings, output_format)


def _output_format(arguments: argparse.Namespace, source: Source) -> str:
    """Check the files and return the output format. Reject options that conflict with it."""
    flag = arguments.view
    if arguments.engine == "ray":
        if flag not in ("", "--score-only"):
            raise InputError(f"{flag} cannot be combined with --engine ray. Omit one of them.")
        flag = "--engine ray"
    output_format = outputs.check_output(arguments, FORMATS[flag], *source.files, flag=flag)
    if arguments.restart and output_format != "job":
        raise InputError("--restart requires a job. Omit it, or write a job with -o SCORES.jsonl.")
    return output_format


def _check_metrics(
    arguments: argparse.Namespace, settings: Sequence[Settings], output_format: str
) -> None:
    """Check that the output can hold the scores of all metrics."""
    baseline = arguments.rescale_with_baseline
    columns = [column for item in settings for column in item.columns(bool(baseline))]
    if arguments.view == "--score-only" and len(columns) > 1:
        names = ", ".join(columns)
        remedy = "Omit -b, or select a single score, without --rescale-with-baseline."
        raise InputError(f"-b prints a single number, got {names}. {remedy}")
    single = {"job": "-o FILE.jsonl", "ray": "Ray", "explanation": "--explain"}.get(output_format)
    if isinstance(baseline, str):  # each metric has its own baseline
        single = "--rescale-with-baseline FILE"
    if single and len(settings) > 1:
        names = ", ".join(item.metric for item in settings)
        raise InputError(f"{single} takes one metric, got {names}. Run one command per metric.")


def _explain(arguments: argparse.Namespace, source: Source, settings: Settings) -> None:
    """Write the explanation of the score of a single pair with a single reference."""
    pairs = Pairs.of(source)
    if len(pairs) != 1 or pairs.counts != [1]:
        raise InputError(
            "--explain explains the score of one pair with one reference, got "
            f"pairs: {len(pairs)}, references: {sum(pairs.counts)}. Pass one of each."
        )
    scorer: Any = options.make_scorer(settings)
    if not hasattr(scorer, "explain"):
        raise InputError(f"--metric {settings.metric} has no explanations. Omit --explain.")
    explanation = scorer.explain(pairs.predictions[0], pairs.references[0][0])
    outputs.write(explanation.lines(), arguments.output)


def _run_job(
    arguments: argparse.Namespace, source: Source, settings: Settings, output_format: str
) -> None:
    """Run a resumable job or use a Ray cluster, and print the summary."""
    scorer = options.make_scorer(settings)
    keywords: Any = {
        "rescale_with_baseline": arguments.rescale_with_baseline,
        "verbose": options.progress_enabled(arguments.quiet),
    }
    if output_format == "job":
        from infolm_metric.jobs.resume import run_job

        result = run_job(scorer, source, arguments.output, restart=arguments.restart, **keywords)
    else:
        with require("ray[data]"):
            from infolm_metric.jobs.ray_jobs import score_source

        result = score_source(scorer, source, arguments.output, **keywords)
    if result.resumed:
        print(f"infolm: {result.resumed} pairs had already been scored", file=sys.stderr)
    outputs.write(_summary([scorer], [result], arguments), outputs.STANDARD_OUTPUT)


def _score_in_memory(
    arguments: argparse.Namespace, source: Source, settings: Sequence[Settings], output_format: str
) -> None:
    """Score all pairs with each metric in one call, and write the results."""
    rows = list(source.rows())
    pairs = Pairs.of(map(source.pair, rows))
    if not len(pairs):
        raise InputError(f"{source.name} has no rows. Add one row per pair.")
    rescale = arguments.rescale_with_baseline
    if output_format == "table":
        columns = [column for item in settings for column in item.all_columns(bool(rescale))]
        for where, row in rows:
            check_new_columns(where, row, [PAIR, *columns])
    runs = []
    for item in settings:
        baseline = resolve_baseline(item.metric, rescale)
        runs.append(options.make_scorer(item).prepare(item, pairs.texts_by_side, baseline))
    verbose = options.progress_enabled(arguments.quiet)
    results, totals = dict[str, Result](), []
    for run in runs:
        result = run.score(pairs, verbose, rank=True).renamed(run.settings.column)
        warn(result.counts)
        means = {name: mean(column) for name, column in result.columns().items()}
        totals.append(run.summary(means, result.counts, Counter(pairs.counts)))
        results[run.settings.metric] = result
    lines = _summary([run.scorer for run in runs], totals, arguments)
    _write(output_format, arguments.output, rows, results, lines)


def _write(
    output_format: str, output: str, rows: list[Row], results: dict[str, Result], summary: list[str]
) -> None:
    """Write the scores of all pairs in a format, and the summary."""
    columns = {
        name: column for part in results.values() for name, column in part.all_columns().items()
    }
    if output_format == "json":
        parts = {metric: part.as_dict() for metric, part in results.items()}
        report = {"metrics": parts} if len(parts) > 1 else next(iter(parts.values()))
        return outputs.write([json.dumps(report, allow_nan=False)], output)
    if output_format == "table":
        outputs.write_table(scored_rows(rows, columns), output)
        output = outputs.STANDARD_OUTPUT
    elif output_format == "per pair":
        summary = [*_per_pair(columns), *(f"# {line}" for line in summary)]
    outputs.write(summary, output)


def _per_pair(columns: Mapping[str, Sequence[float | str | None]]) -> Iterator[str]:
    """Yield tab-separated lines with the number and the scores of each pair."""
    yield "\t".join(["pair", *columns])
    for number, values in enumerate(zip(*columns.values(), strict=True), 1):
        cells = (f"{x:.6g}" if isinstance(x, float) else x or "" for x in values)
        yield "\t".join([str(number), *cells])


def _summary(
    scorers: Sequence[Scorer[Any]], totals: Sequence[Summary], arguments: argparse.Namespace
) -> list[str]:
    """Return the mean scores with their interpretation, then the signatures."""
    if arguments.view == "--score-only":
        return [f"{value:.6g}" for value in totals[0].means.values()]
    parts = list(zip(scorers, totals, strict=True))
    if len(parts) == 1:
        lines = [*_sentences(*parts[0])]
    else:
        mean_or_score = "mean" if totals[0].pairs > 1 else "score"
        header = ["metric", mean_or_score, "better", "unrelated", "verdict"]
        lines = outputs.aligned(header, [row for part in parts for row in _rows(*part)], left=5)
    for scorer, result in parts:
        lines += scorer.describe_verdicts(result.counts)
    return [*lines, *outputs.signature_lines(totals, arguments)]


def _sentences(scorer: Scorer[S], result: Summary) -> Iterator[str]:
    """Yield each mean score with its interpretation."""
    prefix = f"mean of {result.pairs} pairs; " if result.pairs > 1 else ""
    for name in scorer.settings.names:
        column = scorer.settings.column(name)
        yield f"{column}: {result.means[column]:.6g} ({prefix}{_meaning(scorer, name)})"
        if result.baseline:
            stats, verdict = result.baseline[name], _verdict(scorer, name, result)
            if not verdict.startswith("no verdict"):
                subject = "this pair is" if result.pairs == 1 else "on average, the pairs are"
                verdict = f"{subject} {verdict}"
            unrelated, tokens = stats.at(result.tokens), counted(round(result.tokens), "token")
            low, high = sorted((unrelated.percentiles[2], unrelated.percentiles[-1]))
            yield (
                f"unrelated texts of {tokens}: mean {unrelated.mean:.3g}, 80% "
                f"between {low:.3g} and {high:.3g} (baseline from the {stats.source}); {verdict}"
            )
        if (rescaled := result.means.get(f"{column}_rescaled")) is not None:
            yield f"{column}_rescaled: {rescaled:.6g} ({prefix}{RESCALED})"


def _rows(scorer: Scorer[S], result: Summary) -> Iterator[list[str]]:
    """Yield a row of a table of several metrics for each mean score."""
    better = "higher" if scorer.higher_is_better else "lower"
    for name in scorer.settings.names:
        column, unrelated, verdict = scorer.settings.column(name), "-", "-"
        if result.baseline:
            unrelated = f"{result.baseline[name].at(result.tokens).mean:.3g}"
            verdict = _verdict(scorer, name, result)
        yield [column, f"{result.means[column]:.6g}", better, unrelated, verdict]
        if (rescaled := result.means.get(f"{column}_rescaled")) is not None:
            yield [f"{column}_rescaled", f"{rescaled:.6g}", "higher", "0", RESCALED]


def _meaning(scorer: Scorer[S], name: str) -> str:
    """Describe a score's direction and bounds."""
    ends = zip(("minimum", "maximum"), scorer.bounds(scorer.settings, name), strict=True)
    words = [f"{end} {value:.6g}" if math.isfinite(value) else f"no {end}" for end, value in ends]
    better = "higher" if scorer.higher_is_better else "lower"
    if scorer.higher_is_better:  # the best score first
        words.reverse()
    if scorer.perfect_score_label:
        words[0] = f"{scorer.best(scorer.settings, name):.6g} = {scorer.perfect_score_label}"
    return f"{better} is better; {', '.join(words)}"


def _verdict(scorer: Scorer[S], name: str, result: Summary) -> str:
    """Describe the mean percentile among unrelated texts, or the reasons against a verdict."""
    assert result.baseline
    stats, counts = result.baseline[name], dict(result.counts)
    if stats.source != PACKAGE:  # the user's own texts may come from the same template
        counts["few_weighted"] = 0
    if obstacles := verdict_obstacles(counts):
        return f"no verdict, because of {', '.join(obstacles)}"
    if counts.get("identical") == result.pairs:
        return str(Verdict.COPY)
    verdict = Verdict.of(result.percentile(name))
    # MENLI differs: a candidate that is entailed by its reference is usually correct.
    close = verdict in (Verdict.FAR_CLOSER, Verdict.CLOSER) and not scorer.higher_is_better
    return f"{verdict} unrelated texts{' (close does not mean correct)' if close else ''}"
