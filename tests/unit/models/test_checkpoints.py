"""Model loading: length limits, damaged folders, pickles, custom code, identity, tensor cache."""

import hashlib
import io
import json
import os
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

from infolm_metric import BaryScorer, InfoLMScorer, InputError, MENLIScorer
from infolm_metric.models import checkpoints
from infolm_metric.models.checkpoints import ENTRY_BYTES, Architecture, ModelHolder, TensorCache
from tests.model_families import FAMILIES, FolderMaker, edit_copy, pickled
from tests.nearly_equal import assert_nearly_equal

ANY = Architecture(AutoModelForMaskedLM, lambda config: True, "unfit", "choose another", "head")


def open_model(name, revision=None):
    return checkpoints.open_checkpoint(str(name), revision, ANY)


def load(checkpoint):
    return checkpoints.load_weights(checkpoint, "float32", "cpu")


def copy_without_limit(source, target):
    """Copy a model and remove the length limit of its tokenizer."""
    return edit_copy(source, target / "m", "tokenizer_config.json", model_max_length=10**30)


def assert_encodes(checkpoint, length):
    """Fail unless the model can encode this many tokens."""
    model = load(checkpoint)
    assert not model.training
    longest = torch.full((1, length), checkpoint.template.mask)
    assert model(longest).logits.isfinite().all()


# Limits


@pytest.mark.parametrize("family", FAMILIES)
def test_the_limit_is_the_number_of_positions_without_padding(family, tiny_models, tmp_path):
    checkpoint = open_model(copy_without_limit(tiny_models(family), tmp_path))
    spare = {"deberta-v2": 9, "modernbert": 13}.get(family, 0)
    assert checkpoint.size == len(checkpoint.tokenizer) + spare
    assert checkpoint.template.overhead == 2
    # RoBERTa-like models are built with 42 position embeddings, 2 of them for padding.
    assert checkpoint.limit == 40
    assert checkpoint.states == checkpoint.config.num_hidden_layers + 1
    assert_encodes(checkpoint, 40)


def test_spare_position_embeddings_do_not_raise_the_limit(tiny_bert, tmp_path):
    folder = copy_without_limit(tiny_bert, tmp_path)
    # Nystromformer has two spare position embeddings, but no padding index that reveals them.
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    sizes |= {"vocab_size": 305, "intermediate_size": 16, "max_position_embeddings": 32}
    config = transformers.NystromformerConfig(segment_means_seq_len=32, num_landmarks=8, **sizes)
    with torch.random.fork_rng(devices=[]):
        transformers.NystromformerForMaskedLM(config).save_pretrained(folder)
    assert open_model(folder).limit == 32
    assert_encodes(open_model(folder), 32)


LIMITS = [None, 3, 23, 40]


def test_max_length_must_be_within_the_limits_of_the_model(tiny_models, tmp_path):
    edit_copy(tiny_models("roberta"), tmp_path / "m", "tokenizer_config.json", model_max_length=23)
    checkpoint = open_model(tmp_path / "m")  # the limit of the tokenizer is below the model's
    scorer = InfoLMScorer(model_name_or_path=tmp_path / "m")
    limits = [scorer.prepare(scorer.settings.replace(max_length=x)).limit for x in LIMITS]
    assert limits == [23, 3, 23, 40]
    for length, word in ((2, "at least 3"), (41, "at most 40")):
        with pytest.raises(InputError, match=f"max_length must be .*{word}.*got {length}"):
            scorer.signature(max_length=length)
    unlimited = replace(checkpoint, limit=None, positions=None)
    scorer.models = ModelHolder(lambda settings: unlimited, scorer.load)
    assert scorer.prepare().limit is None
    assert scorer.prepare(scorer.settings.replace(max_length=10**6)).limit == 10**6


# Missing and damaged files


def remove(pattern):
    return lambda folder: [file.unlink() for file in folder.glob(pattern)]


def truncate(file, size):
    return lambda folder: os.truncate(folder / file, size)


def damaged_pickle(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def write(file, text):
    return lambda folder: (folder / file).write_text(text)


def larger_tokenizer(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["never", "embedded"])
    tokenizer.save_pretrained(folder)


def change_json(file, **changes):
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def edit(file, **changes):
    return lambda folder: change_json(folder / file, **changes)


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
NEWER = {"pre_tokenizer": {"type": "NotKnownHere"}}
DAMAGES = {  # change to the folder, error, pattern of its message
    "no weights": (remove("*.safetensors"), OSError, "model.safetensors, or pytorch_model.bin"),
    "a damaged pickle": (damaged_pickle, OSError, "pytorch_model.bin is damaged"),
    "damaged weights": (truncate("model.safetensors", 1000), OSError, "deserializing"),
    "a pointer of Git LFS": (write("model.safetensors", POINTER), InputError, "git lfs pull"),
    "no tokenizer": (remove("tokenizer*"), (OSError, InputError), "tokenizer"),
    "a larger tokenizer": (larger_tokenizer, InputError, "307 tokens, but the model has 305"),
    "a newer tokenizer": (edit("tokenizer.json", **NEWER), OSError, "PreTokenizer"),
    "a truncated configuration": (truncate("config.json", 1), OSError, "config"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_incomplete_and_damaged_folders_are_rejected_with_their_path(damage, tiny_bert, tmp_path):
    change, error, word = DAMAGES[damage]
    folder = shutil.copytree(tiny_bert, tmp_path / "m")
    change(folder)
    with pytest.raises(error, match=word) as refusal:
        load(open_model(folder))
    assert repr(str(folder)) in str(refusal.value)


def test_errors_for_unavailable_models_suggest_the_bundled_model():
    with pytest.raises(OSError, match=r"'some-one/some-model'.*'v1'.*model_name_or_path='bundled'"):
        open_model("some-one/some-model", "v1")
    with pytest.raises(InputError, match="for models on the Hub, got 'main' with 'bundled'"):
        open_model("bundled", "main")
    for name in (__file__ + "/none", __file__, "./none", "models/of/mine", "~/none", "x" * 300):
        with pytest.raises(OSError, match=f"{name!r}.*Check the name or path.*'bundled'"):
            open_model(name)


# Weights that are not safetensors


@pytest.mark.parametrize("form", [{}, {"shards": 3}, {"zipped": False}], ids=str)
def test_weights_in_pytorch_model_bin_equal_weights_in_safetensors(form, tiny_bert, tmp_path):
    folder = pickled(tiny_bert, tmp_path / "m", **form)
    expected, weights = (load(open_model(name)).state_dict() for name in (tiny_bert, folder))
    assert weights.keys() == expected.keys()
    for key, tensor in weights.items():
        assert torch.equal(tensor, expected[key])


def test_safetensors_are_preferred_to_pytorch_model_bin(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "m")
    before = open_model(folder).identity
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    (folder / "adapter_model.bin").write_bytes(b"not read")
    assert open_model(folder).identity == before
    change_json(folder / "config.json", transformers_weights="adapter_model.bin")
    load(open_model(folder))


@pytest.mark.parametrize("shards", [1, 2])
def test_the_identity_covers_pytorch_model_bin(shards, tiny_bert, tmp_path):
    folder = pickled(tiny_bert, tmp_path / "m", shards)
    (folder / "training_args.bin").write_bytes(b"anything")
    before = open_model(folder).identity
    for file in folder.glob("pytorch_model*.bin"):
        content = file.read_bytes()
        file.write_bytes(content + b"\0")
        assert open_model(folder).identity != before
        file.write_bytes(content)
    assert open_model(folder).identity == before


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_pickle_that_would_run_code_is_rejected_without_running_it(
    shards, zipped, tiny_bert, tmp_path
):
    folder, made = pickled(tiny_bert, tmp_path / "m", shards), tmp_path / "made"
    file = max(folder.glob("pytorch_model*.bin"))
    torch.save({"bert.pooler": FolderMaker(made)}, file, _use_new_zipfile_serialization=zipped)
    with pytest.raises(OSError, match="pytorch_model.bin .* could run code") as refusal:
        load(open_model(folder))
    assert "weights_only" not in str(refusal.value)
    assert not made.exists()
    torch.load(file, weights_only=False)
    assert made.is_dir()  # the file does run code if it is trusted


# Code of models


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.filterwarnings("ignore:infolm:UserWarning")
def test_attention_kernels_from_the_hub_are_not_used(key, tiny_bert, tiny_nli, tmp_path):
    changes, layers = {key: "some-one/kernels"}, {"layers": "all"}
    scorers = (InfoLMScorer, tiny_bert, {}), (BaryScorer, tiny_bert, layers)
    for scorer, model, options in (*scorers, (MENLIScorer, tiny_nli(), {})):
        fetching = edit_copy(model, tmp_path / scorer.__name__, "config.json", **changes)
        plain, changed = (scorer(model_name_or_path=name, **options) for name in (model, fetching))
        pair = ["the cat sat"], ["a cat slept on a mat"]
        assert_nearly_equal(changed.score(*pair)["scores"], plain.score(*pair)["scores"])


def test_custom_model_code_is_not_run_and_triggers_no_prompt(tmp_path, monkeypatch, capsys):
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
        open_model(tmp_path)
    assert not (tmp_path / "ran").exists()
    assert "[y/N]" not in capsys.readouterr().out


# Identity


def test_a_local_model_is_identified_by_its_contents_and_not_its_location(
    tiny_bert, tmp_path, monkeypatch
):
    folder, moved = shutil.copytree(tiny_bert, tmp_path / "a" / "model"), tmp_path / "b" / "model"
    identity = open_model(folder).identity
    name, _, digest = identity.partition("@sha256:")
    assert name == "model" and len(bytes.fromhex(digest)) == 6
    shutil.move(folder, moved)
    (moved / "README.md").write_text("A tiny BERT.")  # not part of the model
    (moved / "training_args.bin").write_bytes(b"anything")
    (moved / "tokenizer_old").mkdir()
    monkeypatch.setenv("HOME", str(moved.parent))
    monkeypatch.chdir(moved.parent)
    for path in (moved, f"{moved}/", "model", "./model", "~/model"):
        assert open_model(path).identity == identity
    monkeypatch.chdir(moved)
    assert open_model(".").identity == identity


def change_weight(folder):
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][0] += 1e-3
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def make_tokenizer_cased(folder):
    AutoTokenizer.from_pretrained(folder, do_lower_case=False).save_pretrained(folder)


CHANGES = [change_weight, edit("config.json", hidden_act="relu"), make_tokenizer_cased]
CHANGES += [write("added_tokens.json", '{"the": 7}')]


@pytest.mark.parametrize("change", CHANGES)
def test_changes_that_can_affect_scores_change_the_identity(change, tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "m")
    before = open_model(folder).identity
    change(folder)
    assert open_model(folder).identity != before


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def download():
    """Function that copies a model into the Hub's cache, with the layout of a download."""
    cached = Path(huggingface_hub.constants.HF_HUB_CACHE) / "models--some-one--tiny"

    def copy(folder):
        shutil.copytree(folder, cached / "snapshots" / COMMIT)
        (cached / "refs").mkdir()
        for reference in ("main", "v1"):
            (cached / "refs" / reference).write_text(COMMIT)

    yield copy
    shutil.rmtree(cached)


def test_a_hub_model_is_identified_by_its_name_and_commit(tiny_bert, download):
    download(tiny_bert)
    for revision in (None, "main", "v1", COMMIT):
        assert open_model("some-one/tiny", revision).identity == f"some-one/tiny@{COMMIT}"
    with pytest.raises(OSError, match="'some-one/tiny'.*'v2'"):
        open_model("some-one/tiny", "v2")


def test_weights_with_baselines_are_recognized_in_folders_and_in_the_hub_cache(
    tiny_models, tmp_path, monkeypatch, download
):
    folder = tiny_models("mpnet")
    known = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert open_model(folder).baseline_identity == open_model(folder).identity
    monkeypatch.setattr(checkpoints, "ALL_MPNET", known)
    copy = edit_copy(folder, tmp_path / "copy", "config.json")
    download(folder)
    for name in (copy, "some-one/tiny"):
        assert open_model(name).baseline_identity == f"weights@sha256:{known[:12]}"


# Loading


def test_models_can_be_loaded_concurrently_in_several_threads(tiny_bert):
    pairs = ["a cat sat on a mat"], [["the cat slept on the mat"]]
    half = {"model_name_or_path": tiny_bert, "dtype": "float16", "idf": False}
    whole = {"model_name_or_path": tiny_bert, "idf": False}
    expected = [InfoLMScorer(**options).score(*pairs)["infolm"] for options in (half, whole)]
    start = threading.Barrier(4)

    def score(settings):
        scorer = InfoLMScorer(**settings)
        start.wait()
        return scorer.score(*pairs)["infolm"]

    for _ in range(3):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(score, [half, whole] * 2)) == pytest.approx(expected * 2, abs=1e-6)
        assert torch.get_default_dtype() == torch.float32


# The cache


def size(tensors):
    return sum(tensor.nbytes + ENTRY_BYTES for tensor in tensors.values())


def constant_tensor(value, entries):
    return torch.full((entries,), float(value), dtype=torch.float64)  # 8 bytes each


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 6), st.integers(1, 20)),
            st.tuples(st.just("get"), st.integers(0, 6)),
            st.tuples(st.just("shrink"), st.integers(0, 8000)),
        ),
        max_size=30,
    )
)
def test_the_cache_keeps_the_most_recently_used_tensors_within_its_limit(steps):
    cache, expected, limit = TensorCache(), {}, 0  # least recently used first
    for step, key, *entries in [("shrink", 6000), *steps]:
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
            tensor = constant_tensor(key, entries[0])
            assert torch.equal(cache.put(key, tensor), tensor)
            if size({key: tensor}) <= limit:  # larger tensors are not stored and evict nothing
                expected[key] = tensor
        while size(expected) > limit:
            expected.pop(next(iter(expected)))
        assert cache.size == size(expected)
        assert list(cache.tensors) == list(expected)


def test_a_cached_row_does_not_keep_its_tensor_alive():
    cache, rows = TensorCache(), torch.rand(100, 8, dtype=torch.float64)
    cache.shrink(ENTRY_BYTES + 100)
    assert torch.equal(cache.put("a", rows[3]), rows[3])
    assert cache.get("a").untyped_storage().nbytes() == 64 < cache.size
    assert cache.put("large", rows) is rows and list(cache.tensors) == ["a"]
