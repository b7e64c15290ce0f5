"""Tab "Score a file": upload, results and download."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

import gradio as gr

from infolm_metric.commands.outputs import write_table
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, counted
from infolm_metric.tables import PAIR, Row, check_new_columns, parse_pair, read_rows, scored_rows

from . import appearance as html
from . import limits
from .appearance import HIGHER, LOWER, METRIC_NAMES
from .scoring import EXPECTED_ERRORS, refusal, score_pairs
from .settings import QUIET, check_settings
from .workers import FILES, token_counts

SAMPLE = Path(__file__).with_name("sample.csv")
FILE_TYPES = [".csv", ".tsv", ".jsonl", ".ndjson"]
SHOWN_CHARACTERS = 300  # per text in the table, but not in the download


def read_pairs(path: str, metric: str) -> tuple[list[Row], Pairs]:
    """Read the rows of a file, and check their columns and pairs."""
    if PurePath(path.lower()).suffix not in FILE_TYPES:
        raise InputError(f"{path} must end in one of {', '.join(FILE_TYPES)}. Convert the file.")
    rows = list(islice(read_rows(path), limits.FILE_ROWS + 1))
    limits.at_most("the file has {} rows or more", len(rows), limits.FILE_ROWS, "Split it.")
    if not rows:
        raise InputError("the file has no rows. Add one row per pair of texts.")
    pairs = Pairs.of(parse_pair(where, row) for where, row in rows)
    for (where, row), (text, group) in zip(rows, pairs, strict=True):
        check_new_columns(where, row, [PAIR, metric, "verdict"])
        limits.check_group(where, group, [text, *group])
    tokens = dict(zip(pairs.texts, FILES.call(token_counts, [*pairs.texts]), strict=True))
    for (where, _), (text, group) in zip(rows, pairs, strict=True):
        most = max(tokens[part] for part in (text, *group))
        limits.at_most(f"a text in {where} has {{}} tokens", most, limits.FILE_TOKENS)
    return rows, pairs


@contextmanager
def scored_file(
    path: str | None, metric: str
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], str]]:
    """Yield the result of a file, its rows with the scores, and the path of a table of the rows."""
    settings = check_settings(metric, {})
    if path is None:
        raise InputError("no file selected. Upload a CSV, TSV or JSON Lines file.")
    try:
        rows, pairs = read_pairs(path, metric)
    except InputError as error:  # hide the path on the server
        raise InputError(str(error).replace(path, PurePath(path).name)) from None
    result = FILES.call(score_pairs, metric, pairs, settings)
    columns = {metric: result["scores"]}
    if "verdicts" in result:
        columns["verdict"] = result["verdicts"]
    scored = list(scored_rows(rows, columns))
    with tempfile.TemporaryDirectory() as folder:  # Gradio copies the file
        download = f"{folder}/{metric}_scores.csv"
        write_table(scored, download)
        yield result, scored, download


def score_file(file: str, metric: str = "infolm") -> Iterator[tuple[dict[str, Any], str]]:
    """Score each row of a CSV, TSV or JSON Lines file with the columns prediction and reference.

    Returns the mean score with details, and a CSV file of all scores.
    """
    try:
        with scored_file(file, metric) as (result, _, download):
            yield result, download
    except EXPECTED_ERRORS as error:
        raise refusal(error) from None


def show_file(file: str | None, metric: str) -> Iterator[tuple[str, Any]]:
    """Yield the result of a file as HTML, and an update of the download button."""
    try:
        with scored_file(file, metric) as (result, scored, download):
            yield show(metric, result, scored), gr.update(visible=True, value=download)
    except EXPECTED_ERRORS as error:
        yield html.notice(f"Not scored: {error}"), gr.update(visible=False)


def build(metric: str) -> None:
    """Build the tab and its API endpoint."""
    words = html.TEXTS["file"]["introduction"].format(**vars(limits))
    example = "".join(SAMPLE.read_text().splitlines(keepends=True)[:3])
    gr.Markdown(f"{words}\n```\n{example}```")
    with gr.Row(equal_height=False):
        with gr.Column(scale=4, min_width=300):
            choices = [(label, name) for name, label in METRIC_NAMES.items()]
            radio = gr.Radio(choices, value=metric, label="Metric")
            file = gr.File(label="CSV, TSV or JSON Lines", file_types=FILE_TYPES, elem_id="upload")
            sample = gr.Button("Try a sample file", size="sm", elem_id="sample")
            button = gr.Button("Score the file", variant="primary", size="lg", elem_id="score-file")
        with gr.Column(scale=5, min_width=300):
            download = gr.DownloadButton("Download scores (CSV)", visible=False, elem_id="download")
            state = gr.HTML(elem_id="file-state")
    gr.set_static_paths([SAMPLE])
    sample.click(lambda: str(SAMPLE), None, file, api_visibility="private")
    scoring = button.click(show_file, [file, radio], [state, download], api_visibility="private")
    js = f"() => {json.dumps(['', gr.update(visible=False)])}"
    gr.on([file.change, radio.input], None, None, [state, download], js=js, **QUIET)
    gr.on([file.change, radio.input], None, cancels=[scoring])  # scoring may take a minute
    hidden = gr.Button(visible=False)  # defines the endpoint
    outputs = [gr.JSON(visible=False), gr.File(visible=False)]
    hidden.click(score_file, [file, radio], outputs, api_name="score_file")


def show(metric: str, result: Mapping[str, Any], scored: Sequence[Mapping[str, Any]]) -> str:
    """Return the result of a file as HTML: a summary, and the worst pairs first."""
    higher = result["higher_is_better"]
    lines = [f"On the scale, {HIGHER if higher else LOWER}."]
    if verdicts := result.get("verdicts"):
        words = (f"{n} {word or 'without a verdict'}" for word, n in Counter(verdicts).items())
        lines.append(f"Verdicts: {', '.join(words)}.")
    mean = f"{METRIC_NAMES[metric]}, mean of {counted(len(scored), 'pair')}"
    worst_first = sorted(scored, key=lambda row: row[metric], reverse=not higher)
    names = dict.fromkeys([PAIR, metric, *(name for row in scored for name in row)])
    rows = ([_cell(row.get(name), number=name == metric) for name in names] for row in worst_first)
    return html.TEXTS["html"]["file"].format(
        headline=f"{mean}: {html.number(result[metric])}",
        lines=html.items([*lines, *html.notes(result["warnings"])]),
        signature=html.code("Signature", str(result["signature"])),
        pairs=html.table([*names], rows, "Pairs, the worst first"),
    )


def _cell(value: Any, number: bool) -> str:
    return html.number(value) if number else str("" if value is None else value)[:SHOWN_CHARACTERS]
