"""The named endpoints that programs call, with plain values in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import gradio as gr

from infolm_metric.infolm.measures import MEASURES
from infolm_metric.kernel.pairs import check_pairs
from infolm_metric.kernel.results import Result

from . import limits
from .choices import CONTROLS, CORPUS, REFERENCES, Choices
from .comparison import compare, score_pair
from .controls import parameter, show_parameters
from .file_scores import score_in_parts
from .messages import in_the_answer, notes
from .recipe import code_for


def build(comparisons: dict[str, Any], files: dict[str, Any]) -> None:
    """Adds the endpoints, with the concurrency settings of those for few texts and for many."""
    for endpoint, limit in ((score, comparisons), (score_many, files), (explain, comparisons)):
        gr.api(endpoint, api_name=endpoint.__name__, **limit)
    gr.api(measures, api_name="measures", queue=False)


def _with_settings(source: str, annotation: str, default: Any, idf: str) -> Callable[[Any], Any]:
    """Let programs see the settings of a function that takes `*settings`, each with its help.

    They are the fields of `Choices`, with the parameter `source` of the weights in the place of
    `idf` and `corpus`; its help is that of the field named by `idf`.
    """
    *plain, _, _, model = (
        parameter(each.name, each.type, each.default) for each in fields(Choices)
    )
    settings = [*plain, parameter(source, annotation, default), model]
    help = {name: control.help for name, control in CONTROLS.items()} | {source: CONTROLS[idf].help}

    def decorated(function: Any) -> Any:
        lines = [f"        {each.name}: {help[each.name]}\n" for each in settings]
        own, _, returned = function.__doc__.partition("    Returns:")
        function.__doc__ = f"{own}{''.join(lines)}    Returns:{returned}"
        show_parameters(function, settings)
        return function

    return decorated


@_with_settings("idf_corpus", "list[str] | None", None, "corpus")
def score(candidate: str, references: list[str], *settings: Any) -> dict[str, Any]:
    """
    Score a candidate against its references; lower is better, 0 is a copy.

    Parameters:
        candidate: the text to judge, up to 64 tokens (with BERT-base 24)
        references: one to five texts of what it should say, with twice as many together
    Returns:
        a dictionary with score, signature and the code that reproduces it
    """
    with in_the_answer():
        choices = _choices(*settings)
        value, signature = score_pair(candidate, _list("references", references), choices)
        code = code_for(candidate, references, choices)
        return {"score": value, "signature": signature, "code": code}


@_with_settings("idf", "str", REFERENCES, "idf")
def score_many(
    predictions: list[str], references: list[Any], *settings: Any
) -> Iterator[dict[str, Any]]:
    """
    Score up to 500 candidates, as infolm.compute does.

    Parameters:
        predictions: the texts to judge
        references: for each of them its reference, or a list of its references
    Returns:
        on the way a dictionary with done and of, which count pairs; at last one with infolm (the
        mean), scores and signature
    """
    with in_the_answer():
        *plain, idf, model = settings
        choices = Choices(*[*plain, idf, (), model])
        limits.check_rows(len(_list("predictions", predictions)))
        pairs = check_pairs(predictions, references)
        places = [f"pair {number}" for number in range(1, len(pairs) + 1)]
        for step in score_in_parts(pairs, places, choices):
            # What is reported on the way tells whether the client is still there.
            if isinstance(step, Result):
                yield {name: step[name] for name in ("infolm", "scores", "signature")}
            else:
                yield {"done": step, "of": len(pairs)}


@_with_settings("idf_corpus", "list[str] | None", None, "corpus")
def explain(candidate: str, references: list[str], *settings: Any) -> dict[str, Any]:
    """
    Score a candidate and tell why: all that the page shows, as plain values.

    Parameters:
        candidate: the text to judge, up to 64 tokens (with BERT-base 24)
        references: one to five texts of what it should say, with twice as many together
    Returns:
        a dictionary with the score, the verdict, the warnings, the scores of all measures, what
        each text makes the model expect, what drives the score, the predictions for each hidden
        token, the curves, the signature and the code
    """
    with in_the_answer():
        choices = _choices(*settings)
        answer = compare(candidate, _list("references", references), choices)
        entries = answer.entries[True]
        return {
            "score": answer.score,
            "verdict": answer.verdict,
            "warnings": notes(answer.remarks),
            "measures": {row.name: row.score for row in answer.all_measures},
            "explained_reference": answer.explained,
            "drivers": [
                {"token": driver.token, "signed_share": driver.signed_share}
                for driver in entries.drivers
            ],
            **{
                side: {
                    "expected": getattr(entries, side),
                    "tokens": [vars(token) for token in getattr(answer, side)],
                }
                for side in ("candidate", "reference")
            },
            "curves": answer.curves,
            "signature": answer.signature,
            "code": code_for(candidate, references, choices),
        }


def measures() -> list[dict[str, Any]]:
    """
    The information measures that can be chosen.

    Returns:
        for each its name, formula and description, and the domains of its parameters
    """
    return [
        {
            "name": measure.name,
            "expression": measure.expression,
            "description": measure.description,
            "parameters": {parameter.name: parameter.domain for parameter in measure.parameters},
        }
        for measure in MEASURES.values()
    ]


def _choices(*settings: Any) -> Choices:
    """The choices of one pair, weighed by its references or by a corpus that is given."""
    *plain, idf_corpus, model = settings
    corpus = () if idf_corpus is None else tuple(_list("idf_corpus", idf_corpus))
    for index, text in enumerate(corpus):
        if not isinstance(text, str):
            raise TypeError(f"idf_corpus[{index}] must be a text")
    return Choices(*[*plain, REFERENCES if idf_corpus is None else CORPUS, corpus, model])


def _list(name: str, value: Any) -> list[Any]:
    """The value if it is a list; raises TypeError otherwise."""
    if not isinstance(value, list):
        raise TypeError(f"{name} must be a list of texts")
    return value
