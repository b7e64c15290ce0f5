"""The named endpoints that programs call, with plain values in and out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from infolm_metric.infolm.measures import MEASURES
from infolm_metric.kernel.pairs import check_pairs
from infolm_metric.kernel.results import Result

from . import limits
from .choices import CORPUS, DEFAULT_MEASURE, OFF, REFERENCES, Choices
from .comparison import compare, score_pair
from .file_scores import score_in_parts
from .messages import in_the_answer
from .recipe import code_for


def build(limit: dict[str, Any]) -> None:
    """Adds the endpoints; `limit` holds their concurrency settings."""
    gr.api(score, api_name="score", **limit)
    gr.api(score_many, api_name="score_many", **limit)
    gr.api(explain, api_name="explain", **limit)
    gr.api(measures, api_name="measures", queue=False)


def score(
    candidate: str,
    references: list[str],
    information_measure: str = DEFAULT_MEASURE,
    alpha: float | None = None,
    beta: float | None = None,
    temperature: float = 1.0,
    symmetrize: str = "jeffreys",
    multi_reference: str = "min",
    idf_corpus: list[str] | None = None,
    model: str = "bundled",
) -> dict[str, Any]:
    """
    Score a candidate against its references; lower is better, 0 is a copy.

    Parameters:
        candidate: the text to judge, up to 1,000 characters and 128 tokens
        references: one to five texts of what it should say
        information_measure: a name that the endpoint measures gives
        alpha: for the measures that have it
        beta: for the measures that have it
        temperature: from 0.01 to 100
        symmetrize: jeffreys, jensen, none or reverse
        multi_reference: min or mean
        idf_corpus: texts whose inverse document frequencies weigh the tokens; none: all alike
        model: bundled, or google-bert/bert-base-uncased
    Returns:
        a dictionary with score, signature and the code that reproduces it
    """
    with in_the_answer():
        choices = _choices(
            information_measure,
            alpha,
            beta,
            temperature,
            symmetrize,
            multi_reference,
            idf_corpus,
            model,
        )
        value, signature = score_pair(candidate, _list("references", references), choices)
        code = code_for(candidate, references, choices)
        return {"score": value, "signature": signature, "code": code}


def score_many(
    predictions: list[str],
    references: list[Any],
    information_measure: str = DEFAULT_MEASURE,
    alpha: float | None = None,
    beta: float | None = None,
    temperature: float = 1.0,
    symmetrize: str = "jeffreys",
    multi_reference: str = "min",
    idf: str = REFERENCES,
    model: str = "bundled",
) -> Iterator[dict[str, Any]]:
    """
    Score up to 500 candidates, as infolm.compute does.

    Parameters:
        predictions: the texts to judge
        references: for each of them its reference, or a list of its references
        information_measure: a name that the endpoint measures gives
        alpha: for the measures that have it
        beta: for the measures that have it
        temperature: from 0.01 to 100
        symmetrize: jeffreys, jensen, none or reverse
        multi_reference: min or mean
        idf: references or off
        model: bundled, or google-bert/bert-base-uncased
    Returns:
        on the way a dictionary with done and of, which count pairs; at last one with infolm (the
        mean), scores and signature
    """
    with in_the_answer():
        choices = Choices(
            information_measure,
            alpha,
            beta,
            temperature,
            symmetrize,
            multi_reference,
            idf,
            (),
            model,
        )
        limits.check_rows(len(_list("predictions", predictions)))
        pairs = check_pairs(predictions, references)
        places = [f"pair {number}" for number in range(1, len(pairs) + 1)]
        for place, (candidate, group) in zip(places, pairs, strict=True):
            limits.check_references(len(group))
            for text in (candidate, *group):
                limits.check_characters(f"a text of {place}", text)
        for step in score_in_parts(pairs, places, choices):
            # What is reported on the way tells whether the client is still there.
            if isinstance(step, Result):
                yield {name: step[name] for name in ("infolm", "scores", "signature")}
            else:
                yield {"done": step, "of": len(pairs)}


def explain(
    candidate: str,
    references: list[str],
    information_measure: str = DEFAULT_MEASURE,
    alpha: float | None = None,
    beta: float | None = None,
    temperature: float = 1.0,
    symmetrize: str = "jeffreys",
    multi_reference: str = "min",
    idf_corpus: list[str] | None = None,
    model: str = "bundled",
) -> dict[str, Any]:
    """
    Score a candidate and tell why: all that the page shows, as plain values.

    Parameters:
        candidate: the text to judge, up to 1,000 characters and 128 tokens
        references: one to five texts of what it should say
        information_measure: a name that the endpoint measures gives
        alpha: for the measures that have it
        beta: for the measures that have it
        temperature: from 0.01 to 100
        symmetrize: jeffreys, jensen, none or reverse
        multi_reference: min or mean
        idf_corpus: texts whose inverse document frequencies weigh the tokens; none: all alike
        model: bundled, or google-bert/bert-base-uncased
    Returns:
        a dictionary with the score, the scores of all measures, what each text makes the model
        expect, what drives the score, the predictions for each hidden token, the curves, the
        signature and the code
    """
    with in_the_answer():
        choices = _choices(
            information_measure,
            alpha,
            beta,
            temperature,
            symmetrize,
            multi_reference,
            idf_corpus,
            model,
        )
        answer = compare(candidate, _list("references", references), choices)
        return {
            "score": answer.score,
            "measures": {row.name: row.score for row in answer.all_measures},
            "explained_reference": answer.explained,
            "drivers": [
                {"token": driver.token, "signed_share": driver.signed_share}
                for driver in answer.drivers
            ],
            **{
                side: {
                    "expected": text.expected,
                    "tokens": [vars(token) for token in text.tokens],
                }
                for side, text in (("candidate", answer.candidate), ("reference", answer.reference))
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


def _choices(
    information_measure: str,
    alpha: float | None,
    beta: float | None,
    temperature: float,
    symmetrize: str,
    multi_reference: str,
    idf_corpus: list[str] | None,
    model: str,
) -> Choices:
    corpus = () if idf_corpus is None else tuple(_list("idf_corpus", idf_corpus))
    for index, text in enumerate(corpus):
        if not isinstance(text, str):
            raise TypeError(f"idf_corpus[{index}] must be a text")
    idf = OFF if idf_corpus is None else CORPUS
    return Choices(
        information_measure,
        alpha,
        beta,
        temperature,
        symmetrize,
        multi_reference,
        idf,
        corpus,
        model,
    )


def _list(name: str, value: Any) -> list[Any]:
    """The value if it is a list; raises TypeError otherwise."""
    if not isinstance(value, list):
        raise TypeError(f"{name} must be a list of texts")
    return value
