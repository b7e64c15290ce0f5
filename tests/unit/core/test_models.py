"""A model in a folder, on the Hub or in the package: its limits, what it is known by, its cache."""

import io
import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM, AutoTokenizer

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer
from infolm_metric.core import models
from infolm_metric.core.models import Architecture, TensorCache, load_weights, open_checkpoint
from tests.model_families import FAMILIES, FolderMaker, edited, pickled
from tests.nearly_equal import assert_nearly_equal

ANY = Architecture(AutoModelForMaskedLM, lambda config: True, "unfit", "choose another", "head")


def opened(name, revision=None):
    return open_checkpoint(str(name), revision, ANY)


def without_limit(source, target):
    """A copy of a model whose tokenizer sets no limit."""
    return edited(source, target / "m", "tokenizer_config.json", model_max_length=10**30)


def assert_reads(checkpoint, length):
    """Fail unless the model can read so many tokens."""
    model = load_weights(checkpoint, "float32", "cpu")
    assert not model.training
    longest = torch.full((1, length), checkpoint.template.mask)
    assert model(longest).logits.isfinite().all()


# Limits


@pytest.mark.parametrize("family", FAMILIES)
def test_the_positions_are_the_limit_less_the_padding_offset(family, tiny_models, tmp_path):
    checkpoint = opened(without_limit(tiny_models(family), tmp_path))
    spare = {"deberta-v2": 9, "modernbert": 13}.get(family, 0)
    assert checkpoint.size == len(checkpoint.tokenizer) + spare
    assert checkpoint.template.overhead == 2
    # RoBERTa-like models were built with 42 rows of positions, of which 2 are for padding.
    assert checkpoint.limit == 40
    assert checkpoint.states == checkpoint.config.num_hidden_layers + 1
    assert_reads(checkpoint, 40)


def test_spare_rows_of_positions_do_not_raise_the_limit(tiny_bert, tmp_path):
    folder = without_limit(tiny_bert, tmp_path)
    # This family has two rows more than positions, and no padding index that would tell.
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    sizes |= {"vocab_size": 305, "intermediate_size": 16, "max_position_embeddings": 32}
    config = transformers.NystromformerConfig(segment_means_seq_len=32, num_landmarks=8, **sizes)
    with torch.random.fork_rng(devices=[]):
        transformers.NystromformerForMaskedLM(config).save_pretrained(folder)
    assert opened(folder).limit == 32
    assert_reads(opened(folder), 32)


def test_max_length_is_the_limit_unless_it_is_out_of_range(tiny_models, tmp_path):
    edited(tiny_models("roberta"), tmp_path / "m", "tokenizer_config.json", model_max_length=23)
    checkpoint = opened(tmp_path / "m")  # the tokenizer allows less than the model reads
    assert [checkpoint.text_limit(length) for length in (None, 3, 23, 40)] == [23, 3, 23, 40]
    for length, word in ((2, "at least 3"), (41, "at most 40")):
        with pytest.raises(ValueError, match=f"max_length must be {word}, .*got {length}"):
            checkpoint.text_limit(length)
    unlimited = replace(checkpoint, limit=None, positions=None)
    assert unlimited.text_limit(None) is None and unlimited.text_limit(10**6) == 10**6


# What is not there, or not whole


def no_weights(folder):
    (folder / "model.safetensors").unlink()


def damaged_pickle(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def damaged_weights(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])


def no_tokenizer(folder):
    for file in folder.glob("tokenizer*"):
        file.unlink()


def larger_tokenizer(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["never", "embedded"])
    tokenizer.save_pretrained(folder)


def newer_tokenizer(folder):
    change_json(folder / "tokenizer.json", pre_tokenizer={"type": "NotKnownHere"})


def change_json(file, **changes):
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def config_of(**changes):
    return lambda folder: change_json(folder / "config.json", **changes)


def length_of(value):
    return lambda folder: change_json(folder / "tokenizer_config.json", model_max_length=value)


def half_a_configuration(folder):
    (folder / "config.json").write_text("{")


DAMAGES = {  # what is done to the folder, and a word of the message
    "no weights": (no_weights, OSError, "model.safetensors, or pytorch_model.bin"),
    "a damaged pickle": (damaged_pickle, OSError, "pytorch_model.bin is damaged"),
    "damaged weights": (damaged_weights, OSError, "deserializing"),
    "no tokenizer": (no_tokenizer, (OSError, ValueError), "tokenizer"),
    "a larger tokenizer": (larger_tokenizer, ValueError, "307 tokens, but the model has 305"),
    "a newer tokenizer": (newer_tokenizer, OSError, "PreTokenizer"),
    "half a configuration": (half_a_configuration, OSError, "config"),
    "no such activation": (config_of(hidden_act="zzz"), OSError, "KeyError: 'zzz'"),
    "a length in words": (length_of("512"), ValueError, "'512'"),
    "a length below 0": (length_of(-1), ValueError, "-1"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_folder_that_is_not_whole_is_an_error_that_names_it(damage, tiny_bert, tmp_path):
    change, error, word = DAMAGES[damage]
    folder = shutil.copytree(tiny_bert, tmp_path / "m")
    change(folder)
    with pytest.raises(error, match=word) as refusal:
        load_weights(opened(folder), "float32", "cpu")
    assert repr(str(folder)) in str(refusal.value)


def test_a_hub_name_without_a_network_leads_to_the_bundled_model():
    with pytest.raises(OSError, match=r"'some-one/some-model'.*'v1'.*model_name_or_path='bundled'"):
        opened("some-one/some-model", "v1")
    with pytest.raises(ValueError, match="'bundled'.*no revisions.*'main'"):
        opened("bundled", "main")
    for name in (__file__ + "/none", "./none", "models/of/mine", "~/none"):
        with pytest.raises(OSError, match=f"{name!r}.*no such folder.*'bundled'"):
            opened(name)


def test_what_is_here_is_used_where_the_hub_does_not_answer(monkeypatch):
    urls, tried = [], []

    def fail(url, timeout):
        urls.append(url)
        raise ConnectionError("no route")

    def load(source, **options):
        tried.append(options)
        raise OSError("none here")

    monkeypatch.setattr(models, "is_offline_mode", lambda: False)
    monkeypatch.setattr(models, "get_hf_file_metadata", fail)
    monkeypatch.setattr(models.AutoConfig, "from_pretrained", load)
    with pytest.raises(OSError, match=r"none here \(the Hub: no route\)\. .*HF_HUB_OFFLINE=1"):
        opened("some-one/some-model")
    assert len(urls) == 1 and urls[0].endswith("/some-one/some-model/resolve/main/config.json")
    assert [options["local_files_only"] for options in tried] == [True]
    monkeypatch.setattr(models, "get_hf_file_metadata", lambda url, timeout: None)
    with pytest.raises(OSError, match="none here. Check"):
        opened("some-one/some-model")
    assert "local_files_only" not in tried[-1]


# Weights that are not safetensors


@pytest.mark.parametrize("form", [{}, {"shards": 3}, {"zipped": False}], ids=str)
def test_the_weights_of_pytorch_model_bin_are_those_of_safetensors(form, tiny_bert, tmp_path):
    folder = pickled(tiny_bert, tmp_path / "m", **form)
    expected, weights = (
        load_weights(opened(name), "float32", "cpu").state_dict() for name in (tiny_bert, folder)
    )
    assert weights.keys() == expected.keys()
    for key, tensor in weights.items():
        assert torch.equal(tensor, expected[key])


@pytest.mark.filterwarnings("ignore:infolm:UserWarning")
def test_scores_of_pytorch_model_bin_are_those_of_safetensors(tiny_bert, tiny_nli, tmp_path):
    scorers = [(InfoLMScorer, tiny_bert), (BaryScorer, tiny_bert), (MENLIScorer, tiny_nli())]
    for scorer, model in scorers:
        folder = pickled(model, tmp_path / scorer.__name__)
        options = {"layers": "all"} if scorer is BaryScorer else {}
        scores = [
            scorer(model_name_or_path=name, **options).score(["the cat sat"], ["a cat slept"])
            for name in (model, folder)
        ]
        assert_nearly_equal(scores[1]["scores"], scores[0]["scores"])


def test_safetensors_are_preferred_to_pytorch_model_bin(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "m")
    before = opened(folder).identity
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    (folder / "adapter_model.bin").write_bytes(b"not read")
    assert opened(folder).identity == before
    change_json(folder / "config.json", transformers_weights="adapter_model.bin")
    load_weights(opened(folder), "float32", "cpu")


@pytest.mark.parametrize("shards", [1, 2])
def test_the_identity_covers_pytorch_model_bin(shards, tiny_bert, tmp_path):
    folder = pickled(tiny_bert, tmp_path / "m", shards)
    (folder / "training_args.bin").write_bytes(b"anything")
    before = opened(folder).identity
    for file in folder.glob("pytorch_model*.bin"):
        content = file.read_bytes()
        file.write_bytes(content + b"\0")
        assert opened(folder).identity != before
        file.write_bytes(content)
    assert opened(folder).identity == before


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_pickle_that_would_run_code_is_rejected_and_runs_nothing(
    shards, zipped, tiny_bert, tmp_path
):
    folder, made = pickled(tiny_bert, tmp_path / "m", shards), tmp_path / "made"
    file = max(folder.glob("pytorch_model*.bin"))
    torch.save({"bert.pooler": FolderMaker(made)}, file, _use_new_zipfile_serialization=zipped)
    with pytest.raises(OSError, match="pytorch_model.bin .* could run code") as refusal:
        load_weights(opened(folder), "float32", "cpu")
    assert "weights_only" not in str(refusal.value)
    assert not made.exists()
    torch.load(file, weights_only=False)
    assert made.is_dir()  # as the file does when it is trusted


@pytest.mark.parametrize("index", [None, "pytorch_model.bin", "model.safetensors"])
def test_torch_that_cannot_load_pickles_safely_loads_none(index, tiny_bert, tmp_path, monkeypatch):
    folder = pickled(tiny_bert, tmp_path / "m", 2 if index else 1)
    if index:
        (folder / "pytorch_model.bin.index.json").rename(folder / f"{index}.index.json")
    monkeypatch.setattr(torch, "__version__", "2.9.1+cpu")
    with pytest.raises(OSError, match="pytorch_model.*bin .*torch >= 2.10.*2.9.1"):
        load_weights(opened(folder), "float32", "cpu")
    load_weights(opened(tiny_bert), "float32", "cpu")


# Code that a model would bring


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.filterwarnings("ignore:infolm:UserWarning")
def test_attention_that_a_configuration_would_fetch_from_the_hub_is_not_used(
    key, tiny_bert, tiny_nli, tmp_path
):
    scorers = [(InfoLMScorer, tiny_bert), (BaryScorer, tiny_bert), (MENLIScorer, tiny_nli())]
    for scorer, model in scorers:
        changes = {key: "some-one/kernels"}
        fetching = edited(model, tmp_path / scorer.__name__, "config.json", **changes)
        options = {"layers": "all"} if scorer is BaryScorer else {}
        plain, changed = (scorer(model_name_or_path=name, **options) for name in (model, fetching))
        pair = ["the cat sat"], ["a cat slept on a mat"]
        assert_nearly_equal(changed.score(*pair)["scores"], plain.score(*pair)["scores"])


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


# Identity


def test_a_model_is_known_by_its_contents_wherever_its_folder_lies(
    tiny_bert, tmp_path, monkeypatch
):
    folder, moved = shutil.copytree(tiny_bert, tmp_path / "a" / "model"), tmp_path / "b" / "model"
    identity = opened(folder).identity
    name, _, digest = identity.partition("@sha256:")
    assert name == "model" and len(bytes.fromhex(digest)) == 6
    shutil.move(folder, moved)
    (moved / "README.md").write_text("A tiny BERT.")  # notes are not the model
    (moved / "training_args.bin").write_bytes(b"anything")
    (moved / "tokenizer_old").mkdir()
    monkeypatch.setenv("HOME", str(moved.parent))
    monkeypatch.chdir(moved.parent)
    for path in (moved, f"{moved}/", "model", "./model", "~/model"):
        assert opened(path).identity == identity
    monkeypatch.chdir(moved)
    assert opened(".").identity == identity


def other_weight(folder):
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][0] += 1e-3
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def cased_tokenizer(folder):
    AutoTokenizer.from_pretrained(folder, do_lower_case=False).save_pretrained(folder)


def added_token(folder):
    (folder / "added_tokens.json").write_text('{"the": 7}')


CHANGES = [other_weight, config_of(hidden_act="relu"), cased_tokenizer, added_token]


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_can_change_a_score_changes_the_identity(change, tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "m")
    before = opened(folder).identity
    change(folder)
    assert opened(folder).identity != before


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_model_from_the_hub_is_known_by_its_name_and_commit(tiny_bert):
    # The cache of the Hub's client, as a download leaves it.
    cached = Path(huggingface_hub.constants.HF_HUB_CACHE) / "models--some-one--tiny"
    try:
        shutil.copytree(tiny_bert, cached / "snapshots" / COMMIT)
        (cached / "refs").mkdir()
        for reference in ("main", "v1"):
            (cached / "refs" / reference).write_text(COMMIT)
        for revision in (None, "main", "v1", COMMIT):
            assert opened("some-one/tiny", revision).identity == f"some-one/tiny@{COMMIT}"
        with pytest.raises(OSError, match="'some-one/tiny'.*'v2'"):
            opened("some-one/tiny", "v2")
    finally:
        shutil.rmtree(cached)


# Loading


def test_models_loaded_in_several_threads_at_once_are_whole(tiny_bert):
    pairs = ["a cat sat on a mat"], [["the cat slept on the mat"]]
    half = {"model_name_or_path": tiny_bert, "dtype": "float16", "idf": False}
    whole = {"model_name_or_path": tiny_bert, "idf": False}
    expected = [InfoLMScorer(**options).score(*pairs)["infolm"] for options in (half, whole)]
    start = threading.Barrier(4)

    def score(settings):
        scorer = InfoLMScorer(**settings)
        start.wait()
        return scorer.score(*pairs)["infolm"]

    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(score, [half, whole] * 2)) == pytest.approx(expected * 2, abs=1e-6)
        assert torch.get_default_dtype() == torch.float32


def test_loading_moves_none_of_the_callers_random_numbers(tiny_models):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    with pytest.raises(ValueError, match="lacks"):  # a head with random weights was made
        load_weights(opened(tiny_models("bert-without-head")), "float32", "cpu")
    assert torch.equal(torch.rand(3), expected)


# The cache


def filled(value, entries):
    return torch.full((entries,), float(value), dtype=torch.float64)  # 8 bytes each


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 6), st.integers(1, 20)),
            st.tuples(st.just("get"), st.integers(0, 6)),
            st.tuples(st.just("shrink"), st.integers(0, 400)),
        ),
        max_size=30,
    )
)
def test_the_cache_holds_what_was_used_last_within_its_bytes(steps):
    cache, expected, limit = TensorCache(), {}, 0  # the longest unused first
    for step, key, *entries in [("shrink", 300), *steps]:
        if step == "shrink":
            limit = key
            cache.shrink(limit)
        elif key in expected:
            expected[key] = expected.pop(key)
            assert torch.equal(cache.get(key), expected[key])
            if step == "put":
                cache.put(key, expected[key])
        elif step == "get":
            assert cache.get(key) is None
        else:
            cache.put(key, filled(key, entries[0]))
            if 8 * entries[0] <= limit:  # what is larger costs nothing else its place
                expected[key] = filled(key, entries[0])
        while sum(tensor.nbytes for tensor in expected.values()) > limit:
            expected.pop(next(iter(expected)))
        assert cache.size == sum(tensor.nbytes for tensor in expected.values())
        assert len(cache) == len(expected)


def test_a_row_of_a_larger_tensor_does_not_keep_the_rest_alive():
    cache, rows = TensorCache(), torch.rand(100, 8, dtype=torch.float64)
    cache.shrink(1000)
    cache.put("a", rows[3])
    assert torch.equal(cache.get("a"), rows[3])
    assert cache.get("a").untyped_storage().nbytes() == cache.size == 64
