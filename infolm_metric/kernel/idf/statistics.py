"""Portions of a corpus, scored as they would be within the whole.

What ties pairs together is only the inverse document frequencies of the corpus. Counts add up: so
each portion is counted, the tables are added, and then every portion is scored with the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from infolm_metric.infolm.masked_lm import load_vocabulary
from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.results import Result

CANDIDATES, REFERENCES = "candidates", "references"
SIDES = {"references": (REFERENCES,), "separate": (CANDIDATES, REFERENCES)}

Tables = Mapping[str, IDF]
"""The table of each side that is counted; empty where `idf` is a table, or off."""


def counted_sides(settings: Settings) -> tuple[str, ...]:
    """The sides whose documents are counted for the setting `idf`.

    >>> counted_sides(Settings(idf="references")), counted_sides(Settings(idf=False))
    (('references',), ())
    """
    return SIDES[settings.idf] if isinstance(settings.idf, str) else ()


def count(pairs: Pairs, settings: Settings) -> dict[str, IDF]:
    """The tables of a portion: none if it has no pairs, or if nothing is to be counted.

    >>> tables = count(Pairs(["a"], [["a", "b"]]), Settings(model_name_or_path="bundled"))
    >>> tables["references"].documents
    2
    """
    sides = counted_sides(settings)
    if not (sides and pairs):
        return {}
    vocabulary = load_vocabulary(settings.model, settings.model_revision)
    limit = vocabulary.text_limit(settings.max_length)
    documents = {
        CANDIDATES: pairs.predictions,
        REFERENCES: [text for group in pairs.references for text in group],
    }
    return {
        side: IDF.from_corpus(
            documents[side],
            vocabulary.tokenizer,
            max_length=None if settings.long_text == "window" else limit,
            processes=settings.tokenize_processes,
        )
        for side in sides
    }


def add(portions: Iterable[Tables]) -> dict[str, IDF]:
    """The tables of all portions together.

    >>> import numpy as np
    >>> half = {"references": IDF(1, np.array([1, 0]), "5f2e")}
    >>> add([half, {}, half])["references"].documents
    2
    """
    total: dict[str, IDF] = {}
    for tables in portions:
        for side, table in tables.items():
            total[side] = total[side] + table if side in total else table
    return total


def score(scorer: InfoLMScorer, pairs: Pairs, tables: Tables, settings: Settings) -> Result:
    """The result for the pairs of a portion, weighed and signed as within the whole corpus.

    `tables` holds the whole's table for each side that `settings` say to count.

    >>> settings = Settings(model_name_or_path="bundled")
    >>> scorer, pairs = InfoLMScorer(**vars(settings)), Pairs(["a cat"], [["the cat"]])
    >>> part = score(scorer, pairs, count(pairs, settings), settings)
    >>> part == scorer.score(pairs.predictions, ["the cat"])
    True
    """
    texts = pairs.predictions, pairs.references
    if not tables:
        return scorer.score(*texts, **vars(settings))
    references = tables[REFERENCES]
    weighting = (tables.get(CANDIDATES, references), references)
    return scorer.score_part(*texts, weighting, **vars(settings))


def columns(result: Result) -> dict[str, list[float]]:
    """The scores of a result as named columns, [pairs] each.

    >>> columns(Result({"l1_distance": [0.5]}, "...", similarities={"l1_distance": [0.75]}))
    {'l1_distance': [0.5], 'l1_distance_similarity': [0.75]}
    """
    similarities = (result.similarities or {}).items()
    return {**result.scores, **{f"{name}_similarity": column for name, column in similarities}}
