"""Settings: validation, accepted types, model paths, derived values."""

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

from infolm_metric import InputError
from infolm_metric.core import checks, settings
from infolm_metric.core.idf import IDF

TABLE = IDF(3, np.array([0, 2, 3]), "5f2e")
KNOWN = {"minimum": "minimum", "mean": "mean", "min": "minimum"}


@dataclass(frozen=True, kw_only=True)
class Example(settings.ModelSettings):
    """Settings of an example metric, in addition to the core settings.

    Args:
        kind: score names,
            one or several.
        size: size in % of the default.
        share: fraction.
        layers: hidden states to use.
        idf: token weights.
        multi_reference: reduction over references.
        visible: whether to show it.
    """

    metric = "example"
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


INVALID = [  # values, pattern of the message
    ({"sise": 3}, "'size'"),
    ({"size": 1.5}, "whole number"),
    ({"share": math.inf}, "finite"),
    ({"layers": [4, 2.5]}, r"layers\[1\]"),
    ({"kind": "maen"}, "'mean'"),
    ({"kind": []}, "empty"),
    ({"visible": 1}, "True or False"),
    ({"multi_reference": "max"}, "'min'"),
    ({"dtype": torch.float64}, "'float16'"),
    ({"idf": "absent"}, "'references', 'separate', 'none', 'bundled'"),
    ({"idf": Path("missing.json")}, "no file 'missing.json'"),
    ({"idf": 1}, "idf"),
    ({"model_name_or_path": 3}, "model_name_or_path"),
    ({"max_length": 0}, "at least 1"),
    ({"batch_size": 0}, "at least 1"),
    ({"batch_size": "8"}, "a whole number or 'auto', got '8'"),
    ({"reuse_memory": -1}, "at least 0"),
    ({"dtype": "bf16"}, "Did you mean 'bfloat16'"),
    ({"device": "cuda:99"}, "cuda:99"),
    ({"device": "meta"}, "meta"),
    ({"device": 0}, "'cuda:0'"),
    ({"model_type": "x"}, "Did you mean 'model_name_or_path'"),
    ({"lang": "en"}, "no default model for a language. Set model_name_or_path"),
    ({"return_sentence_level_score": True}, "return all 'scores'"),
    ({"verbose": True}, "Scorer.score or to compute"),
    ({"num_threads": 4}, "torch.set_num_threads"),
    ({"compute_on_cpu": True}, "device='cpu'"),
    ({"kind": "js"}, "'kl_divergence' with symmetrize='jensen'"),
    ({"kind": "Jensen-Shannon"}, "'kl_divergence' with symmetrize='jensen'"),
    *(({name: ["x"]}, "Did you mean 'references'") for name in ("refs", "labels")),
    *(({name: ["x"]}, "Did you mean 'predictions'") for name in ("hypothesis", "hyps")),
]


@pytest.mark.parametrize(("values", "word"), INVALID, ids=lambda value: str(value)[:40])
def test_invalid_settings_are_rejected_by_name(values, word):
    with pytest.raises(InputError, match=word) as refusal:
        Example().replace(**values)
    assert next(iter(values)) in str(refusal.value)


def test_values_at_their_bounds_are_accepted():
    least = dict.fromkeys(("max_length", "batch_size"), 1)
    assert Example.of(**least, reuse_memory=0).reuse_memory == 0
    checks.check_fraction("x", 0, ""), checks.check_fraction("x", 1, "")
    for value in (-1e-9, 1 + 1e-9, math.nan):
        with pytest.raises(InputError, match="x must be between 0 and 1"):
            checks.check_fraction("x", value, "")
    assert checks.check_whole("x", 1) == 1 and checks.check_whole("x", 0, least=0) == 0
    with pytest.raises(InputError, match="x must be at least 2, got 1"):
        checks.check_whole("x", 1, least=2)


@pytest.mark.parametrize("number", [np.int64(7), np.uint8(7), np.array(7), torch.tensor(7)])
def test_integers_of_every_library_are_converted_to_int(number):
    example = Example.of(size=number, layers=[number, 3], batch_size=number)
    assert {type(size) for size in (example.size, *example.layers)} == {int}
    assert (example.size, example.layers, example.batch_size) == (7, (7, 3), 7)


@pytest.mark.parametrize("number", [np.float32(7), np.array(7.0), torch.tensor(7.0), Decimal(7)])
def test_numbers_of_every_library_are_converted_to_float(number):
    assert type(Example.of(share=number).share) is float and Example.of(share=number).share == 7.0


NO_NUMBERS = [True, np.True_, "0.5", b"1", None, 1j, [1.0, 2.0], np.ones(2), torch.ones(1)]
NO_NUMBERS += [torch.tensor(True), torch.tensor(1j), np.datetime64(1, "D"), np.timedelta64(1, "D")]
FRACTIONS = [1.5, 1.0, np.float32(1), torch.tensor(1.5), torch.tensor(1.0), np.array(1.5)]


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("kind", [int, float])
def test_values_other_than_single_numbers_are_rejected(value, kind):
    with pytest.raises(InputError, match="x must be a (single |whole )?number"):
        checks.check_value("x", value, kind)


@pytest.mark.parametrize("value", FRACTIONS, ids=repr)
def test_floating_point_numbers_are_not_whole_numbers(value):
    with pytest.raises(InputError, match="x must be a whole number"):
        checks.check_value("x", value, int)


IDFS = [
    *((True, "references"), ("references", "references"), ("separate", "separate")),
    *((False, False), (None, False), ("none", False), (TABLE, TABLE)),
    *(("True", "references"), ("False", False), ("no", False), ("None", False)),
]


@pytest.mark.parametrize(("value", "expected"), IDFS)
def test_idf_accepts_all_documented_forms(value, expected):
    idf = Example.of(idf=value).idf
    assert idf == expected and type(idf) is type(expected)


def test_model_settings_are_not_suggested_for_a_metric_without_a_model():
    with pytest.raises(InputError, match="unknown setting 'model_type'. Known: none"):
        settings.Settings.of(model_type="x")


def test_idf_accepts_the_path_of_a_saved_table(tmp_path, monkeypatch):
    TABLE.save(tmp_path / "table.json")
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in (tmp_path / "table.json", str(tmp_path / "table.json"), "~/table.json"):
        assert Example.of(idf=path).idf == TABLE
    assert Example.of(idf="bundled").idf.documents > 1000
    (tmp_path / "table.json").write_text("{}")
    with pytest.raises(InputError, match="idf table"):
        Example.of(idf=tmp_path / "table.json")


def test_devices_and_dtypes_may_be_names_or_torch_objects():
    assert Example.of(device=torch.device("cpu", 0)).device == "cpu:0"
    assert Example.of(device="cpu").device == "cpu" and Example.of(device=None).device is None
    for name in ("float32", "bfloat16", "float16"):
        assert Example.of(dtype=name).dtype == Example.of(dtype=getattr(torch, name)).dtype == name


# The model


def test_settings_override_the_model_named_in_the_environment(monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Other(Example):
        model_variable = "INFOLM_NLI_MODEL"

    assert Example().model_name_or_path == "some-one/some-model"
    monkeypatch.setenv("INFOLM_MODEL", "other/model")
    example = Example()
    assert example.model_name_or_path == "other/model"
    assert Example.of(model_name_or_path="some/model").model_name_or_path == "some/model"
    assert Other().model_name_or_path == "some-one/some-model"
    monkeypatch.setenv("INFOLM_MODEL", "bundled")  # each metric's own bundled model
    assert Example().model_name_or_path == Other().model_name_or_path == "bundled"
    assert example.replace(size=3).model_name_or_path == "other/model"
    monkeypatch.setenv("INFOLM_MODEL", "")
    assert Example().model_name_or_path == "some-one/some-model"


@pytest.mark.parametrize("way", ["setting", "environment"])
@pytest.mark.parametrize("path", ["model", "./model", "../{folder}/model", "~/model"])
def test_paths_of_model_folders_become_absolute(way, path, tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = path.format(folder=tmp_path.name)
    monkeypatch.setenv("INFOLM_MODEL", path)
    example = Example() if way == "environment" else Example.of(model_name_or_path=Path(path))
    monkeypatch.chdir("/")
    absolute = str(tmp_path / "model")
    assert example.model_name_or_path == example.replace(size=3).model_name_or_path == absolute


@pytest.mark.parametrize("name", ["bundled", "some-one/model", "./none", "me/bundeld", "bert"])
def test_model_names_that_are_not_folders_are_unchanged(name, tmp_path, monkeypatch):
    (tmp_path / "bundled").mkdir()  # "bundled" always means the model in the package
    monkeypatch.chdir(tmp_path)
    assert Example.of(model_name_or_path=name).model_name_or_path == name


# Derived values


def test_score_names_are_full_and_unique():
    assert (Example().names, Example().several) == (("minimum",), False)
    assert (Example.of(kind="min").names, Example.of(kind="min").several) == (("minimum",), False)
    several = Example.of(kind=["min", "mean", "minimum"])
    assert (several.names, several.several) == (("minimum", "mean"), True)
    assert Example.of(kind=["mean"]).several is True


def test_idf_determines_the_sides_to_count():
    sides = {False: (), "references": ("references",), "separate": ("candidates", "references")}
    assert {idf: Example.of(idf=idf).idf_sides for idf in sides} == sides
    assert Example.of(idf=TABLE).idf_sides == ()


def test_signature_fields_are_the_settings_that_can_change_scores():
    harmless = {"batch_size": 7, "device": "cpu", "reuse_memory": 0}
    example = Example.of(kind=["min", "mean"], size=3, dtype="float16", **harmless)
    signed = example.signature_fields()
    expected = {"kind": "minimum+mean", "size": 3, "share": None, "layers": 4, "visible": False}
    assert signed == {**expected, "idf": "references", "multi_reference": "min"}


def test_descriptions_do_not_depend_on_docstring_indentation(monkeypatch):
    expected = settings.descriptions(Example)
    for base in Example.__mro__[:-1]:  # as in Python 3.13
        monkeypatch.setattr(base, "__doc__", inspect.cleandoc(base.__doc__))
    assert settings.descriptions(Example) == expected
