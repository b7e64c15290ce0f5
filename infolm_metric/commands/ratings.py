"""What the commands that need human scores share: the options that say where these are."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infolm_metric.commands.options import option

if TYPE_CHECKING:
    from infolm_metric.meta_evaluation.rows import Ratings

ROWS = """\
DATA holds a row for each system and sample, as JSON Lines or a table (.jsonl, .ndjson, .csv, .tsv):

  {"system": "A", "id": "1", "prediction": "...", "references": ["..."], "human": {"fluency": 80}}

In CSV the scores stand in columns such as human.fluency, or in columns named with --criterion.
Scores of other metrics ride along as "metrics": {"bleu": 31.5}, columns such as metrics.bleu, or
columns named with --metric. Leave a score out where there is none. Rows with "is_human": true are
passed over."""

DATA = (
    option("data", metavar="DATA", help="table of texts with human scores; - is standard input"),
    option(
        "--criterion",
        action="append",
        default=[],
        metavar="NAME",
        help="human score to agree with; repeat for several (default: every one under human)",
    ),
    option(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="column with another metric's scores; repeat for several (default: every one under "
        "metrics)",
    ),
    option(
        "--lower-is-better",
        action="append",
        default=[],
        metavar="NAME",
        help="such a column of which this is true; it is negated",
    ),
    option(
        "--exclude-system", action="append", default=[], metavar="NAME", help="leave a system out"
    ),
    option("--exclude-id", action="append", default=[], metavar="ID", help="leave a sample out"),
    option(
        "--missing",
        choices=("drop", "available"),
        default="drop",
        help="a sample that lacks a score of some system: drop it for all systems (default), or "
        "take the scores that are available",
    ),
)
RESAMPLING = (
    option("--resamples", type=int, default=1000, metavar="N", help="(default: 1000)"),
    option("--seed", type=int, default=0, metavar="N", help="of resamples and splits (default: 0)"),
)


def read(arguments: argparse.Namespace) -> Ratings:
    """The ratings that the arguments name, checked."""
    if arguments.resamples < 1:
        raise ValueError(f"--resamples must be at least 1, got {arguments.resamples}")
    if arguments.seed < 0:
        raise ValueError(f"--seed must be at least 0, got {arguments.seed}")
    from infolm_metric.meta_evaluation.rows import read_ratings

    ratings = read_ratings(
        arguments.data,
        criteria=arguments.criterion,
        metrics=arguments.metric,
        exclude_systems=arguments.exclude_system,
        exclude_ids=arguments.exclude_id,
    )
    for name in arguments.lower_is_better:
        if name not in ratings.metrics:
            raise ValueError(
                f"--lower-is-better {name}: no such metric column; there are "
                f"{', '.join(map(repr, ratings.metrics)) or 'none; name them with --metric'}"
            )
    return ratings


def columns(ratings: Ratings, arguments: argparse.Namespace) -> dict[str, Any]:
    """The grids of the metrics that ride along, turned so that higher is better."""
    return {
        name: -grid if name in arguments.lower_is_better else grid
        for name, grid in ratings.metrics.items()
    }


def progress(given: dict[str, Any]) -> dict[str, Any]:
    """The settings, with progress bars if someone looks at standard error."""
    return {"verbose": sys.stderr.isatty(), **given}


def write(text: str, output: str) -> None:
    """Writes to the file, or to standard output if it is "-"."""
    if output == "-":
        sys.stdout.write(text)
    else:
        Path(output).write_text(text, encoding="utf-8", newline="\n")


def folder_for(output: str) -> Path:
    """The folder, made if it is not there; ValueError if a file is in its place.

    >>> folder_for(os.devnull)
    Traceback (most recent call last):
    ValueError: cannot write to ...: it is a file; name a folder
    """
    path = Path(output)
    if path.exists() and not path.is_dir():
        raise ValueError(f"cannot write to {output}: it is a file; name a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"cannot make the folder {output}: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise ValueError(f"cannot write to {output}: permission denied; name another folder")
    return path
