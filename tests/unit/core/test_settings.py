"""Settings: checked by their annotations, resolved once, declared once."""

import inspect
import math
import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from infolm_metric.core import checks, settings
from infolm_metric.core.idf import IDF

TABLE = IDF(3, np.array([0, 2, 3]), "5f2e")
KNOWN = {"minimum": "minimum", "mean": "mean", "min": "minimum"}


@dataclass(frozen=True, kw_only=True)
class Mine(settings.ModelSettings):
    """A metric's settings: some of its own beside those that the core has.

    Args:
        kind: which scores,
            one or several.
        size: how large, in % of the usual.
        share: how much.
        layers: which are read.
        idf: what weighs the tokens.
        multi_reference: of several.
        visible: whether to show it.
    """

    metric = "mine"
    names_field = "kind"
    default_model = "some-one/some-model"

    kind: str | tuple[str, ...] = "minimum"
    size: int = 2
    share: float | None = None
    layers: int | tuple[int, ...] = 4
    idf: bool | str | os.PathLike[str] | IDF | None = "references"
    multi_reference: Literal["min", "mean"] = "min"
    visible: bool = False

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "kind", checks.score_names("kind", self.kind, KNOWN))
        object.__setattr__(self, "idf", settings.resolve_idf(self.idf))


REFUSED = [  # the values, and a word of the message
    ({"sise": 3}, "'size'"),
    ({"size": 1.5}, "whole number"),
    ({"share": "0.5"}, "number"),
    ({"share": math.inf}, "finite"),
    ({"layers": [4, 2.5]}, r"layers\[1\]"),
    ({"kind": "maen"}, "'mean'"),
    ({"kind": []}, "empty"),
    ({"kind": None}, "kind"),
    ({"visible": 1}, "True or False"),
    ({"multi_reference": "max"}, "'min'"),
    ({"dtype": torch.float64}, "'float16'"),
    ({"idf": "reference"}, "'references'"),
    ({"idf": "absent"}, "'references', 'separate', 'none', 'bundled'"),
    ({"idf": Path("missing.json")}, "no file 'missing.json'"),
    ({"idf": 1}, "idf"),
    ({"model_name_or_path": 3}, "model_name_or_path"),
    ({"max_length": 0}, "at least 1"),
    ({"batch_size": 0}, "at least 1"),
    ({"batch_size": "large"}, "'auto'"),
    ({"batch_size": "8"}, "a whole number or 'auto', got '8'"),
    ({"tokenize_processes": 0}, "at least 1"),
    ({"reuse_memory": -1}, "at least 0"),
    ({"device": "gpu"}, "device"),
    ({"device": "cuda:99"}, "cuda:99"),
    ({"device": "meta"}, "meta"),
    ({"device": 0}, "'cuda:0'"),
    *(({name: "x"}, "did you mean 'model_name_or_path'") for name in ("model_type", "lang")),
    *(({name: ["x"]}, "did you mean 'references'") for name in ("refs", "labels")),
    *(({name: ["x"]}, "did you mean 'predictions'") for name in ("hypothesis", "hyps")),
]


@pytest.mark.parametrize(("values", "word"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_wrong_setting_is_refused_by_name(values, word):
    with pytest.raises((TypeError, ValueError), match=word) as refusal:
        Mine().replace(**values)
    assert next(iter(values)) in str(refusal.value)


def test_values_at_their_bounds_are_taken():
    least = dict.fromkeys(("max_length", "batch_size", "tokenize_processes"), 1)
    assert Mine.of(**least, reuse_memory=0).reuse_memory == 0
    checks.check_fraction("x", 0, ""), checks.check_fraction("x", 1, "")
    for value in (-1e-9, 1 + 1e-9, math.nan):
        with pytest.raises(ValueError, match="x must lie between 0 and 1"):
            checks.check_fraction("x", value, "")
    assert checks.check_whole("x", 1) == 1 and checks.check_whole("x", 0, least=0) == 0
    with pytest.raises(ValueError, match="x must be at least 2, got 1"):
        checks.check_whole("x", 1, least=2)


@pytest.mark.parametrize("number", [np.int64(7), np.uint8(7), np.array(7), torch.tensor(7)])
def test_whole_numbers_of_every_library_become_plain_ints(number):
    mine = Mine.of(size=number, layers=[number, 3], batch_size=number)
    assert {type(size) for size in (mine.size, *mine.layers)} == {int}
    assert (mine.size, mine.layers, mine.batch_size) == (7, (7, 3), 7)


@pytest.mark.parametrize("number", [np.float32(7), np.array(7.0), torch.tensor(7.0), Decimal(7)])
def test_numbers_of_every_library_become_plain_floats(number):
    assert type(Mine.of(share=number).share) is float and Mine.of(share=number).share == 7.0


@pytest.mark.parametrize("value", [True, np.True_, "0.5", b"1", None, 1j, [1.0, 2.0], np.ones(2)])
def test_what_is_no_single_number_is_refused(value):
    with pytest.raises(TypeError, match="x must be a (single )?number"):
        checks.check_value("x", value, float)


IDFS = [
    *((True, "references"), ("references", "references"), ("separate", "separate")),
    *((False, False), (None, False), ("none", False), (TABLE, TABLE)),
    *(("True", "references"), ("False", False), ("no", False), ("None", False)),
]


@pytest.mark.parametrize(("value", "expected"), IDFS)
def test_idf_takes_every_form(value, expected):
    idf = Mine.of(idf=value).idf
    assert idf == expected and type(idf) is type(expected)


def test_a_name_of_another_library_is_not_suggested_to_a_metric_without_a_model():
    with pytest.raises(TypeError, match="unknown setting 'model_type'; known: none"):
        settings.Settings.of(model_type="x")


def test_idf_takes_the_path_of_a_saved_table(tmp_path, monkeypatch):
    TABLE.save(tmp_path / "table.json")
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in (tmp_path / "table.json", str(tmp_path / "table.json"), "~/table.json"):
        assert Mine.of(idf=path).idf == TABLE
    assert Mine.of(idf="bundled").idf.documents > 1000
    (tmp_path / "table.json").write_text("{}")
    with pytest.raises(ValueError, match="idf table"):
        Mine.of(idf=tmp_path / "table.json")


def test_devices_and_dtypes_come_by_name_or_as_torch_has_them():
    assert Mine.of(device=torch.device("cpu", 0)).device == "cpu:0"
    assert (Mine.of(device="cpu").device, Mine.of(device=None).device) == ("cpu", None)
    for name in ("float32", "bfloat16", "float16"):
        assert Mine.of(dtype=name).dtype == Mine.of(dtype=getattr(torch, name)).dtype == name


# The model


def test_the_environment_names_the_model_unless_the_settings_do(monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Other(Mine):
        model_variable = "INFOLM_NLI_MODEL"

    assert Mine().model_name_or_path == "some-one/some-model"
    monkeypatch.setenv("INFOLM_MODEL", "other/model")
    mine = Mine()
    assert mine.model_name_or_path == "other/model"
    assert Mine.of(model_name_or_path="some/model").model_name_or_path == "some/model"
    assert Other().model_name_or_path == "some-one/some-model"
    monkeypatch.setenv("INFOLM_MODEL", "bundled")  # stands for each metric's own
    assert Mine().model_name_or_path == Other().model_name_or_path == "bundled"
    assert mine.replace(size=3).model_name_or_path == "other/model"
    monkeypatch.setenv("INFOLM_MODEL", "")
    assert Mine().model_name_or_path == "some-one/some-model"


@pytest.mark.parametrize("way", ["setting", "environment"])
@pytest.mark.parametrize("path", ["model", "./model", "../{folder}/model", "~/model"])
def test_the_path_of_a_folder_becomes_absolute_where_the_settings_are_made(
    way, path, tmp_path, monkeypatch
):
    (tmp_path / "model").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = path.format(folder=tmp_path.name)
    monkeypatch.setenv("INFOLM_MODEL", path)
    mine = Mine() if way == "environment" else Mine.of(model_name_or_path=Path(path))
    monkeypatch.chdir("/")
    absolute = str(tmp_path / "model")
    assert mine.model_name_or_path == mine.replace(size=3).model_name_or_path == absolute


@pytest.mark.parametrize("name", ["bundled", "some-one/model", "./none"])
def test_what_is_no_folder_stays_as_it_was_given(name, tmp_path, monkeypatch):
    (tmp_path / "bundled").mkdir()  # "bundled" is always the one in the package
    monkeypatch.chdir(tmp_path)
    assert Mine.of(model_name_or_path=name).model_name_or_path == name


# What comes from the fields


def test_names_are_in_full_and_once_each():
    assert (Mine().names, Mine().several) == (("minimum",), False)
    assert (Mine.of(kind="min").names, Mine.of(kind="min").several) == (("minimum",), False)
    several = Mine.of(kind=["min", "mean", "minimum"])
    assert (several.names, several.several) == (("minimum", "mean"), True)
    assert Mine.of(kind=["mean"]).several is True


def test_the_sides_that_are_counted_follow_from_idf():
    sides = {False: (), "references": ("references",), "separate": ("candidates", "references")}
    assert {idf: Mine.of(idf=idf).idf_sides for idf in sides} == sides
    assert Mine.of(idf=TABLE).idf_sides == ()


def test_what_can_change_a_score_is_signed_and_the_model_apart():
    harmless = {"batch_size": 7, "device": "cpu", "tokenize_processes": 2, "reuse_memory": 0}
    signed = Mine.of(kind=["min", "mean"], size=3, dtype="float16", **harmless).signature_fields()
    expected = {"kind": "minimum+mean", "size": 3, "share": None, "layers": 4, "visible": False}
    assert signed == {**expected, "idf": "references", "multi_reference": "min"}


def test_docstrings_without_their_indentation_describe_the_same(monkeypatch):
    expected = settings.descriptions(Mine)
    for base in Mine.__mro__[:-1]:  # as Python 3.13 keeps them
        monkeypatch.setattr(base, "__doc__", inspect.cleandoc(base.__doc__))
    assert settings.descriptions(Mine) == expected


def test_an_option_reads_what_its_annotation_takes():
    options = {field.name: settings.option(Mine, field) for field in settings.ordered_fields(Mine)}
    assert options["kind"]["action"] == "append" and options["visible"]["action"] == "store_true"
