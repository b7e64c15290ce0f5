"""The settings every metric with a model has: checked, resolved once, and declared once."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest
import torch

from infolm_metric.kernel import checks
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.model_settings import ModelSettings, idf_choice, multi_reference_choice
from infolm_metric.kernel.settings import choice

TABLE = IDF(3, np.array([0, 2, 3]), "5f2e")


@dataclass(frozen=True)
class Mine(ModelSettings):
    """A metric's settings: one of its own beside those that the kernel has."""

    metric = "mine"
    default_model = "some-one/some-model"

    size: int = choice(2, checks.whole_number, "how large", signed=True, label="large")
    idf: bool | str | IDF = idf_choice()
    multi_reference: str = multi_reference_choice()


# Settings that are refused, with the pieces that the message must have: the argument, the value,
# and what to do.
REFUSED = [
    ({"sise": 3}, ["unknown setting 'sise'", "did you mean 'size'?"]),
    ({"multi_reference": "max"}, ["multi_reference 'max'", "'min'", "'mean'"]),
    ({"multi_reference": None}, ["multi_reference None", "known: 'min', 'mean'"]),
    ({"long_text": "truncated"}, ["long_text 'truncated'", "did you mean 'truncate'?"]),
    ({"long_text": ["window"]}, ["long_text ['window']", "'window'"]),
    ({"dtype": "float46"}, ["dtype 'float46'", "did you mean 'float16'?"]),
    ({"dtype": torch.float64}, ["dtype 'float64'", "did you mean 'float16'?"]),
    ({"dtype": None}, ["dtype None", "known: 'float32', 'bfloat16', 'float16'"]),
    ({"idf": "reference"}, ["idf", "'reference'", "did you mean 'references'?", "`infolm idf`"]),
    ({"idf": "missing/table.json"}, ["idf", "there is no file 'missing/table.json'", "infolm idf"]),
    ({"idf": Path("missing.json")}, ["idf", "there is no file 'missing.json'"]),
    ({"idf": ""}, ["idf", "there is no file ''"]),
    ({"idf": None}, ["idf must be True, False, 'references', 'separate'", "got None"]),
    ({"idf": 1}, ["idf must be True, False, 'references', 'separate'", "got 1"]),
    ({"idf": {"the": 0.1}}, ["idf must be True, False", "an IDF or a path", "{'the': 0.1}"]),
    ({"model_name_or_path": ""}, ["model_name_or_path must be a name or a path, got ''"]),
    ({"model_name_or_path": 3}, ["model_name_or_path must be a name or a path, got 3"]),
    ({"model_revision": 5.0}, ["model_revision must be a name", "got 5.0"]),
    ({"max_length": 0}, ["max_length must be at least 1, got 0"]),
    ({"max_length": 12.5}, ["max_length must be a whole number, got 12.5"]),
    ({"max_length": "512"}, ["max_length must be a whole number, got '512'"]),
    ({"batch_size": 0}, ["batch_size must be at least 1, got 0"]),
    ({"batch_size": -4}, ["batch_size must be at least 1, got -4"]),
    ({"batch_size": "large"}, ["batch_size must be 'auto' or a whole number, got 'large'"]),
    ({"batch_size": None}, ["batch_size must be a whole number, got None"]),
    ({"batch_size": True}, ["batch_size must be a whole number, got True"]),
    ({"tokenize_processes": 0}, ["tokenize_processes must be at least 1, got 0"]),
    ({"tokenize_processes": 1.5}, ["tokenize_processes must be a whole number, got 1.5"]),
    ({"device": "gpu"}, ["device must be a torch device", "'cuda:0'", "got 'gpu'"]),
    ({"device": ["cpu"]}, ["device must be a torch device", "got ['cpu']"]),
    ({"device": 10**30}, ["device must be a torch device", "got 1000000"]),
    ({"return_scores": 1}, ["return_scores must be True or False, got 1"]),
    ({"verbose": None}, ["verbose must be True or False, got None"]),
    ({"reuse_memory": -1}, ["reuse_memory must be at least 0, got -1"]),
    ({"reuse_memory": "1GB"}, ["reuse_memory must be a whole number, got '1GB'"]),
]


@pytest.mark.parametrize(
    ("given", "pieces"),
    REFUSED,
    ids=["-".join(f"{k}={str(v)[:20]}" for k, v in g.items()) for g, _ in REFUSED],
)
@pytest.mark.parametrize("way", ["of", "replace"])
def test_a_wrong_choice_is_refused_with_its_name_its_value_and_a_remedy(way, given, pieces):
    change = Mine.of if way == "of" else Mine().replace
    with pytest.raises((TypeError, ValueError)) as refusal:
        change(**given)
    message = str(refusal.value)
    assert [piece for piece in pieces if piece not in message] == [], message


def test_a_folder_is_not_an_idf_table(tmp_path):
    with pytest.raises(ValueError, match="idf must be .* there is no file"):
        Mine.of(idf=tmp_path)


@pytest.mark.parametrize("number", [np.int64(7), np.uint8(7), np.array(7), torch.tensor(7)])
@pytest.mark.parametrize("name", ["max_length", "batch_size", "tokenize_processes", "reuse_memory"])
def test_whole_numbers_of_every_library_become_plain_ints(name, number):
    value = getattr(Mine.of(**{name: number}), name)
    assert type(value) is int and value == 7


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (True, "references"),
        ("references", "references"),
        ("separate", "separate"),
        (False, False),
        (TABLE, TABLE),
    ],
)
def test_idf_takes_every_form(given, kept):
    value = Mine.of(idf=given).idf
    assert value == kept and type(value) is type(kept)


@pytest.mark.parametrize("kind", [str, Path])
def test_idf_takes_the_path_of_a_saved_table(kind, tmp_path):
    TABLE.save(tmp_path / "table.json")
    assert Mine.of(idf=kind(tmp_path / "table.json")).idf == TABLE


def test_a_damaged_idf_table_is_refused_when_it_is_chosen(tmp_path):
    (tmp_path / "table.json").write_text("{}")
    with pytest.raises(ValueError, match="is not an idf table"):
        Mine.of(idf=tmp_path / "table.json")


@pytest.mark.parametrize(
    ("device", "name"), [("cpu", "cpu"), (torch.device("cpu", 0), "cpu:0"), (None, None)]
)
def test_devices_come_by_name_or_as_torch_has_them(device, name):
    assert Mine.of(device=device).device == name


@pytest.mark.parametrize("device", ["cuda:99", "meta", "xla", "vulkan:3"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(ValueError, match=f"one that this machine has, got '{device}'; use 'cpu'"):
        Mine.of(device=device)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_dtypes_come_by_name_or_as_torch_has_them(name):
    assert Mine.of(dtype=name).dtype == Mine.of(dtype=getattr(torch, name)).dtype == name


# The model


def test_the_environment_names_the_model_unless_the_settings_do(monkeypatch):
    assert Mine().model_name_or_path == "some-one/some-model"
    monkeypatch.setenv("INFOLM_MODEL", "bundled")
    assert Mine().model_name_or_path == "bundled"
    assert Mine.of(model_name_or_path="some/model").model_name_or_path == "some/model"
    monkeypatch.setenv("INFOLM_MODEL", "")
    assert Mine().model_name_or_path == "some-one/some-model"


def test_a_value_means_one_model_whatever_becomes_of_the_environment(monkeypatch):
    monkeypatch.setenv("INFOLM_MODEL", "bundled")
    made = Mine()
    for later in ("other/model", ""):
        monkeypatch.setenv("INFOLM_MODEL", later)
        assert made.model_name_or_path == made.replace(size=3).model_name_or_path == "bundled"
    assert made != Mine()


@pytest.mark.parametrize("way", ["given", "environment"])
@pytest.mark.parametrize("path", ["model", "./model", "../{here}/model", "~/model"])
def test_the_path_of_a_folder_becomes_absolute_where_the_settings_are_made(
    way, path, tmp_path, monkeypatch
):
    (tmp_path / "model").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = path.format(here=tmp_path.name)
    if way == "environment":
        monkeypatch.setenv("INFOLM_MODEL", path)
        made = Mine()
    else:
        made = Mine.of(model_name_or_path=path)
    monkeypatch.chdir("/")
    absolute = str(tmp_path / "model")
    assert made.model_name_or_path == made.replace(size=3).model_name_or_path == absolute


@pytest.mark.parametrize("name", ["bundled", "some-one/model", "./none"])
def test_what_is_no_folder_stays_as_it_was_given(name, tmp_path, monkeypatch):
    (tmp_path / "bundled").mkdir()  # "bundled" is always the one in the package
    monkeypatch.chdir(tmp_path)
    assert Mine.of(model_name_or_path=name).model_name_or_path == name


def test_a_path_of_a_model_becomes_a_string(tmp_path):
    assert Mine.of(model_name_or_path=tmp_path).model_name_or_path == str(tmp_path)


# What is declared with a field


def test_a_metrics_own_choices_come_first_and_all_have_help():
    choices = Mine.choices()
    assert list(choices)[:3] == ["size", "idf", "multi_reference"]
    assert set(choices) == {each.name for each in fields(Mine)}
    assert all(Mine.help(name) for name in choices)
    assert "$INFOLM_MODEL, else some-one/some-model" in Mine.help("model_name_or_path")


def test_what_can_change_a_score_is_signed_under_its_label():
    assert Mine.of(size=3, batch_size=7, idf=False).signed() == {
        "large": 3,
        "idf": False,
        "multi_reference": "min",
    }


def test_a_grid_is_every_combination_of_the_lists():
    grid = Mine().grid({"size": [1, 2], "idf": [False, "separate"]})
    assert [(each.size, each.idf) for each in grid] == [
        *((1, form) for form in (False, "separate")),
        *((2, form) for form in (False, "separate")),
    ]
    assert Mine().grid({}) == [Mine()]
