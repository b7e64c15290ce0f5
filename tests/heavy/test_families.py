"""Every family of models, measure and temperature against the literal implementation."""

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from infolm_metric import InfoLMScorer
from tests.model_families import FAMILIES, SENTENCES
from tests.unit.infolm.test_scorer import (
    CANDIDATES,
    PARAMETERS,
    REFERENCES,
    TEMPERATURES,
    Literal,
    assert_as_literal,
)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_measure_equals_the_literal_implementation_for_every_family(tiny_models, family):
    folder = tiny_models(family)
    literal, ours = Literal(folder), InfoLMScorer(model_name_or_path=folder)
    for temperature in TEMPERATURES:
        for measure, alpha, beta in PARAMETERS:
            chosen = {"alpha": alpha, "beta": beta, "temperature": temperature}
            result = ours.score(CANDIDATES, REFERENCES, information_measure=measure, **chosen)
            expected = literal.score(
                CANDIDATES, REFERENCES, measure, alpha, beta, temperature, "references"
            )
            # The literal arccos loses half of its digits near 1.
            floor = 3e-8 if measure == "fisher_rao_distance" else 1e-9
            assert_as_literal(result.scores[measure], expected, temperature, floor)


@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_far_from_uniform_and_depend_on_the_context(family, tiny_models):
    """Or what is compared with such a model proves nothing."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family))
    model = AutoModelForMaskedLM.from_pretrained(tiny_models(family)).double().eval()
    rows = []
    for text in SENTENCES[:8]:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        for position in range(1, ids.shape[1] - 1, 3):
            context = ids.clone()
            context[0, position] = tokenizer.mask_token_id
            with torch.no_grad():
                rows.append(model(context).logits[0, position])
    logits = torch.stack(rows)  # [contexts, vocab]
    assert 1.5 < logits.std(dim=1).mean() < 3 and logits.std(dim=0).mean() > 0.4
    log_p = logits.log_softmax(-1)
    perplexity = (-(log_p.exp() * log_p).sum(-1)).exp()
    assert perplexity.mean() < logits.shape[1] / 2.5
