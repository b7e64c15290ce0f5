"""Tab "Score a file": upload, columns, progress, results and download."""

from __future__ import annotations

import csv
import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

import gradio as gr
import pandas as pd

from infolm_metric.answer_check.verdict import VERDICTS
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs
from infolm_metric.tables import Row, parse_pair, read_rows

from . import appearance as html
from . import events, limits
from .appearance import HIGHER, LOWER, METRIC_NAMES
from .scoring import EXPECTED_ERRORS, refusal, score_in_parts, token_counts
from .settings import SCORERS, check_settings, make_controls, read_settings

SAMPLE = Path(__file__).with_name("sample.csv")
FILE_TYPES = [".csv", ".tsv", ".jsonl", ".ndjson"]
CANDIDATES = ["prediction", "candidate", "predictions", "candidates", "hypothesis", "output"]
REFERENCE_COLUMNS = ["references", "reference", "target", "targets", "label"]
SHOWN_CHARACTERS = 300  # per text in the table, but not in the download
BARS = 10  # approximate number of bars in the histogram


def find_columns(path: str) -> tuple[list[str], str | None, list[str]]:
    """Return all columns, then the candidate and reference columns if their names are known."""
    if PurePath(path.lower()).suffix not in FILE_TYPES:
        raise InputError(f"the file name must end in one of {', '.join(FILE_TYPES)}. Rename it.")
    _, row = next(read_rows(path), ("", {}))
    candidates = [name for name in CANDIDATES if name in row]
    references = [name for name in REFERENCE_COLUMNS if name in row]
    candidate = candidates[0] if len(candidates) == 1 else None
    return list(row), candidate, references if len(references) == 1 else []


def read_pairs(
    path: str, candidate: str | None, references: Sequence[str]
) -> tuple[list[Row], Pairs]:
    """Read rows and check their pairs. Columns that are not passed are detected by name."""
    columns, default_candidate, default_references = find_columns(path)
    candidate, references = candidate or default_candidate, references or default_references
    if not candidate or not references:
        side = "reference" if candidate else "candidate"
        choices = f"Select one of {', '.join(map(repr, columns))}."
        remedy = choices if columns else "The file has no rows."
        raise InputError(f"cannot identify the {side} column. {remedy}")
    rows = list(islice(read_rows(path), limits.FILE_ROWS + 1))
    pairs = Pairs.of(parse_pair(where, row, candidate, references) for where, row in rows)
    if not len(pairs):
        raise InputError("the file has no rows. Add one row per pair of texts.")
    limits.at_most("the file has {} rows or more", len(pairs), limits.FILE_ROWS, "Split it.")
    for index, (text, group) in enumerate(pairs, 1):
        limits.check_group(f"row {index}", text, group)
    return rows, pairs


def iter_scores(
    path: str | None,
    metric: str,
    candidate: str | None,
    references: Sequence[str] | None,
    settings: Mapping[str, Any] | None,
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield the fraction of pairs scored so far, and finally 1 with the result."""
    settings = check_settings(metric, settings)
    if path is None:
        raise InputError("no file selected. Upload a CSV, TSV or JSON Lines file.")
    try:
        rows, pairs = read_pairs(path, candidate, references or [])
    except InputError as error:  # hide the path on the server
        raise InputError(str(error).replace(path, PurePath(path).name)) from None
    tokens = iter(token_counts([*pairs.texts], settings["model_name_or_path"]))
    counts = [[*islice(tokens, 1 + len(group))] for _, group in pairs]
    limits.check_file(counts)
    result = yield from score_in_parts(metric, pairs, counts, settings)
    metric_settings = SCORERS[metric].settings_type.of(**settings)
    columns = {metric_settings.column(metric_settings.names[0]): result["scores"]}
    if "verdicts" in result:
        columns["verdict"] = [word or "" for word in result["verdicts"]]
    table = add_columns({"row": range(1, len(pairs) + 1), **columns}, rows)
    with tempfile.TemporaryDirectory() as folder:
        download = f"{folder}/{metric}_scores.csv"
        # All strings are quoted, because they may contain carriage returns.
        quoting: Any = csv.QUOTE_NONNUMERIC
        table.to_csv(download, index=False, quoting=quoting, errors="backslashreplace")
        yield 1.0, {**result, "table": table, "download": download}


def add_columns(columns: Mapping[str, Any], rows: Sequence[Row]) -> pd.DataFrame:
    """Return the visitor's table with new columns in front.

    A new column with the name of one of the visitor's columns gets the prefix "new_".
    """
    cells = [
        {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()}
        for _, row in rows
    ]
    table = pd.DataFrame(cells, dtype=object)  # integers stay, even if others are missing
    for index, (name, values) in enumerate(columns.items()):
        while name in table:
            name = f"new_{name}"
        table.insert(index, name, values)
    return table


def score_file(
    file: str,
    metric: str = "infolm",
    candidate_column: str | None = None,
    reference_columns: list[str] | None = None,
    settings: dict[str, Any] | None = None,
) -> Iterator[tuple[dict[str, Any], str]]:
    """Score each row of a CSV, TSV or JSON Lines file.

    Returns the mean score with details, and a CSV file of all scores. Columns with common names,
    such as "prediction" and "reference", are found automatically. `settings` are keyword arguments
    of the metric.
    """
    try:
        for _, result in iter_scores(file, metric, candidate_column, reference_columns, settings):
            if result:
                download, _ = result.pop("download"), result.pop("table")
                unrelated = result["unrelated"] and vars(result["unrelated"])
                yield {**result, "unrelated": unrelated}, download
    except EXPECTED_ERRORS as error:
        raise refusal(error) from None


def build(metric: str) -> None:
    """Build the tab and its API endpoint."""
    gr.Markdown(html.TEXTS["file"]["introduction"])
    words = html.TEXTS["file"]["limits"].format(**vars(limits))
    gr.Markdown(words, elem_classes="fine", elem_id="file-limits")
    with gr.Row(equal_height=False):
        with gr.Column(scale=4, min_width=300):
            upload, *columns = _make_upload()
            choices = [(label, name) for name, label in METRIC_NAMES.items()]
            radio = gr.Radio(choices, value=metric, label="Metric")
            button = gr.Button("Score the file", variant="primary", size="lg", elem_id="score-file")
            controls = make_controls(radio)
        with gr.Column(scale=5, min_width=300):
            state = gr.HTML(elem_id="file-state")
            download = gr.DownloadButton("Download scores (CSV)", visible=False, elem_id="download")

    def score(file: str | None, *values: Any) -> Iterator[dict[Any, Any]]:
        candidate, references, name, *settings = values
        yield {state: _progress("Reading the file"), download: gr.update(visible=False)}
        try:
            arguments = (file, name, candidate, references, read_settings(settings, name))
            for fraction, result in iter_scores(*arguments):
                yield {state: _progress(f"{fraction:.0%} of the pairs scored", fraction)}
                if result:
                    update = gr.update(visible=True, value=result["download"])
                    yield {state: show(result), download: update}
        except EXPECTED_ERRORS as error:
            yield {state: html.notice(f"Not scored: {error}")}

    def fill_columns(path: str | None) -> list[Any]:
        try:
            names, *defaults = find_columns(path or "")
        except EXPECTED_ERRORS:  # reported by `score`
            names, defaults = [], [None, []]
        return [gr.update(choices=names, value=value) for value in defaults]

    fields = [*columns, radio, *controls]
    edits = [upload.change, *(field.input for field in fields)]
    blank = {state: "", download: gr.update(visible=False)}
    scoring = events.answer(score, [button.click], [upload, *fields], [*blank], blank, edits)
    gr.on(edits, None, cancels=[scoring])  # scoring may take a minute
    upload.change(fill_columns, upload, columns, **events.PRIVATE)
    with gr.Column(visible=False):  # defines the endpoint
        gr.Button().click(
            score_file,
            [upload, radio, *columns, gr.JSON(label="settings")],
            [gr.JSON(label="result"), gr.File(label="scores as CSV")],
            api_name="score_file",
            **limits.QUEUE,
        )


def _make_upload() -> tuple[Any, ...]:
    """Create the upload, a button that selects a sample file, and the column menus."""
    file = gr.File(label="CSV, TSV or JSON Lines", file_types=FILE_TYPES, elem_id="upload")
    sample = gr.Button("Try a sample file", size="sm", elem_id="sample")
    gr.set_static_paths([SAMPLE])
    sample.click(lambda: str(SAMPLE), None, file, **events.PRIVATE)
    options: dict[str, Any] = {"allow_custom_value": True}
    candidate = gr.Dropdown(label="Candidate column", elem_id="candidate-column", **options)
    label = "Reference columns (one or more)"
    return file, candidate, gr.Dropdown(label=label, multiselect=True, **options)


def _progress(words: str, fraction: float = 0.0) -> str:
    """Return an HTML progress bar."""
    bar = f'<progress aria-label="{words}" value="{fraction:.3f}"></progress>'
    return f'<div role="status">{bar}<p>{words}</p></div>'


def show(result: Mapping[str, Any]) -> str:
    """Return the result of a file as HTML: a summary, the distribution, and the worst pairs."""
    scores = result["scores"]
    high = max(scores)
    step = round_step(min(scores), high)
    last = math.ceil(high / step - 1e-9) - (high > 0)  # a bound such as 1 belongs to the bin below
    counts = Counter(min(last, math.floor(score / step)) for score in scores)
    bins = [
        (f"{k * step:.4g} to {(k + 1) * step:.4g}", counts[k] / len(scores), "both")
        for k in range(min(counts), max(counts) + 1)
    ]
    table = result["table"].fillna("")
    worst_first = table.sort_values(table.columns[1], ascending=result["higher_is_better"])
    rows = (
        [row, html.number(score), *(str(cell)[:SHOWN_CHARACTERS] for cell in cells)]
        for row, score, *cells in worst_first.itertuples(index=False)
    )
    headline, *lines = summarize(result)
    parts = [
        f'<p class="headline" role="status">{headline}</p>{html.items(lines)}',
        html.bars("Distribution of the scores (fraction of the pairs)", bins),
        html.code("Signature", str(result["signature"])),
    ]
    pairs = html.table(list(table.columns), rows, "Pairs, the worst first")
    return f'<div class="card" id="file-summary">{"".join(parts)}</div>{pairs}'


def round_step(low: float, high: float) -> float:
    """Return a bin width for about BARS histogram bars: 1, 2 or 5 times a power of ten.

    >>> round_step(0.0, 0.7), round_step(3.0, 120.0), round_step(0.5, 0.5)
    (0.1, 20.0, 0.05)
    """
    width = max((high - low) or abs(high), 1e-9) / BARS
    power = 10.0 ** math.floor(math.log10(width))
    return float(f"{next(n for n in (1, 2, 5, 10) if n * power > 0.999 * width) * power:.3g}")


def summarize(result: Mapping[str, Any]) -> list[str]:
    """Return sentences about the scores of a file."""
    pairs = html.count(len(result["scores"]), "pair")
    mean = f"{METRIC_NAMES[result['metric']]}, mean of {pairs}: {html.number(result['mean'])}"
    lines = [mean, f"On the scale, {HIGHER if result['higher_is_better'] else LOWER}."]
    if verdicts := result.get("verdicts"):
        words = [f"{verdicts.count(word)} {word}" for word in VERDICTS]
        words += [f"{verdicts.count(None)} without a verdict"] * (None in verdicts)
        lines.append(f"Verdicts: {', '.join(words)}.")
    if result["unrelated"]:
        lines.append(html.unrelated_words(result["unrelated"]))
    if reasons := result["no_verdict"]:
        lines.append(f"No verdict, because of {', '.join(reasons)}.")
    return [*lines, *html.notes(result["warnings"])]
