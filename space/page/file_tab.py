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
from .controls import QUIET, VALUES, chosen, make_controls, parameter, show_parameters
from .file_scores import FILE_TYPES, read_pairs, read_table, score_in_parts, write_scores
from .judged import spread_in
from .messages import notes, on_the_page

SAMPLE = Path(__file__).with_name("sample.csv")
HIDDEN = "() => ['', {visible: false, __type__: 'update'}]"
"""What an edit does in the browser: had it to ask the server, it could hide a later answer."""
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
            upload = _make_upload()
        with gr.Column(scale=4, min_width=300):
            run = gr.Button("Score the file", variant="primary", size="lg", elem_id="score-file")
            state = gr.HTML(elem_id="file-progress", padding=False)
            controls = make_controls()
    with gr.Column(visible=False) as results:
        answer = _make_answer()
    running = run.click(
        score_file,
        [*upload, *controls.values()],
        [*answer, results, state],
        api_name="score_file",
        api_description="Scores the pairs of a CSV or JSON Lines file; gives the summary, the path "
        "of a CSV with all scores, a histogram and the table. " + limits.FILE_LIMITS,
        show_progress="hidden",
        **limit,
    )
    running.failure(lambda: "", None, state, **QUIET)
    file, candidate, references = upload
    file.change(
        _columns_found,
        file,
        [candidate, references],
        api_visibility="private",
        show_progress="hidden",
        **limit,
    )
    edits = [file.change, candidate.input, references.input]
    edits += [control.change for control in controls.values()]
    gr.on(edits, None, None, [state, results], js=HIDDEN, **QUIET)
    gr.on(edits, cancels=[running], api_visibility="private")


def _make_upload() -> tuple[Any, ...]:
    """The file, the column of candidates and those of references; and a sample to try."""
    file = gr.File(label="CSV, TSV or JSON Lines", file_types=list(FILE_TYPES), elem_id="upload")
    sample = gr.Button("Try a sample file", size="sm", elem_id="sample")
    gr.set_static_paths([SAMPLE])
    sample.click(lambda: str(SAMPLE), None, file, api_visibility="private", show_progress="hidden")
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
    return file, candidate, references


def _make_answer() -> tuple[Any, ...]:
    """What `score_file` fills in first: the summary, the download, a histogram and the table."""
    summary = gr.Textbox(label="Result", interactive=False, lines=3, elem_id="file-summary")
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
    gr.Markdown("The table scrolls: there is more below.", elem_classes="fine scrolls")
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
    return summary, download, histogram, table


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
    skipped = (gr.skip(),) * 4
    yield (*skipped, gr.update(visible=False), _progress("Reading the file"))
    with on_the_page():
        choices = chosen(*values)
        if file is None:
            raise ValueError("there is no file yet; choose one first")
        read = read_table(file)
        guessed, usual = read.guess()
        columns = (candidate_column or guessed or "", reference_columns or usual)
        pairs = read_pairs(read, *columns)
        for step in score_in_parts(pairs, read.places, choices):
            if isinstance(step, Result):
                done = step
                continue
            # A visitor who has left is noticed here.
            words = f"Scored {step} of {_count(len(pairs), 'pair')}"
            yield (*skipped, gr.skip(), _progress(words, step / len(pairs)))
    scores = done["scores"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "infolm_scores.csv")
        write_scores(pairs, scores, path)
        yield (
            _summary(done),
            str(path),
            charts.histogram(scores),
            _rows(pairs, scores),
            gr.update(visible=True),
            _progress(f"Scored {_count(len(pairs), 'pair')}: see below", 1.0),
        )


show_parameters(score_file, map(parameter, VALUES))


def _progress(words: str, share: float = 0.0) -> str:
    """How far the work is, as HTML; it promises no time."""
    bar = f'<progress value="{share:.3f}"></progress>' if share < 1 else ""
    return f'<div role="status">{bar}<p>{words}</p></div>'


def _count(number: int, noun: str) -> str:
    """A number of things, in words.

    >>> _count(1, "pair"), _count(1234, "pair")
    ('1 pair', '1,234 pairs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _summary(done: Result) -> str:
    scores, mean = done["scores"], done["infolm"]
    lines = [
        f"Mean of {_count(len(scores), 'pair')}: {charts.shown(mean)} (0 is a copy, lower is "
        f"closer; closest pair {charts.shown(min(scores))}, furthest {charts.shown(max(scores))})"
    ]
    if spread := spread_in(done.baseline):
        lines.append(charts.unrelated_words(spread))
    lines += notes(done.remarks)
    return "\n".join([*lines, f"Signature: {done.signature}"])


def _rows(pairs: Pairs, scores: Sequence[float]) -> list[list[Any]]:
    """Row number, score and texts, the worst pair first."""
    numbered = enumerate(zip(scores, pairs, strict=True), 1)
    texts = slice(SHOWN_CHARACTERS)
    return [
        [index, float(charts.shown(score)), candidate[texts], " | ".join(group)[texts]]
        for index, (score, (candidate, group)) in sorted(numbered, key=lambda row: -row[1][0])
    ]
