"""Outputs and references in the logs of evaluation harnesses, for `infolm compare --from`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import check_text
from infolm_metric.core.results import warn_user
from infolm_metric.integrations import present_references, require
from infolm_metric.tables import cell, read_rows

# Place, question, outputs and references of a sample.
Sample: TypeAlias = tuple[str, str, Sequence[Any], Any]


def read_logs(kind: str, paths: Sequence[str]) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Return outputs [systems][questions][samples] and references [questions] of common questions.

    Questions without a reference are left out. `kind` is a key of READERS.
    """
    logs = [_read_log(kind, path) for path in paths]
    common = [question for question in logs[0] if all(question in log for log in logs)]
    if not common:
        raise InputError(
            f"the logs have no question with a reference in common: {', '.join(paths)}. Pass logs "
            "of the same task."
        )
    for path, log in zip(paths, logs, strict=True):
        for question in common:
            if log[question][1] != logs[0][question][1]:
                raise InputError(
                    f"question {question} has the references {logs[0][question][1]} in {paths[0]} "
                    f"and {log[question][1]} in {path}. Pass logs of the same task."
                )
    if left_out := len({question for log in logs for question in log}) - len(common):
        warn_user(f"{left_out} questions are not in all logs and are left out.")
    return [[log[question][0] for question in common] for log in logs], [
        logs[0][question][1] for question in common
    ]


def _read_log(kind: str, path: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return the outputs and the references of each question that has a reference."""
    questions: dict[str, tuple[list[str], list[str]]] = {}
    for where, question, outputs, target in READERS[kind](path):
        references = present_references(f"{where}: target", target)
        if references and outputs:
            for output in outputs:
                check_text(f"{where}: output", output)
            questions.setdefault(question, ([], references))[0].extend(outputs)
    return questions


def _lm_eval_samples(path: str) -> Iterator[Sample]:
    """Yield the samples of a file samples_*.jsonl, with the outputs of the first filter."""
    first = None
    for where, row in read_rows(path):
        outputs, name = cell(where, row, "filtered_resps"), row.get("filter")
        first = name if first is None else first
        if name == first:
            repeats = [x if isinstance(x, list) else [x] for x in outputs]
            question = row.get("doc_hash") or cell(where, row, "doc_id")
            yield where, str(question), sum(repeats, []), cell(where, row, "target")


def _inspect_samples(path: str) -> Iterator[Sample]:
    """Yield the samples of a log of Inspect that finished without an error."""
    with require("inspect-ai"):
        from inspect_ai.log import read_eval_log
    for sample in read_eval_log(path).samples or []:
        if sample.error is None:
            where = f"{path}, sample {sample.id!r}"
            yield where, str(sample.id), [sample.output.completion], sample.target


READERS: dict[str, Callable[[str], Iterator[Sample]]] = {
    "lm-eval": _lm_eval_samples,
    "inspect": _inspect_samples,
}
