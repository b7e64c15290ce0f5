"""BaryScore of two texts as long as the bundled model takes."""

import pytest

from infolm_metric import BaryScorer
from infolm_metric.core.settings import BUNDLED_FOLDER
from tests.paraphrases import PARAPHRASES
from tests.reference_baryscore import ReferenceBaryScore


def test_two_texts_as_long_as_the_model_takes_equal_the_literal_implementation():
    literal = ReferenceBaryScore(BUNDLED_FOLDER)
    sides = [" ".join(texts) for texts in zip(*PARAPHRASES, strict=True)]
    texts = [
        literal.tokenizer.decode(literal.tokenizer(side)["input_ids"][1:length])
        for side, length in zip(sides, (509, 497), strict=True)
    ]
    result = BaryScorer(model_name_or_path="bundled").score(texts[:1], texts[1:], idf=False)
    assert result["warnings"] == {} and result.counts["tokens"] > 1000
    assert result["baryscore"] == pytest.approx(literal.score(*texts), abs=1e-5)
