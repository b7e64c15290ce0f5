"""Tables of plain text: aligned for a terminal, or Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from infolm_metric.meta_evaluation.agreement_table import Agreement, AgreementTable
from infolm_metric.meta_evaluation.checks import LENGTH

TITLES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "partial": "given length",
}


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines with columns of equal width; the first `left` columns are flush left.

    >>> aligned(["metric", "r"], [["BLEU", "0.5"]])
    ['metric    r', 'BLEU    0.5']
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    r"""The lines of a Markdown table; the first `left` columns are flush left.

    >>> markdown(["metric", "r"], [["a|b", "0.5"]])
    ['| metric | r |', '|---|---:|', '| a\\|b | 0.5 |']
    """
    rule = "|" + "|".join("---" if index < left else "---:" for index in range(len(header))) + "|"
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return ["| " + " | ".join(header) + " |", rule, *lines]


LAYOUTS = {"text": aligned, "markdown": markdown}


def number(value: float, digits: int = 3) -> str:
    """The value with its digits; a dash where there is none.

    >>> number(0.5), number(float("nan"))
    ('0.500', '-')
    """
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def with_interval(cell: Agreement) -> str:
    """The value and its interval.

    >>> with_interval(Agreement("m", "c", "system", "pearson", 0.5, 0.25, 0.75))
    '0.500 [0.25, 0.75]'
    """
    if math.isnan(cell.value):
        return "-"
    return f"{number(cell.value)} [{number(cell.low, 2)}, {number(cell.high, 2)}]"


def p_value(value: float | None) -> str:
    """A p-value in words that do not pretend to more than it says.

    >>> p_value(0.0002), p_value(0.0312), p_value(None)
    ('<0.001', '0.031', '')
    """
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else number(value)


def level_table(table: AgreementTable, level: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of one level: criterion, metric, coefficients and p-values."""
    cells = [cell for cell in table.cells if cell.level == level]
    statistics = list(dict.fromkeys(cell.statistic for cell in cells))
    header = ["criterion", "metric", *(TITLES.get(s, s) for s in statistics)]
    rows = []
    for criterion in table.names("criterion"):
        for metric in table.names("metric"):
            found = [table.find(metric, criterion, level, s) for s in statistics]
            tests = [p_value(found[0].p_values.get(name)) for name in table.against]
            rows.append([criterion, metric, *map(with_interval, found), *tests])
    return header + [f"p vs {name}" for name in table.against], rows


def agreement_lines(table: AgreementTable, layout: str = "text") -> Iterator[str]:
    """The table, level by level, and what it rests on."""
    for level in table.names("level"):
        over = f"{table.systems} systems" if table.systems else "all texts together"
        yield f"{level.capitalize()} level, {over}"
        yield ""
        yield from LAYOUTS[layout](*level_table(table, level), left=2)
        yield ""
    yield from notes(table)


def notes(table: AgreementTable) -> Iterator[str]:
    """What the figures rest on, a sentence each."""
    what, over = ("samples", "systems and samples") if table.systems else ("texts", "texts")
    counts = dict.fromkeys(f"{count} {what}" for count in table.samples.values())
    yield (
        f"{' or '.join(counts)}; in brackets {table.confidence:.0%} bootstrap intervals over "
        f"{over} ({table.resamples} resamples, seed {table.seed})."
    )
    if "text" in table.names("level") and table.systems:
        yield (
            "accuracy: at the text level the share of pairs of a sample's texts of which the "
            "metric says what people say, that one is better or neither; differences up to a "
            "threshold, chosen on these data for each metric, count as neither."
        )
    if LENGTH in table.names("metric"):
        yield (
            "length: the characters of the text; given length: Pearson's partial correlation, of "
            "what length does not predict."
        )
    if table.against:
        yield (
            "p: two-sided, for Pearson, not corrected for the number of tests; at the system level "
            "Williams' test, at the text level the bootstrap."
        )
    for criterion, count in table.dropped.items():
        if count:
            lacking = " for one system or more" if table.systems else ""
            yield f"{criterion}: {count} {what} left out, because a score is missing{lacking}."
    undefined = [cell for cell in table.cells if math.isnan(cell.value)]
    if undefined:
        yield "-: not defined, because scores or means are all equal, or too few."
