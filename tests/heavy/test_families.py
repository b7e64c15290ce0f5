"""Every model family, measure and temperature, compared with the literal implementation."""

import pytest

from infolm_metric import InfoLMScorer
from tests.model_families import FAMILIES
from tests.odd_pairs import CANDIDATES, REFERENCES
from tests.reference_infolm import ReferenceInfoLM
from tests.unit.infolm.test_scorer import PARAMETERS, TEMPERATURES, assert_relatively_close


@pytest.mark.parametrize("family", FAMILIES)
def test_every_measure_equals_the_literal_implementation_for_every_family(tiny_models, family):
    folder = tiny_models(family)
    literal, scorer = ReferenceInfoLM(folder), InfoLMScorer(model_name_or_path=folder)
    for temperature in TEMPERATURES:
        for measure, alpha, beta in PARAMETERS:
            settings = {"alpha": alpha, "beta": beta, "temperature": temperature}
            result = scorer.score(CANDIDATES, REFERENCES, information_measure=measure, **settings)
            numbers = alpha, beta, temperature
            expected = literal.score(CANDIDATES, REFERENCES, measure, *numbers, "references")
            # The literal arccos loses half of its digits near 1.
            floor = 3e-8 if measure == "fisher_rao_distance" else 1e-9
            assert_relatively_close(result.scores[measure], expected, temperature, floor)
