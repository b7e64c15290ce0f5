"""`evaluate.load` finds the metric: registered, or in a checkout; with and without the Hub."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import evaluate
import pytest

import infolm_metric
from infolm_metric.commands.register import module_script, register
from infolm_metric.metrics import METRICS
from tests.project_files import ROOT

PAIRS = {"predictions": ["The cat sat."], "references": ["The cat slept."]}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A working directory that has nothing to do with the project."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Where the script goes.


def test_many_register_at_once():
    with ThreadPoolExecutor(8) as pool:
        found = [each.result() for each in [pool.submit(register) for _ in range(60)]]
    assert all(scripts == found[0] for scripts in found)
    for name, script in found[0].items():
        assert script.read_text() == module_script(METRICS[name])
        assert not list(script.parent.glob("*.tmp"))


def test_the_script_lies_in_evaluates_own_cache_under_the_hash_of_its_text():
    script = register()["infolm"]
    versions = script.parent.parent
    cache = Path(evaluate.config.HF_MODULES_CACHE)
    assert versions == cache / "evaluate_modules" / "metrics" / "evaluate-metric--infolm"
    assert script.name == "infolm.py"
    assert len(script.parent.name) == 64 and int(script.parent.name, 16)
    for folder in (script.parent, *list(script.parents)[1:4]):
        assert (folder / "__init__.py").is_file()


def test_other_modules_of_the_name_stay_and_are_older(tmp_path):
    script = register(tmp_path)["infolm"]
    other = script.parent.parent / ("0" * 64) / "infolm.py"
    other.parent.mkdir()
    other.write_text("raise RuntimeError")
    os.utime(other, (2**30, 2**30))
    assert register(tmp_path)["infolm"] == script
    assert other.read_text() == "raise RuntimeError"
    assert script.stat().st_mtime > other.stat().st_mtime


# What is loaded.


def test_the_registered_metric_is_the_packages_own_class(elsewhere, tiny_bert):
    register()
    metric = evaluate.load("infolm", model_name_or_path=str(tiny_bert), temperature=2.0)
    assert type(metric) is infolm_metric.InfoLM
    same = infolm_metric.InfoLM(model_name_or_path=str(tiny_bert))
    assert metric.compute(**PAIRS) == same.compute(**PAIRS, temperature=2.0)


def test_a_wrong_setting_is_refused_when_it_is_loaded(elsewhere):
    register()
    with pytest.raises(TypeError, match="'temprature'; did you mean 'temperature'"):
        evaluate.load("infolm", temprature=2.0)


def test_combine_finds_the_registered_metric_by_name(elsewhere, tiny_bert, monkeypatch):
    register()
    monkeypatch.setenv("INFOLM_MODEL", str(tiny_bert))
    combined = evaluate.combine(["infolm", evaluate.load("infolm", temperature=2.0)])
    result = combined.compute(**PAIRS)
    assert 0 < result["infolm_0_infolm"] != result["infolm_1_infolm"] > 0


@pytest.mark.parametrize("way", ["by the folder", "by the file", "from elsewhere"])
def test_a_checkout_is_loaded_by_its_path(way, tmp_path, monkeypatch, tiny_bert):
    monkeypatch.chdir(tmp_path if way == "from elsewhere" else ROOT)
    path = {
        "by the folder": "./infolm_metric",
        "by the file": "infolm_metric/infolm_metric.py",
        "from elsewhere": str(ROOT / "infolm_metric"),
    }[way]
    metric = evaluate.load(path, model_name_or_path=str(tiny_bert))
    assert metric.name == "infolm"
    same = infolm_metric.InfoLM(model_name_or_path=str(tiny_bert))
    assert metric.compute(**PAIRS) == same.compute(**PAIRS)


def test_a_metric_of_another_package_is_registered_as_well(tmp_path):
    scripts = register(tmp_path)  # of the table of metrics, which holds the toy here
    toy = evaluate.load(str(scripts["toy"]), size=2)
    assert toy.compute(predictions=["a cat"], references=["a cat"])["toy"] == 1


def test_the_command_says_how_to_load(infolm):
    code, output, _ = infolm("register")
    assert code == 0 and Path(output.splitlines()[0]).is_file()
    assert 'evaluate.load("infolm")' in output
