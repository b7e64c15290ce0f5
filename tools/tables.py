"""Tables of results."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path


def show(
    title: str, header: Sequence[str], rows: Iterable[Sequence[object]], folder: Path | None = None
) -> None:
    """Print a Markdown table, and save it in a folder as a CSV file named after the title."""
    cells = [[str(value) for value in row] for row in rows]
    lines = [list(header), ["---", *("---:" for _ in header[1:])], *cells]
    print(f"\n### {title}\n", *(f"| {' | '.join(line)} |" for line in lines), sep="\n", flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        name = "_".join("".join(c if c.isalnum() else " " for c in title.lower()).split())
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *cells])
