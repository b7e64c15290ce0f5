"""Portions of a corpus, scored as they would be within the whole.

What ties pairs together is only the inverse document frequencies of the corpus. Counts add up: so
each portion is counted, the tables are added, and then every portion is scored with the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch

from infolm_metric import measures
from infolm_metric.idf import IDF
from infolm_metric.inputs import Pairs
from infolm_metric.masked_lm import load_vocabulary
from infolm_metric.result import Result
from infolm_metric.scorer import InfoLMScorer
from infolm_metric.settings import Settings

CANDIDATES, REFERENCES = "candidates", "references"
SIDES = {"references": (REFERENCES,), "separate": (CANDIDATES, REFERENCES)}
COMPARED = 256  # pairs whose distributions are held at once where each side has a table of its own

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
    if CANDIDATES in tables:
        return _score_separately(scorer, pairs, tables, settings)
    chosen = settings.replace(idf=tables[REFERENCES]) if tables else settings
    result = scorer.score(pairs.predictions, pairs.references, **vars(chosen))
    signed = _signed(result.signature, chosen, settings)
    return Result(result.scores, signed, result.several, result.similarities)


def columns(result: Result) -> dict[str, list[float]]:
    """The scores of a result as named columns, [pairs] each.

    >>> columns(Result({"l1_distance": [0.5]}, "...", similarities={"l1_distance": [0.75]}))
    {'l1_distance': [0.5], 'l1_distance_similarity': [0.75]}
    """
    similarities = (result.similarities or {}).items()
    return {**result.scores, **{f"{name}_similarity": column for name, column in similarities}}


def _signed(given: str, chosen: Settings, settings: Settings) -> str:
    """The signature for `chosen` as one for `settings`, which differ from it in `idf` alone."""
    label = f"table-{chosen.idf.fingerprint}" if isinstance(chosen.idf, IDF) else "no"
    sides = counted_sides(settings)
    return given.replace(f"|idf:{label}|", f"|idf:{settings.idf}|", 1) if sides else given


def _score_separately(
    scorer: InfoLMScorer, pairs: Pairs, tables: Tables, settings: Settings
) -> Result:
    """The result where candidates are weighed by a table, and references by another."""
    scores: dict[str, list[float]] = {name: [] for name in settings.measures}
    for start in range(0, len(pairs), COMPARED):
        part = slice(start, start + COMPARED)
        groups = pairs.references[part]
        owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        chosen = vars(settings.replace(idf=tables[CANDIDATES]))
        log_q = scorer.distributions(pairs.predictions[part], **chosen)[torch.from_numpy(owners)]
        chosen = vars(settings.replace(idf=tables[REFERENCES]))
        log_p = scorer.distributions([text for group in groups for text in group], **chosen)
        for name, column in scores.items():
            values = measures.compare(
                name,
                log_p,
                log_q,
                symmetrize=settings.symmetrize,
                alpha=settings.alpha,
                beta=settings.beta,
            )
            column += _combined(values.cpu().numpy(), owners, settings.multi_reference)
    similarities = None
    if settings.similarity:
        similarities = {
            name: [1.0 - value / settings.largest_value(name) for value in column]
            for name, column in scores.items()
        }
    several = not isinstance(settings.information_measure, str)
    return Result(scores, scorer.signature(**vars(settings)), several, similarities)


def _combined(values: np.ndarray, owners: np.ndarray, how: str) -> list[float]:
    """One score a pair from those of its references: [couples], [couples] -> [pairs]."""
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    closest = np.minimum.reduceat(values, starts)
    if how == "min":
        return closest.tolist()
    counts = np.diff(starts, append=len(values))
    means = np.add.reduceat(values / np.repeat(counts, counts), starts)
    return means.clip(closest, np.maximum.reduceat(values, starts)).tolist()
