"""A model in a folder, on the Hub or in the package: its limits, and what it is known by."""

import io
import json
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    NystromformerConfig,
    NystromformerForMaskedLM,
)

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer
from infolm_metric.kernel import checkpoints, model_files
from infolm_metric.kernel.checkpoints import load_weights, open_checkpoint
from tests.model_families import FAMILIES, edited


def opened(name, revision=None):
    return open_checkpoint(str(name), revision, AutoModelForMaskedLM, lambda config: True, str)


def loaded(checkpoint):
    return load_weights(checkpoint, AutoModelForMaskedLM, "float32")[0].eval()


# Limits


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_knows_its_size_and_the_smaller_of_two_limits(family, tiny_models):
    checkpoint = opened(tiny_models(family))
    spare = {"deberta-v2": 9, "modernbert": 13}.get(family, 0)
    assert checkpoint.size == len(checkpoint.tokenizer) + spare
    assert checkpoint.limit == 40
    assert checkpoint.template.overhead == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_the_positions_are_the_limit_less_the_padding_offset(family, tiny_models, tmp_path):
    folder = edited(
        tiny_models(family), tmp_path / "m", "tokenizer_config.json", model_max_length=10**30
    )
    checkpoint = opened(folder)
    # RoBERTa-like models were built with 42 rows of positions, of which 2 are for padding.
    assert checkpoint.limit == 40
    longest = torch.full((1, 40), checkpoint.template.mask)
    assert loaded(checkpoint)(longest).logits.isfinite().all()


def test_spare_rows_of_positions_do_not_raise_the_limit(tiny_bert, tmp_path):
    folder = edited(tiny_bert, tmp_path / "m", "tokenizer_config.json", model_max_length=10**30)
    # This family has two rows more than positions, and no padding index that would tell.
    with torch.random.fork_rng(devices=[]):
        NystromformerForMaskedLM(
            NystromformerConfig(
                vocab_size=305,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                max_position_embeddings=32,
                segment_means_seq_len=32,
                num_landmarks=8,
            )
        ).save_pretrained(folder)
    checkpoint = opened(folder)
    assert checkpoint.limit == 32
    longest = torch.full((1, 32), checkpoint.template.mask)
    assert loaded(checkpoint)(longest).logits.isfinite().all()


def test_a_tokenizer_that_allows_less_than_the_model_sets_the_limit(tiny_bert, tmp_path):
    folder = edited(tiny_bert, tmp_path / "m", "tokenizer_config.json", model_max_length=23)
    assert opened(folder).limit == 23


def test_max_length_is_the_limit_unless_it_is_out_of_range(tiny_models):
    checkpoint = opened(tiny_models("roberta"))
    assert checkpoint.text_limit(None) == 40
    assert [checkpoint.text_limit(length) for length in (3, 17, 40)] == [3, 17, 40]
    for length in (1, 2):
        with pytest.raises(ValueError, match=f"max_length must be at least 3, .* got {length}"):
            checkpoint.text_limit(length)
    with pytest.raises(ValueError, match="max_length must be at most 40, .* got 41; long_text="):
        checkpoint.text_limit(41)


def test_a_model_without_a_limit_takes_any_max_length(tiny_bert):
    unlimited = replace(opened(tiny_bert), limit=None, positions=None)
    assert unlimited.text_limit(None) is None
    assert unlimited.text_limit(10**6) == 10**6


def test_a_length_beyond_the_tokenizers_is_allowed_as_far_as_the_model_reads(tiny_bert, tmp_path):
    edited(tiny_bert, tmp_path / "m", "tokenizer_config.json", model_max_length=20)
    checkpoint = opened(tmp_path / "m")
    assert checkpoint.text_limit(None) == 20
    assert checkpoint.text_limit(40) == 40
    with pytest.raises(ValueError, match="at most 40"):
        checkpoint.text_limit(41)


# What is not there


@pytest.mark.parametrize("name", ["{folder}/none", "./none", "models/of/mine", "~/none"])
def test_a_folder_that_is_not_there_is_named(name, tmp_path):
    name = name.format(folder=tmp_path)
    with pytest.raises(OSError, match=f"'{re.escape(name)}': there is no such folder") as error:
        opened(name)
    assert "Check the path" in str(error.value) and "'bundled'" in str(error.value)


def test_a_folder_beside_the_tokenizers_files_does_not_disturb(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m")
    (tmp_path / "m" / "tokenizer_old").mkdir()
    here = opened(tmp_path / "m").identity.partition("@")[2]
    assert here == opened(tiny_bert).identity.partition("@")[2]


def test_a_folder_in_the_users_home_is_found(tiny_bert, tmp_path, monkeypatch):
    shutil.copytree(tiny_bert, tmp_path / "model")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert opened("~/model").identity == opened(tmp_path / "model").identity


def test_a_hub_name_without_a_network_leads_to_the_bundled_model():
    with pytest.raises(OSError, match="cannot load the model 'some-one/some-model'") as error:
        opened("some-one/some-model", "v1")
    message = str(error.value)
    assert "model_name_or_path='bundled'" in message and "'v1'" in message


def test_what_is_here_is_used_where_the_hub_does_not_answer(monkeypatch):
    asked = []

    def fail(url):
        asked.append(url)
        raise ConnectionError("no route")

    monkeypatch.setattr(model_files, "is_offline_mode", lambda: False)
    monkeypatch.setattr(model_files, "get_hf_file_metadata", fail)
    tried = []

    def load(source, **options):
        tried.append(options)
        raise OSError("none here")

    monkeypatch.setattr(checkpoints.AutoConfig, "from_pretrained", load)
    with pytest.raises(OSError, match=r"none here \(the Hub: no route\)\. .*HF_HUB_OFFLINE=1"):
        opened("some-one/some-model")
    assert len(asked) == 1 and asked[0].endswith("/some-one/some-model/resolve/main/config.json")
    assert [options["local_files_only"] for options in tried] == [True]
    monkeypatch.setattr(model_files, "get_hf_file_metadata", lambda url: None)
    with pytest.raises(OSError, match="none here. Check"):
        opened("some-one/some-model")
    assert "local_files_only" not in tried[-1]


def test_the_bundled_model_has_no_revisions():
    with pytest.raises(ValueError, match="'bundled' has no revisions, got 'main'"):
        opened("bundled", "main")


def test_pickled_weights_are_not_read(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m")
    weights = load_file(tmp_path / "m" / "model.safetensors")
    (tmp_path / "m" / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "m" / "pytorch_model.bin")
    # The model is whole, and transformers would read it.
    assert AutoModelForMaskedLM.from_pretrained(tmp_path / "m") is not None
    with pytest.raises(OSError, match="must be safetensors files, which `save_pretrained`"):
        loaded(opened(tmp_path / "m"))


def test_damaged_weights_are_an_error_that_names_the_model(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m")
    file = tmp_path / "m" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(OSError, match="cannot load the model .*m': Error while deserializing"):
        loaded(opened(tmp_path / "m"))


@pytest.mark.parametrize("told", ["512", -1, [40]])
def test_a_length_that_is_no_number_is_an_error_that_names_the_model(told, tiny_bert, tmp_path):
    folder = edited(tiny_bert, tmp_path / "m", "tokenizer_config.json", model_max_length=told)
    with pytest.raises(ValueError, match=f"m' says model_max_length {re.escape(repr(told))}; set"):
        opened(folder)


def test_a_tokenizer_of_a_newer_release_is_an_error_that_names_the_model(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m")
    file = tmp_path / "m" / "tokenizer.json"
    content = json.loads(file.read_text())
    content["pre_tokenizer"] = {"type": "NotKnownHere"}
    file.write_text(json.dumps(content))
    with pytest.raises(OSError, match="cannot load the model .*m': .*PreTokenizer"):
        opened(tmp_path / "m")


@pytest.mark.parametrize("content", ["", "{", "{}", '{"model_type": "no-such-model"}'])
def test_a_folder_without_a_usable_configuration_is_an_error_that_names_it(content, tmp_path):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(OSError, match="cannot load the model .*(config|architecture)") as error:
        opened(tmp_path)
    assert repr(str(tmp_path)) in str(error.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hidden_act": "zzz"}, "KeyError: 'zzz'"),
        ({"vocab_size": "abc"}, "vocab_size"),
        ({"num_attention_heads": 5}, "hidden size"),
    ],
)
def test_a_configuration_that_contradicts_itself_is_named(changes, reason, tiny_bert, tmp_path):
    folder = edited(tiny_bert, tmp_path / "m", "config.json", **changes)
    for scorer in (InfoLMScorer, BaryScorer):
        with pytest.raises(OSError, match=f"cannot load the model .*m': .*{reason}"):
            scorer(model_name_or_path=str(folder)).signature()


@pytest.mark.parametrize("value", ["some-one/kernels", {"": "some-one/kernels"}])
@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # tiny models know nothing of inference
def test_attention_that_a_configuration_would_fetch_from_the_hub_is_not_used(
    key, value, tiny_bert, tiny_nli, tmp_path
):
    pair = ["the cat sat"], ["a cat slept on a mat"]
    scorers = [
        (InfoLMScorer, tiny_bert, {}),
        (BaryScorer, tiny_bert, {"layers": "all"}),
        (MENLIScorer, tiny_nli(), {}),
    ]
    for scorer, model, settings in scorers:
        folder = edited(model, tmp_path / scorer.__name__, "config.json", **{key: value})
        expected, scored = (
            scorer(model_name_or_path=str(each), **settings).score(*pair)["scores"]
            for each in (model, folder)
        )
        assert scored == expected


def test_code_that_comes_with_a_model_is_neither_run_nor_offered(tmp_path, monkeypatch, capsys):
    settings = {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig"}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    (tmp_path / "own.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
        "from transformers import PretrainedConfig\n"
        "class OwnConfig(PretrainedConfig):\n"
        "    model_type = 'own'\n"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 9))
    with pytest.raises(OSError, match="cannot load the model .* contains custom code"):
        opened(tmp_path)
    assert not (tmp_path / "ran").exists()
    assert "[y/N]" not in capsys.readouterr().out


@pytest.mark.parametrize("family", FAMILIES)
def test_missing_tokenizer_files_are_an_error_and_not_a_tokenizer_without_words(
    family, tiny_models, tmp_path
):
    shutil.copytree(tiny_models(family), tmp_path / "m")
    for file in (tmp_path / "m").glob("tokenizer*"):
        file.unlink()
    with pytest.raises((OSError, ValueError), match="tokenizer") as error:
        opened(tmp_path / "m")
    assert repr(str(tmp_path / "m")) in str(error.value)


def test_the_tokenizer_of_a_larger_vocabulary_is_refused(tiny_models, tmp_path):
    shutil.copytree(tiny_models("bert"), tmp_path / "m")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    tokenizer.add_tokens(["never", "embedded"])
    tokenizer.save_pretrained(tmp_path / "m")
    with pytest.raises(ValueError, match="has 307 entries and the model 305"):
        opened(tmp_path / "m")


# Identity


def test_a_model_is_known_by_its_contents_wherever_its_folder_lies(
    tiny_bert, tmp_path, monkeypatch
):
    here, there = tmp_path / "a" / "model", tmp_path / "b" / "model"
    shutil.copytree(tiny_bert, here)
    identity = opened(here).identity
    name, _, digest = identity.partition("@sha256:")
    assert name == "model" and len(digest) == 12
    shutil.move(here, there)
    assert opened(there).identity == opened(f"{there}/").identity == identity
    monkeypatch.chdir(there.parent)
    assert opened("model").identity == opened("./model").identity == identity
    monkeypatch.chdir(there)
    assert opened(".").identity == identity


def change_a_weight(folder):
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][0] += 1e-3
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def change_the_configuration(folder):
    entries = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(entries | {"hidden_act": "relu"}))


def change_the_tokenizer(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder, do_lower_case=False)
    tokenizer.save_pretrained(folder)


def change_an_added_token(folder):
    (folder / "added_tokens.json").write_text('{"the": 7}')


@pytest.mark.parametrize(
    "change",
    [change_a_weight, change_the_configuration, change_the_tokenizer, change_an_added_token],
)
def test_whatever_can_change_a_score_changes_the_identity(change, tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    before = opened(folder).identity
    change(folder)
    assert opened(folder).identity != before


def test_notes_in_the_folder_do_not_change_the_identity(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    before = opened(folder).identity
    (folder / "README.md").write_text("A tiny BERT.")
    (folder / "training_args.bin").write_bytes(b"anything")
    assert opened(folder).identity == before


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_model_from_the_hub_is_known_by_its_name_and_commit(tiny_bert):
    # The cache of the Hub's client, as a download leaves it.
    cached = Path(huggingface_hub.constants.HF_HUB_CACHE) / "models--some-one--tiny"
    try:
        shutil.copytree(tiny_bert, cached / "snapshots" / COMMIT)
        for reference in ("main", "v1"):
            (cached / "refs").mkdir(exist_ok=True)
            (cached / "refs" / reference).write_text(COMMIT)
        for revision in (None, "main", "v1", COMMIT):
            assert opened("some-one/tiny", revision).identity == f"some-one/tiny@{COMMIT}"
        with pytest.raises(OSError, match="cannot load the model 'some-one/tiny'.*'v2'"):
            opened("some-one/tiny", "v2")
    finally:
        shutil.rmtree(cached)


def test_models_loaded_in_several_threads_at_once_are_whole(tiny_bert):
    pairs = ["a cat sat on a mat"], [["the cat slept on the mat"]]
    half = {"model_name_or_path": str(tiny_bert), "dtype": "float16"}
    whole = {"model_name_or_path": str(tiny_bert)}
    expected = [InfoLMScorer(**each).score(*pairs)["infolm"] for each in (half, whole)]
    start = threading.Barrier(4)

    def score(settings):
        scorer = InfoLMScorer(**settings)
        start.wait()
        return scorer.score(*pairs)["infolm"]

    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(score, [half, whole] * 2)) == expected * 2
        assert torch.get_default_dtype() == torch.float32
