"""`infolm idf` and `infolm baseline`: counts, saved files and invalid input."""

import json
from pathlib import Path

import pytest

from infolm_metric.core.baselines import Baseline
from infolm_metric.core.idf import IDF
from tests.unit.commands.conftest import TEXTS

FILES = ("-c", "sys.txt", "-r", "ref.txt")


def test_idf_table_counts_the_tokens_of_its_files(infolm_output, tiny_bert):
    from transformers import AutoTokenizer

    Path("more.csv").write_text("id,summary\n1,NA\n2,\n")
    arguments = ("idf", "ref.txt", "more.csv", "--column", "summary", "-o", "table.json")
    output = infolm_output(*arguments)
    table = IDF.load("table.json")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    assert table == IDF.from_corpus([*TEXTS["ref"], "NA", ""], tokenizer)
    assert output.splitlines() == [
        "documents: 5",
        f"distinct tokens: {(table.document_frequency > 0).sum()}",
        f"fingerprint: {table.fingerprint}",
    ]


def test_idf_table_of_the_references_gives_the_same_scores_as_the_references(infolm):
    infolm("idf", "ref.txt", "-o", "table.json")
    by_table, by_references, uniform = (
        json.loads(infolm("score", *FILES, "--json", *idf)[1])
        for idf in (("--idf", "table.json"), (), ("--idf", "none"))
    )
    # Truncated to 38 tokens, as any text.
    Path("long.txt").write_text("the " * 37 + "cat " + "dog " * 60)
    for options, tokens in (((), 2), (("--max-length", 6), 1), (("--long-text", "window"), 3)):
        infolm("idf", "long.txt", "-o", "long.json", *options)
        assert IDF.load("long.json").document_frequency.sum() == tokens
    assert by_table["scores"] == pytest.approx(by_references["scores"], abs=1e-6)
    assert by_table["scores"] != pytest.approx(uniform["scores"], abs=1e-3)
    assert IDF.load("table.json").fingerprint in by_table["signature"]


def test_baseline_covers_every_measure_and_rescales_scores(infolm_output):
    Path("corpus.txt").write_text("\n".join(f"the cat {i} sat {i * i}" for i in range(50)))
    output = infolm_output("baseline", "corpus.txt", "--pairs", 50, "-o", "b")
    assert output.startswith(f"baseline: {Baseline.load('b')} (")
    arguments = ("score", "the cat sat", "a dog", "--rescale-with-baseline", "b", "--json")
    result = json.loads(infolm_output(*arguments, "-m", "l1"))
    assert result["rescaled"] < 1 and f"|baseline:{Baseline.load('b')}|" in result["signature"]


def test_a_baseline_of_a_combination_covers_the_other_metric(infolm_output, tiny_bert, tiny_nli):
    Path("corpus.txt").write_text("\n".join(f"the cat {i} sat {i * i}" for i in range(50)))
    combination = ("--metric", "menli", "--model", f"menli={tiny_nli()}", "--combine-with")
    combination += ("bertscore", "--combine-model", tiny_bert, "--combine-layers", 1)
    infolm_output("baseline", "corpus.txt", *combination, "--pairs", 20, "-o", "b")
    options = ("--combine-baseline", "b", "--rescale-with-baseline", "b", "--json")
    result = json.loads(infolm_output("score", "the cat sat", "a dog", *combination, *options))
    assert "|bertscore.baseline:file-" in result["signature"] and "rescaled" in result


INVALID = [
    (["idf", "empty.txt"], "corpus is empty"),
    (["idf", "data.csv"], "data.csv, line 2: no column 'text'. Set --column=NAME"),
    (["idf", "ref.txt", "--metric", "toy"], "toy has no token weights"),
    (["baseline", "ref.txt"], "CORPUS ref.txt must have at least 40 distinct texts"),
    (["baseline", "ref.txt", "--pairs", "19"], "pairs must be at least 20, got 19"),
    (["baseline", "ref.txt", "--metric", "answer_check"], "answer_check has no baseline"),
    (["baseline", "ref.txt", "-m", "l1"], "unrecognized arguments: -m"),
]


@pytest.mark.parametrize(("arguments", "words"), INVALID)
def test_invalid_input_is_rejected_and_nothing_is_saved(infolm_error, arguments, words):
    Path("empty.txt").touch()
    Path("data.csv").write_text("summary\na\n")
    assert words in infolm_error(*arguments, "-o", "saved")
    assert not Path("saved").exists()
