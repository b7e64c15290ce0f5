"""The model that ships with the package: what it is, and that it tells meanings apart."""

import gzip
import sys

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForMaskedLM, AutoTokenizer

from infolm_metric import IDF, InfoLMScorer
from infolm_metric.core.settings import BUNDLED_FOLDER
from tests.paraphrases import PARAPHRASES
from tools import evaluate_masked_lm
from tools import train_masked_lm as train


@pytest.fixture(scope="module")
def scorer():
    return InfoLMScorer(model_name_or_path="bundled")


def test_the_weights_are_float16_safetensors_of_at_most_48_mb():
    file = BUNDLED_FOLDER / "model.safetensors"
    assert file.stat().st_size <= 48_000_000
    with safe_open(file, "pt") as weights:
        dtypes = {weights.get_tensor(name).dtype for name in weights.keys()}  # noqa: SIM118
    assert dtypes == {torch.float16}


def test_plain_transformers_loads_it_complete_and_it_fills_a_mask():
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED_FOLDER)
    model, report = AutoModelForMaskedLM.from_pretrained(
        BUNDLED_FOLDER, dtype=torch.float32, output_loading_info=True
    )
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    inputs = tokenizer("The capital of the country [MASK] its largest city.", return_tensors="pt")
    with torch.no_grad():
        logits = model.eval()(**inputs).logits
    at = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    assert "is" in tokenizer.convert_ids_to_tokens(logits[0, at].topk(5).indices.tolist())


def test_a_paraphrase_is_closer_than_an_unrelated_sentence(scorer):
    """At least 95 of 100 times; the unrelated sentence is the next line's paraphrase."""
    texts, paraphrases = map(list, zip(*PARAPHRASES, strict=True))
    assert len(set(texts)) == len(set(paraphrases)) == 100
    unrelated = paraphrases[1:] + paraphrases[:1]
    near = scorer.score(paraphrases, texts).scores["fisher_rao_distance"]
    far = scorer.score(unrelated, texts).scores["fisher_rao_distance"]
    assert sum(one < other for one, other in zip(near, far, strict=True)) >= 95


def test_it_scores_many_measures_finitely_at_extreme_temperatures(scorer):
    candidates, references = ["The cat sat.", ""], ["A dog barked at the moon.", "Rain."]
    with pytest.warns(UserWarning, match="have no token"):
        rows = scorer.sweep(
            candidates,
            references,
            information_measure=["kl", "alpha", "ab", "fisher_rao"],
            temperatures=[0.01, 100.0],
            alphas=[2.0, -0.5],
            betas=[-0.5],
        )
    for _, result in rows:
        for scores in result.scores.values():
            assert all(0 <= score < float("inf") for score in scores)


def test_batches_of_any_size_give_the_same_bits(scorer):
    candidates = [text for text, _ in PARAPHRASES[:6]]
    references = [text for _, text in PARAPHRASES[:6]]
    options = {"idf": False, "information_measure": "kl", "reuse_memory": 0}
    whole = scorer.score(candidates, references, **options).scores["kl_divergence"]
    alone = [
        scorer.score([c], [r], batch_size=5, **options).scores["kl_divergence"][0]
        for c, r in zip(candidates, references, strict=True)
    ]
    assert alone == whole


def test_training_computes_what_the_model_computes():
    """The loss by the training script's own forward pass is that of BertForMaskedLM."""
    model = AutoModelForMaskedLM.from_pretrained(BUNDLED_FOLDER, dtype=torch.float64)
    ids = torch.randint(1000, 5000, (3, 10), generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    masked, positions, targets = train.mask_batch(ids, 101, 102, 103, 0.3, generator)
    assert (masked == 103).sum(1).tolist() == [3, 3, 3]
    ours = train.masked_lm_loss(model, masked, positions, targets)
    logits = model.eval()(masked).logits[torch.arange(3)[:, None], positions]
    theirs = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=0)
    ours.backward()
    gradient = model.bert.embeddings.word_embeddings.weight.grad.clone()
    model.zero_grad()
    theirs.backward()
    expected = model.bert.embeddings.word_embeddings.weight.grad
    torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-12)


def test_centred_embeddings_predict_the_same():
    model = AutoModelForMaskedLM.from_pretrained(BUNDLED_FOLDER, dtype=torch.float64)
    ids = torch.randint(1000, 5000, (3, 10), generator=torch.Generator().manual_seed(0))
    words = model.bert.embeddings.word_embeddings.weight
    assert words.mean(dim=0).abs().max() < 1e-4, "the weights that ship are centred"
    with torch.no_grad():
        words += torch.linspace(-1, 1, words.shape[1], dtype=torch.float64)
        before = model.eval()(ids).logits.log_softmax(-1)
        train.centre_embeddings(model)
        after = model(ids).logits.log_softmax(-1)
    torch.testing.assert_close(after, before, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(words.mean(dim=0), torch.zeros_like(words[0]), rtol=0, atol=1e-12)


def test_the_evaluation_script_prints_a_row_for_each_file_and_the_pool(
    tmp_path, monkeypatch, capsys
):
    for name in ("first", "second"):
        with gzip.open(tmp_path / f"{name}.valid.txt.gz", "wt", encoding="utf-8") as file:
            file.writelines(text + "\n" for text, _ in PARAPHRASES[:3])
    monkeypatch.setattr(sys, "argv", ["evaluate", str(tmp_path), "--masks", "2"])
    evaluate_masked_lm.main()
    printed = [line.split()[1:-1:2] for line in capsys.readouterr().out.splitlines()[-3:]]
    assert [row[0] for row in printed] == ["first", "second", "pooled"]
    assert printed[-1][1] == "12"
    assert 0 < float(printed[-1][2]) < 10.3  # less than guessing: log 30522


def test_a_table_of_the_bundled_tokenizer_works_after_saving(scorer, tmp_path):
    table = IDF.from_corpus([text for text, _ in PARAPHRASES], scorer.tokenizer)
    table.save(tmp_path / "table.idf")
    result = scorer.score(["The cat sat."], ["A cat sat."], idf=tmp_path / "table.idf")
    assert f"idf:table-{table.fingerprint}" in result.signature
