"""Scores of BaryScore: one reading of the texts by the model serves every setting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from torch import Tensor

from infolm_metric.baryscore import transport
from infolm_metric.baryscore.explanation import Explanation, TokenPoints, explain_score
from infolm_metric.baryscore.settings import Settings
from infolm_metric.baryscore.states import Layers, States, own_tokens
from infolm_metric.baryscore.transport import Cloud
from infolm_metric.kernel.idf.statistics import Statistics, Weighting, weighting
from infolm_metric.kernel.pairs import Pair, Pairs, check_text
from infolm_metric.kernel.passes import Passes, Told
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import MetricScorer, Report
from infolm_metric.kernel.single_pairs import SinglePairs, chunks, counts_of, sides_of
from infolm_metric.kernel.weighed_texts import Key, WeighedText

if TYPE_CHECKING:
    from typing import Unpack

    from infolm_metric.baryscore.keywords import Keywords

# What is held at once while pairs are compared: texts, and bytes of their points.
CHUNK_TEXTS = 2048
CHUNK_BYTES = 1 << 28
TOKEN_BYTES = 4  # of a text, about


class Row(NamedTuple):
    """What one setting makes of a pass: indices of its weights and layers, and its rule."""

    weighting: int
    layers: int
    multi_reference: str


@dataclass(frozen=True)
class Plan:
    """One reading of the texts by the model, and all that is made of it."""

    settings: Settings  # those that say how texts are read
    weightings: Sequence[Weighting]
    layers: Sequence[Layers]
    rows: Sequence[Row]


class BaryScorePasses(Passes):
    """Scores pairs under any settings, in as few passes of the model as these allow."""

    settings_type = Settings
    best_means = "the same tokens in the same places"

    def __init__(self) -> None:
        self.states = States()
        super().__init__(self.states)

    def read_by(self, settings: Settings) -> Settings:
        """These settings without what is made of the states that a reading gives."""
        return settings.reading()

    def check(self, pairs: Pairs, settings: Settings, statistics: Statistics) -> None:
        """Raise what would keep `score` from its work: hidden states that are not there."""
        self.layers(settings)
        super().check(pairs, settings, statistics)

    def score_alike(
        self,
        pairs: Pairs,
        read: Settings,
        asked: Sequence[tuple[Settings, Statistics]],
        report: Report,
    ) -> list[Result]:
        """The results for settings that one reading serves, each with its statistics."""
        plan = self._plan(read, asked)
        table, remarks = self.score_chunks(
            pairs,
            read,
            lambda: chunks(pairs, CHUNK_TEXTS, self._size(plan)),
            (len(plan.rows), len(plan.weightings)),
            partial(self._compare, plan),
            report,
        )
        return [
            Result(
                each.metric,
                {each.metric: scores.tolist()},
                self.signature(each, counted),
                self.higher_is_better(each),
                _fitting(remarks[row.weighting], counted),
            )
            for (each, counted), row, scores in zip(asked, plan.rows, table, strict=True)
        ]

    def bounds(self, settings: Settings, name: str) -> tuple[float, float]:
        """0, for equal points, and the squared diameter of the ball in which points lie."""
        return 0.0, transport.LARGEST

    def layers(self, settings: Settings) -> Layers:
        """Which hidden states of the model are read."""
        states = self.states.opened(settings).states
        assert states is not None  # such models are not opened
        return settings.indices(states)

    # The steps of a pass, in order.

    def _plan(self, read: Settings, own: Sequence[tuple[Settings, Statistics]]) -> Plan:
        """The plan of a pass for settings that read texts alike, each with its statistics."""
        checkpoint = self.states.opened(read)
        weighed = [weighting(each, counted, checkpoint) for each, counted in own]
        chosen = [self.layers(each) for each, _ in own]
        weightings, layers = list(dict.fromkeys(weighed)), list(dict.fromkeys(chosen))
        rows = [
            Row(weightings.index(tables), layers.index(indices), each.multi_reference)
            for (each, _), tables, indices in zip(own, weighed, chosen, strict=True)
        ]
        return Plan(read, weightings, layers, rows)

    def _size(self, plan: Plan) -> Callable[[str], float]:
        """What a text takes of the room for CHUNK_TEXTS, by the points it may have."""
        hidden = int(self.states.model(plan.settings).model.config.hidden_size)
        limit = self.states.limit(plan.settings)
        cut = plan.settings.long_text == "truncate" and limit is not None
        own = 8 * hidden * len(plan.layers) * CHUNK_TEXTS / CHUNK_BYTES

        def size(text: str) -> float:
            tokens = len(text.encode()) / TOKEN_BYTES
            return max(1.0, own * (min(tokens, limit) if cut and limit else tokens))

        return size

    def _compare(
        self, plan: Plan, chunk: Sequence[Pair], scores: np.ndarray, report: Told
    ) -> list[Remarks]:
        """Fill in the scores of a chunk of pairs, float64 [rows, pairs]."""
        sides, counts = sides_of(chunk), counts_of(chunk)
        weighed = [self.states.read(sides, each, plan.settings) for each in plan.weightings]
        singles = [SinglePairs(one, other, counts) for one, other in weighed]
        weighed_texts = [weighed_text for each in singles for weighed_text in each.weighed_texts]
        found = self.states.of(weighed_texts, plan.settings, plan.layers, report)
        known: dict[tuple[int, int], np.ndarray] = {}
        for row, (weights, layers, multi_reference) in enumerate(plan.rows):
            if (weights, layers) not in known:
                points = {ids: each[layers] for ids, each in found.items()}
                known[weights, layers] = _distances(singles[weights], points)
            scores[row] = singles[weights].combine(known[weights, layers], multi_reference)
        return [self.states.remark(each.weighed_texts, plan.settings) for each in singles]


def _distances(singles: SinglePairs, found: dict[bytes, Tensor]) -> np.ndarray:
    """The distance of every pair, float64 [single pairs]; `found` has points by token ids."""
    clouds: dict[Key, Cloud] = {}
    known: dict[tuple[Key, Key], float] = {}

    def cloud(weighed_text: WeighedText) -> Cloud:
        if weighed_text.key not in clouds:
            points = found[weighed_text.key[0]].numpy()
            clouds[weighed_text.key] = Cloud.of(points, weighed_text.log_weights)
        return clouds[weighed_text.key]

    values = np.empty(len(singles.references))
    for index, (candidate, reference) in enumerate(zip(*singles.sides, strict=True)):
        both = (candidate.key, reference.key)
        if both not in known:
            same = candidate.key == reference.key  # which rounding would not let be 0
            known[both] = (
                0.0 if same else transport.squared_distance(cloud(candidate), cloud(reference))
            )
        values[index] = known[both]
    return values


class BaryScorer(MetricScorer):
    """Scores candidates against references; the model is loaded at the first use and kept.

    Args:
        **settings: the settings of BaryScore, by name; every method takes them too, for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.

    >>> scorer = BaryScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."])
    >>> result.scores
    {'baryscore': [0.0]}
    >>> next(scorer.stream([("The cat sat down.", "The cat sat down.")], idf=False))
    {'baryscore': 0.0}
    """

    inner_type = BaryScorePasses
    inner: BaryScorePasses

    if TYPE_CHECKING:  # what is inherited, with the settings by name

        def __init__(self, **settings: Unpack[Keywords]) -> None: ...

        def score(  # type: ignore[override]  # noqa: D102
            self, predictions: Any, references: Any, **settings: Unpack[Keywords]
        ) -> Result: ...

        def stream(  # type: ignore[override]  # noqa: D102
            self, pairs: Iterable[Any], **settings: Unpack[Keywords]
        ) -> Iterator[dict[str, float]]: ...

        def signature(  # type: ignore[override]  # noqa: D102
            self, **settings: Unpack[Keywords]
        ) -> str: ...

    def explain(self, candidate: str, reference: str, **settings: Unpack[Keywords]) -> Explanation:
        """Which token of a text goes where in its reference, with what mass and at what cost.

        With idf="references" the reference is the corpus, as in `score`; give an `IDF` for another.

        Args:
            candidate: the text to judge.
            reference: what it is compared with.
            **settings: override the scorer's own for this call.

        Returns:
            The score, and the plan of transport between the tokens that it is the cost of.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.

        >>> scorer = BaryScorer(model_name_or_path="bundled", idf=False)
        >>> found = scorer.explain("A cat sat.", "The cat sat.")
        >>> found.candidate.tokens, found.reference.tokens
        (['a', 'cat', 'sat', '.'], ['the', 'cat', 'sat', '.'])
        >>> [found.candidate.tokens[move.candidate] for move in found.moves()][0]
        'a'
        """
        chosen = self.settings.replace(**settings)
        check_text("candidate", candidate)
        check_text("reference", reference)
        pairs = Pairs([candidate], [[reference]])
        with self.lock:
            kept = self.inner.states
            statistics = self.inner.count(pairs, chosen)
            result = self.inner.score(pairs, chosen, statistics)
            result.remarks.warn()
            tables = weighting(chosen, statistics, kept.opened(chosen))
            (one,), (other,) = kept.read([[candidate], [reference]], tables, chosen)
            found = kept.of([one, other], chosen, [self.inner.layers(chosen)])
            tokenizer = kept.opened(chosen).tokenizer
        sides = [
            TokenPoints(
                tokenizer.convert_ids_to_tokens(own_tokens(each).tolist()),
                found[each.key[0]][0].numpy(),
                each.log_weights,
            )
            for each in (one, other)
        ]
        ((score,),) = result.scores.values()
        return explain_score(sides[0], sides[1], score, result.signature)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model in the settings; `IDF.from_corpus` needs it."""
        return self.inner.states.opened(self.settings).tokenizer


def _fitting(remarks: Remarks, statistics: Statistics) -> Remarks:
    """The remarks on texts as they are read here: one of one token is heard as any other."""
    return replace(remarks, one_token=0, distinct_documents=statistics.distinct)
