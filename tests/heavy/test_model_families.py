"""The tiny models that other tests build must themselves be right, or those tests prove nothing."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from tests.model_families import FAMILIES, SENTENCES, UNFIT, build

FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")

# The special tokens that the family's tokenizer puts around a text.
SURROUNDINGS = {
    "bert": ("[CLS]", "[SEP]"),
    "roberta": ("<s>", "</s>"),
    "xlm-roberta": ("<s>", "</s>"),
    "distilbert": ("[CLS]", "[SEP]"),
    "albert": ("[CLS]", "[SEP]"),
    "electra": ("[CLS]", "[SEP]"),
    "mpnet": ("<s>", "</s>"),
    "deberta-v2": ("[CLS]", "[SEP]"),
    "modernbert": ("[CLS]", "[SEP]"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("families")
    return {family: build(family, root / family) for family in {**FAMILIES, **UNFIT}}


def predictions_at_masks(folder: Path, texts: tuple[str, ...]) -> torch.Tensor:
    """Logits at every third token of the texts, masked in turn: [contexts, vocab], float64."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).double().eval()
    logits = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        for position in range(1, ids.shape[1] - 1, 3):
            context = ids.clone()
            context[0, position] = tokenizer.mask_token_id
            with torch.no_grad():
                output = model(input_ids=context, attention_mask=torch.ones_like(context))
            logits.append(output.logits[0, position])
    return torch.stack(logits)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_weight_comes_from_the_folder_in_float32(
    family: str, folders: dict[str, Path]
) -> None:
    model, report = AutoModelForMaskedLM.from_pretrained(folders[family], output_loading_info=True)
    assert model.config.model_type == family
    assert {key: found for key, found in report.items() if found} == {}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reloaded_tokenizer_has_a_mask_and_flags_only_the_tokens_it_added(
    family: str, folders: dict[str, Path]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folders[family])
    first, last = SURROUNDINGS[family]
    assert 150 <= len(tokenizer) <= 400
    assert tokenizer.mask_token_id is not None
    assert tokenizer.model_max_length == 40
    encoded = tokenizer(f"the cat {last} sat", return_special_tokens_mask=True)
    tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    assert (tokens[0], tokens[-1]) == (first, last)
    assert last in tokens[1:-1]
    assert encoded["special_tokens_mask"] == [1] + [0] * (len(tokens) - 2) + [1]


@pytest.mark.parametrize("family", FAMILIES)
def test_characters_never_seen_in_training_are_still_tokens(
    family: str, folders: dict[str, Path]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folders[family])
    ids = tokenizer("the 猫 sat")["input_ids"]
    byte_level = family in ("roberta", "modernbert")
    assert (tokenizer.unk_token_id in ids) == (not byte_level)
    if byte_level:
        assert tokenizer.decode(ids, skip_special_tokens=True) == "the 猫 sat"


@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_far_from_uniform_and_depend_on_the_context(
    family: str, folders: dict[str, Path]
) -> None:
    logits = predictions_at_masks(folders[family], SENTENCES[:8])
    assert 1.5 < logits.std(dim=1).mean() < 3
    assert logits.std(dim=0).mean() > 0.4
    log_p = logits.log_softmax(-1)
    perplexity = (-(log_p.exp() * log_p).sum(-1)).exp()
    assert perplexity.mean() < logits.shape[1] / 2.5


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_of_the_greatest_length_fits_and_one_token_more_does_not_fit_learned_positions(
    family: str, folders: dict[str, Path]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folders[family])
    model = AutoModelForMaskedLM.from_pretrained(folders[family]).eval()
    longest = torch.full((1, tokenizer.model_max_length), tokenizer.mask_token_id)
    assert model(input_ids=longest, attention_mask=torch.ones_like(longest)).logits.isfinite().all()
    if family not in ("deberta-v2", "modernbert"):
        longer = torch.full((1, tokenizer.model_max_length + 1), tokenizer.mask_token_id)
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=longer, attention_mask=torch.ones_like(longer))


@pytest.mark.parametrize("family", [*FAMILIES, *UNFIT])
def test_building_twice_gives_the_same_files_and_another_seed_other_weights(
    family: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    state = torch.random.get_rng_state()
    again, other = build(family, tmp_path / "again"), build(family, tmp_path / "other", seed=1)
    assert torch.equal(torch.random.get_rng_state(), state)
    first = {name: (folders[family] / name).read_bytes() for name in FILES}
    assert {name: (again / name).read_bytes() for name in FILES} == first
    assert (other / "model.safetensors").read_bytes() != first["model.safetensors"]


def test_configuration_overrides_reach_the_model_and_the_tokenizer(tmp_path: Path) -> None:
    folder = build(
        "roberta", tmp_path, num_hidden_layers=1, max_position_embeddings=22, dtype="float16"
    )
    model = AutoModelForMaskedLM.from_pretrained(folder)
    assert (model.config.num_hidden_layers, model.dtype) == (1, torch.float16)
    assert AutoTokenizer.from_pretrained(folder).model_max_length == 20


def test_the_gpt2_like_model_has_no_mask_token(folders: dict[str, Path]) -> None:
    assert AutoTokenizer.from_pretrained(folders["gpt2"]).mask_token_id is None
    with pytest.raises(ValueError, match="Unrecognized configuration class"):
        AutoModelForMaskedLM.from_pretrained(folders["gpt2"])


def test_the_checkpoint_without_a_head_loads_with_a_random_one(folders: dict[str, Path]) -> None:
    model, report = AutoModelForMaskedLM.from_pretrained(
        folders["bert-without-head"], output_loading_info=True
    )
    assert model.config.architectures == ["BertModel"]
    assert "cls.predictions.transform.dense.weight" in report["missing_keys"]
