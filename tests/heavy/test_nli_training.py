"""How the bundled natural-language-inference model is trained and evaluated, on a few rows."""

import gzip
import sys

import numpy as np
import pytest
import torch
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
)

from infolm_metric.core.settings import BUNDLED_FOLDER
from tools import evaluate_nli as evaluate
from tools import train_nli as train

ROWS = [
    ("snli_dev", "entailment", "A man is sleeping.", "A man sleeps."),
    ("snli_dev", "contradiction", "A man is sleeping.", "Nobody sleeps."),
    ("hans_generated", "not_entailment", "The judge saw the actor.", "The actor saw the judge."),
    ("help_and", "neutral", "Tom sang.", "Tom sang and danced."),
    ("hans_generated", "entailment", "The tall judge left.", "The judge left."),
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.write("source\tlabel\tpremise\thypothesis\n")
        out.writelines("\t".join(row) + "\n" for row in ROWS)
    return path


def test_rows_are_read_with_two_way_labels_apart(file):
    rows = train.read_rows(file)
    assert rows["label"].tolist() == [0, 2, -1, 1, 0]
    assert rows["premise"][2] == "The judge saw the actor."


def test_a_pair_is_read_jointly_and_padding_is_not_attended_to(file):
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED_FOLDER)
    rows = train.read_rows(file)
    batch = train.pad(tokenizer, rows)
    for row, length in enumerate(train.lengths_of(tokenizer, rows)):
        ids, kinds = batch["input_ids"][row][:length], batch["token_type_ids"][row][:length]
        start = kinds.tolist().index(1)
        assert batch["attention_mask"][row].sum() == length
        assert ids[start - 1] == tokenizer.sep_token_id == ids[-1]
        assert batch["token_type_ids"][row].sum() == length - start


def test_rows_made_by_rule_are_at_most_their_share_of_an_epoch():
    sources = ["snli_dev"] * 70 + ["breaking_nli"] * 500
    lengths = np.random.default_rng(0).integers(5, 60, len(sources))
    batches = train.plan_epoch(sources, lengths, 8, seed=1)
    chosen = np.concatenate(batches)
    assert len(chosen) == len(set(chosen.tolist())) == 100
    assert set(range(70)) <= set(chosen.tolist())
    spreads = [np.ptp(lengths[batch]) for batch in batches]
    assert np.median(spreads) < np.ptp(lengths) / 4


def test_the_two_way_label_is_the_sum_of_what_is_not_entailment():
    logits = torch.tensor([[0.3, -1.0, 2.0]])
    p = torch.softmax(logits, -1)[0]
    for label, probability in ((0, p[0]), (1, p[1]), (2, p[2]), (-1, p[1] + p[2])):
        loss = train.nli_loss(logits, torch.tensor([label]))
        assert torch.isclose(loss, -probability.log())


def test_a_temperature_is_found_again_and_calibrates():
    """Labels drawn from softmax(logits / 2) ask for the temperature 2."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(20_000, 3, generator=generator, dtype=torch.float64)
    labels = torch.multinomial(torch.softmax(logits / 2, -1), 1, generator=generator)[:, 0].numpy()
    temperature = evaluate.fit_temperature(logits, labels)
    assert temperature == pytest.approx(2, rel=0.05)
    before = evaluate.expected_calibration_error(logits, labels)
    after = evaluate.expected_calibration_error(logits / temperature, labels)
    assert after < 0.02 < before


def test_the_evaluation_reads_labels_in_the_models_own_order(file, tmp_path, monkeypatch, capsys):
    """A model whose labels stand in another order gives the same probabilities and accuracy."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED_FOLDER)
    tables = []
    for order in (train.LABELS, train.LABELS[::-1]):
        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=8,
            id2label=dict(enumerate(order)),
            label2id={label: number for number, label in enumerate(order)},
        )
        torch.manual_seed(0)
        model = BertForSequenceClassification(config)
        if order != train.LABELS:
            for parameter in model.classifier.parameters():
                parameter.data = parameter.data.flip(0)
        folder = tmp_path / order[0]
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        monkeypatch.setattr(sys, "argv", ["evaluate", str(file), "--model", str(folder)])
        evaluate.main()
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    assert "| snli_dev | 2 |" in tables[0]
    # What HANS calls entailment is no row of three labels, either.
    assert "| all, three-way | 3 |" in tables[0]
