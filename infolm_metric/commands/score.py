"""`infolm score`: texts against references, from the arguments, from files or from a data set.

Tables (.jsonl, .ndjson, .csv, .tsv, .parquet) have a column prediction, and one of references: a
text or a list. Files are UTF-8; .gz is decompressed. Put -- before texts that start with a dash.

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
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import options, score_input
from infolm_metric.commands.options import STANDARD_OUTPUT, write
from infolm_metric.core.files import Source, read_rows
from infolm_metric.core.settings import check_at_least

if TYPE_CHECKING:
    from infolm_metric.core.baselines import BaselineStats
    from infolm_metric.core.results import Summary
    from infolm_metric.core.scorer import Scorer

FORMS = {
    **dict.fromkeys((".jsonl", ".ndjson"), "job"),
    **dict.fromkeys((".csv", ".tsv"), "table"),
    **dict.fromkeys((".txt", ""), "summary"),
    ".json": "json",
}
"""Form of the output by the ending of its name."""
RESCALED = "1 = the best possible score, 0 = unrelated texts"
USAGE = """\
infolm score [options] TEXT REFERENCE [REFERENCE ...]
       infolm score [options] -c CANDIDATES.txt -r REFERENCES.txt
       infolm score [options] TABLE"""


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """The options of the command."""
    score_input.add_texts(parser.add_argument_group("texts and files"), types)
    options.add_metric(parser, types)
    add = parser.add_argument_group("output").add_argument
    add("--per-pair", action="store_true", help="a line for each pair")
    add("--json", action="store_true", help="all of it, as one JSON object")
    text = "file; .jsonl: resumable job; .csv, .tsv: table; .json; .txt: summary"
    add("-o", "--output", metavar="FILE", default=STANDARD_OUTPUT, help=text)
    text = "also 1 = best score, 0 = unrelated texts; FILE of infolm baseline"
    add("--rescale-with-baseline", nargs="?", const=True, metavar="FILE", help=text)
    score_input.add_datasets(parser.add_argument_group("columns and data sets"), types)
    running = parser.add_argument_group("running")
    add = running.add_argument
    add("--restart", action="store_true", help="begin the job of the .jsonl anew")
    text = "ray: on the cluster of RAY_ADDRESS, or here; -o names a folder, .parquet"
    add("--engine", choices=("local", "ray"), default="local", help=text)
    add("--workers", type=int, metavar="N", help="Ray actors at most (default: all)")
    options.add_settings(parser, types, running=running)


def run(arguments: argparse.Namespace) -> None:
    """Scores the texts that the arguments name, and writes the result."""
    score_input.check_way(arguments)
    form = _form(arguments)
    settings = options.read_settings(arguments.metric, arguments)
    if form == "ray":
        _score_on_ray(settings, arguments)
        return
    source = score_input.open_source(arguments)
    options.check_output(arguments, *source.files)
    if form != "job":
        _score_at_once(settings, source, form, arguments)
        return
    from infolm_metric.jobs.resume import run_job

    scorer = options.scorer_of(settings)
    result = run_job(
        scorer,
        source,
        arguments.output,
        rescale_with_baseline=arguments.rescale_with_baseline,
        restart=arguments.restart,
        verbose=options.shows_progress(arguments),
    )
    if result.resumed:
        print(f"infolm: {result.resumed} pairs were there already", file=sys.stderr)
    scores = (row[settings.names[0]] for _, row in read_rows(arguments.output))
    write(_summary_with_verdicts(scorer, result, scores), STANDARD_OUTPUT)


def _form(arguments: argparse.Namespace) -> str:
    """What is to be written: "json", "per pair", "summary", a "table", by a "job" or by "ray"."""
    flags = {"ray": arguments.engine == "ray", "json": arguments.json}
    forms = [form for form, flag in (flags | {"per pair": arguments.per_pair}).items() if flag]
    if len(forms) > 1:
        raise ValueError("give one of --json (it holds each pair), --per-pair and --engine ray")
    suffix = PurePath(arguments.output.lower()).suffix
    if suffix not in FORMS and forms != ["ray"]:
        raise ValueError(
            f"cannot write {arguments.output}: a name must end in {', '.join(filter(None, FORMS))} "
            "or have no ending; name another file"
        )
    form = forms[0] if forms else FORMS[suffix]
    if arguments.restart and form != "job":
        raise ValueError("--restart needs a job: -o SCORES.jsonl")
    if arguments.workers is not None and form != "ray":
        raise ValueError("--workers needs --engine ray")
    check_at_least("workers", arguments.workers, 1)
    if form == "ray" and not (arguments.data or arguments.dataset):
        raise ValueError("--engine ray needs --data PATH or --dataset NAME")
    return form


def _score_on_ray(settings: Any, arguments: argparse.Namespace) -> None:
    """Scores the rows of files or of a data set on a Ray cluster; prints the summary."""
    try:
        from infolm_metric.jobs import ray_jobs
    except ImportError as error:
        raise ModuleNotFoundError(
            "--engine ray needs Ray; install it with: pip install 'ray[data]'"
        ) from error
    ray_jobs.check_output(arguments.output)
    ray_jobs.start(options.shows_progress(arguments))
    scorer = options.scorer_of(settings)
    result = ray_jobs.score_files(
        arguments.data or score_input.load_dataset(arguments),
        arguments.output,
        scorer,
        workers=arguments.workers,
        candidate_column=arguments.candidate_column,
        reference_columns=arguments.reference_column,
        source_column=getattr(arguments, "source_column", None),
        rescale_with_baseline=arguments.rescale_with_baseline,
    )
    write(_summary(scorer, result), STANDARD_OUTPUT)


def _score_at_once(settings: Any, source: Source, form: str, arguments: argparse.Namespace) -> None:
    """Scores all pairs together and writes the whole result."""
    from infolm_metric.core.baselines import baseline_of, most_frequent
    from infolm_metric.core.inputs import Pairs
    from infolm_metric.core.results import Summary, mean, warn
    from infolm_metric.jobs.resume import PAIR, check_new_columns, result_columns, scored_rows

    rows = list(source.rows())
    pairs = Pairs.of(map(source.pair, rows), source.against_sources)
    if not len(pairs):
        raise ValueError(f"{source.name} has no rows; give one row for each pair")
    baseline = baseline_of(settings.metric, arguments.rescale_with_baseline)
    scorer, verbose = options.scorer_of(settings), options.shows_progress(arguments)
    if form == "table":
        names = [PAIR, *result_columns(settings, baseline)]
        for where, row in rows:
            check_new_columns(where, row, names)
    statistics = scorer.count(pairs.texts_by_side, settings)
    result = scorer.score_part(pairs, settings, statistics, baseline, verbose)
    warn(result.counts, scorer.warning_messages)
    if form == "json":
        write([json.dumps(result.as_dict(), allow_nan=False)], arguments.output)
        return
    columns = result.columns()
    if form == "table":
        separator = "\t" if arguments.output.lower().endswith(".tsv") else ","
        write(_table(list(scored_rows(rows, columns)), separator), arguments.output)
        arguments.output = STANDARD_OUTPUT  # of the summary
    means = {name: mean(column) for name, column in columns.items()}
    counts = Counter(pairs.counts)
    stats = scorer.baseline_stats(settings, statistics, baseline, counts)
    known = most_frequent(stats, counts)
    totals = Summary(len(pairs), means, result.signature, result.counts, known)
    lines = _summary_with_verdicts(scorer, totals, columns[settings.names[0]])
    if form == "per pair":
        lines = [*_per_pair(columns), *("# " + line for line in lines)]
    write(lines, arguments.output)


def _table(rows: Sequence[Mapping[str, Any]], separator: str) -> Iterator[str]:
    """A header and the rows as CSV; a list is written as JSON, which can be read again."""
    from infolm_metric.jobs.resume import finite, json_line

    text, names = io.StringIO(), dict.fromkeys(name for row in rows for name in row)
    # Only with all strings quoted is a carriage return quoted, which ends a row for most readers.
    options: dict[str, Any] = {"lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC}
    table = csv.DictWriter(text, names, delimiter=separator, **options)
    table.writeheader()
    for row in rows:
        lists = {name: value for name, value in row.items() if isinstance(value, list | dict)}
        table.writerow(finite(row) | {name: json_line(value) for name, value in lists.items()})
    yield text.getvalue().removesuffix("\n")


def _per_pair(columns: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Tab-separated lines: a header, then each pair's number, from 1, and its scores."""
    yield "\t".join(["pair", *columns])
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        yield "\t".join([str(number), *(f"{value:.6g}" for value in row)])


def _summary(scorer: Scorer, result: Summary) -> Iterator[str]:
    """A line for each kind of score, with the mean and what it means; one for the signature."""
    prefix = f"mean of {result.pairs} pairs; " if result.pairs > 1 else ""
    for name in scorer.settings.names:
        title, mean = scorer.settings.label(name), result.means[name]
        yield f"{title}: {mean:.6g} ({prefix}{_meaning(scorer, name)})"
        if result.baseline:
            yield _verdict(scorer, name, result, result.baseline[name])
        if (rescaled := result.means.get(f"{name}_rescaled")) is not None:
            yield f"{title} rescaled: {rescaled:.6g} ({prefix}{RESCALED})"
    yield f"signature: {result.signature}"


def _summary_with_verdicts(scorer: Scorer, result: Summary, scores: Iterable[float]) -> list[str]:
    """Return the summary, with the verdicts of MENLI's task "answer" on the scores."""
    lines = list(_summary(scorer, result))
    if getattr(scorer.settings, "task", None) == "answer":
        from infolm_metric.menli.verdict import describe_verdicts

        lines.insert(-1, describe_verdicts(scorer, result.signature, result.counts, scores))
    return lines


def _meaning(scorer: Scorer, name: str) -> str:
    """Which scores of this name are better, what the best means, and how far they can go."""
    ends = list(zip(("smallest", "largest"), scorer.bounds(scorer.settings, name), strict=True))
    better, words = "lower is better", list[str]()
    if scorer.higher_is_better:
        ends, better = ends[::-1], "higher is better"
    for end, value in ends:
        if scorer.perfect_score_label and not words:
            words.append(f"{value:.6g} = {scorer.perfect_score_label}")
        elif math.isfinite(value):
            words.append(f"{end} {value:.6g}")
        elif scorer.perfect_score_label:
            words.append(f"no {end} value")
    return "; ".join(filter(None, [better, ", ".join(words)]))


def _verdict(scorer: Scorer, name: str, result: Summary, stats: BaselineStats) -> str:
    """What unrelated texts score, and where the mean of this score lies."""
    from infolm_metric.core.baselines import VERDICTS
    from infolm_metric.core.results import is_judged

    higher = scorer.higher_is_better
    verdict = stats.verdict(result.means[name], scorer.bounds(scorer.settings, name)[int(higher)])
    if not is_judged(result.counts):
        verdict = "not to be judged: the model had too little that it can read"
    elif verdict != "a copy":
        # What follows from its reference, as MENLI asks, is nearer to being correct.
        close = verdict in VERDICTS and not higher
        verdict += " unrelated texts" + ("; close does not mean correct" if close else "")
    return (
        f"unrelated texts: {stats.mean:.3g}, eight in ten between {stats.deciles[0]:.3g} and "
        f"{stats.deciles[-1]:.3g} ({stats.pairs} pairs of the {stats.source}); "
        f"{'this pair' if result.pairs == 1 else 'the mean'} is {verdict}"
    )
