"""The tab that scores a file: upload, columns, progress, the worst pairs first, and CSV back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.results import Result

from . import charts, limits
from .choices import CORPUS, OFF, REFERENCES
from .controls import VALUES, chosen, make_controls, parameter, show_parameters
from .file_scores import read_pairs, read_table, score_in_parts, write_scores
from .messages import on_the_page
from .recipe import code_for_file

FILE_TYPES = [".csv", ".tsv", ".jsonl", ".ndjson"]
SHOWN_CHARACTERS = 300  # of a text in the table; the download has it whole


def build(limit: dict[str, Any]) -> None:
    """Builds the tab; `limit` holds the concurrency settings of its events."""
    gr.Markdown(
        "Upload a table with a column of candidates and one or more of references, and get a score "
        "for each row. In JSON Lines a reference may be a list of texts."
    )
    gr.Markdown(limits.FILE_LIMITS, elem_classes="fine", elem_id="file-limits")
    with gr.Row(equal_height=False):
        with gr.Column(scale=6, min_width=300):
            file = gr.File(label="CSV or JSON Lines", file_types=FILE_TYPES, elem_id="upload")
            candidate = gr.Dropdown(
                [],
                label="Column of candidates",
                info="Found by its name where it has a usual one.",
                allow_custom_value=True,
                elem_id="candidate-column",
            )
            references = gr.Dropdown(
                [],
                multiselect=True,
                label="Columns of references",
                info="Several: the references of each candidate.",
                allow_custom_value=True,
                elem_id="reference-columns",
            )
        with gr.Column(scale=4, min_width=300):
            controls = make_controls([REFERENCES, OFF, CORPUS])
            run = gr.Button("Score the file", variant="primary", size="lg", elem_id="score-file")
    progress_place = gr.Markdown(" ", min_height=60, elem_id="file-progress")
    with gr.Column(visible=False) as results:
        summary = gr.Textbox(label="Result", interactive=False, lines=2, elem_id="file-summary")
        download = gr.DownloadButton("Download the scores as CSV", elem_id="download")
        histogram = gr.BarPlot(
            x="score",
            y="pairs",
            x_title="score (lower is better)",
            y_title="pairs",
            x_label_angle=-40,
            height=260,
            label="How the scores are spread",
            buttons=[],
            elem_id="histogram",
        )
        table = gr.Dataframe(
            headers=["row", "score", "candidate", "references"],
            datatype=["number", "number", "str", "str"],
            interactive=False,
            label="The worst pairs first; click a heading to sort",
            column_widths=["14%", "20%", "33%", "33%"],
            wrap=True,
            line_breaks=False,
            max_height=560,
            buttons=[],
            elem_id="pairs",
        )
        code = gr.Code(
            label="Python for these scores",
            language="python",
            interactive=False,
            show_line_numbers=False,
            wrap_lines=True,
        )

    file.change(
        _columns_found,
        file,
        [candidate, references],
        api_visibility="private",
        show_progress="hidden",
        **limit,
    )
    run.click(
        score_file,
        [file, candidate, references, *controls.values()],
        [summary, download, histogram, table, code, results],
        api_name="score_file",
        api_description="Scores the pairs of a CSV or JSON Lines file; gives the summary, the path "
        "of a CSV with all scores, a histogram, the table and code. " + limits.FILE_LIMITS,
        show_progress_on=[progress_place],
        **limit,
    )


def _columns_found(path: str | None) -> list[Any]:
    """Updates: the columns of an upload as choices, with those of a usual name chosen."""
    if path is None:
        return [gr.update(choices=[], value=None), gr.update(choices=[], value=[])]
    with on_the_page():
        read = read_table(path)
    return [gr.update(choices=read.columns, value=usual) for usual in read.guess()]


def score_file(
    file: str | None,
    candidate_column: str | None,
    reference_columns: list[str] | None,
    *values: Any,
) -> Iterator[tuple[Any, ...]]:
    """Scores the pairs of a CSV or JSON Lines file, with the values of the controls."""
    *settings, progress = values
    with on_the_page():
        choices = chosen(*settings)
        if file is None:
            raise ValueError("there is no file yet; choose one first")
        progress(0.0, desc="Reading the file")
        read = read_table(file)
        guessed, usual = read.guess()
        own, others = candidate_column or guessed or "", reference_columns or usual
        pairs = read_pairs(read, own, others)
        for step in score_in_parts(pairs, read.places, choices):
            if isinstance(step, Result):
                done = step
                continue
            progress((step, len(pairs)), desc="Scoring", unit="pairs")
            # A visitor who has left is noticed here.
            yield (gr.skip(),) * 6
    scores = done["scores"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "infolm_scores.csv")
        write_scores(pairs, scores, path)
        yield (
            _summary(done),
            str(path),
            charts.histogram(scores),
            _rows(pairs, scores),
            code_for_file(read.name, own, others, choices),
            gr.update(visible=True),
        )


show_parameters(score_file, [*map(parameter, VALUES), parameter("progress", default=gr.Progress())])


def _summary(done: Result) -> str:
    scores, mean = done["scores"], done["infolm"]
    return (
        f"Mean of {len(scores)} pairs: {charts.shown(mean)} (lower is better; best pair "
        f"{charts.shown(min(scores))}, worst {charts.shown(max(scores))})\n{done.signature}"
    )


def _rows(pairs: Pairs, scores: Sequence[float]) -> list[list[Any]]:
    """Row number, score and texts, the worst pair first."""
    rows = [
        [
            index,
            float(charts.shown(score)),
            candidate[:SHOWN_CHARACTERS],
            " | ".join(group)[:SHOWN_CHARACTERS],
        ]
        for index, (score, (candidate, group)) in enumerate(zip(scores, pairs, strict=True), 1)
    ]
    return sorted(rows, key=lambda row: -scores[row[0] - 1])
