"""The tiny models that other tests build must themselves be right, or those tests prove nothing."""

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from tests.model_families import FAMILIES, SENTENCES, build

FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_whole_of_its_family_and_made_the_same_again(family, tiny_models, tmp_path):
    folder, state = tiny_models(family), torch.random.get_rng_state()
    model, report = AutoModelForMaskedLM.from_pretrained(folder, output_loading_info=True)
    assert model.config.model_type == family and not any(report.values())
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    again, other = build(family, tmp_path / "again"), build(family, tmp_path / "other", seed=1)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all((again / name).read_bytes() == (folder / name).read_bytes() for name in FILES)
    weights = [(each / "model.safetensors").read_bytes() for each in (folder, other)]
    assert weights[0] != weights[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tokenizer_has_a_mask_and_flags_only_the_tokens_it_added(family, tiny_models):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family))
    assert 150 <= len(tokenizer) <= 400 and tokenizer.model_max_length == 40
    assert tokenizer.mask_token_id is not None
    encoded = tokenizer(f"the cat {tokenizer.sep_token} sat", return_special_tokens_mask=True)
    ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
    assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
    assert tokenizer.sep_token_id in ids[1:-1]  # typed, and so no special one
    assert special == [1] + [0] * (len(ids) - 2) + [1]
    byte_level = family in ("roberta", "modernbert")
    assert (tokenizer.unk_token_id in tokenizer("the 猫 sat")["input_ids"]) == (not byte_level)


@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_far_from_uniform_and_depend_on_the_context(family, tiny_models):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family))
    model = AutoModelForMaskedLM.from_pretrained(tiny_models(family)).double().eval()
    rows = []
    for text in SENTENCES[:8]:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        for position in range(1, ids.shape[1] - 1, 3):
            context = ids.clone()
            context[0, position] = tokenizer.mask_token_id
            with torch.no_grad():
                output = model(input_ids=context, attention_mask=torch.ones_like(context))
            rows.append(output.logits[0, position])
    logits = torch.stack(rows)  # [contexts, vocab]
    assert 1.5 < logits.std(dim=1).mean() < 3 and logits.std(dim=0).mean() > 0.4
    log_p = logits.log_softmax(-1)
    perplexity = (-(log_p.exp() * log_p).sum(-1)).exp()
    assert perplexity.mean() < logits.shape[1] / 2.5
