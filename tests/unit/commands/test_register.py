"""`infolm register`, and `evaluate.load` of registered metrics and of a checkout."""

import os
from concurrent.futures import ThreadPoolExecutor

import evaluate
import pytest

import infolm_metric
from infolm_metric.integrations.register import module_script, register
from infolm_metric.metrics import METRICS
from tests.nearly_equal import assert_nearly_equal
from tests.project_files import ROOT

PAIRS = {"predictions": ["The cat sat."], "references": ["The cat slept."]}


# Location of the scripts


def test_concurrent_registrations_agree():
    with ThreadPoolExecutor(8) as pool:
        registrations = [future.result() for future in [pool.submit(register) for _ in range(60)]]
    assert all(scripts == registrations[0] for scripts in registrations)
    scripts = registrations[0]
    for metric, script in zip(METRICS.values(), scripts.values(), strict=True):
        assert script.read_text() == module_script(metric)
        assert not list(script.parent.glob("*.tmp"))


def test_registering_again_keeps_other_modules_and_makes_the_script_newest(tmp_path):
    script = register(tmp_path)["infolm"]
    older = script.parent.parent / ("0" * 64) / "infolm.py"
    older.parent.mkdir()
    older.write_text("raise RuntimeError")
    os.utime(older, (2**30, 2**30))
    assert register(tmp_path)["infolm"] == script
    assert older.read_text() == "raise RuntimeError"
    assert script.stat().st_mtime > older.stat().st_mtime


def test_unwritable_cache_error_names_the_folder_and_its_variables(infolm, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(tmp_path / "file"))
    code, output, errors = infolm("register")
    assert (code, output) == (1, "")
    for word in (str(tmp_path / "file"), "Not a directory", "HF_HOME", "HF_MODULES_CACHE"):
        assert word in errors


# Loading


PATHS = ["./infolm_metric", "infolm_metric/infolm_metric.py", str(ROOT / "infolm_metric")]


@pytest.mark.parametrize("path", ["infolm", *PATHS])
def test_registered_metric_and_checkout_are_loaded(path, tmp_path, monkeypatch, tiny_bert):
    monkeypatch.chdir(ROOT if path in PATHS[:2] else tmp_path)
    if path == "infolm":
        register()
    metric = evaluate.load(path, model_name_or_path=str(tiny_bert), temperature=2.0)
    assert metric.name == "infolm" and (path in PATHS or type(metric) is infolm_metric.InfoLM)
    direct = infolm_metric.InfoLM(model_name_or_path=str(tiny_bert))
    assert_nearly_equal(metric.compute(**PAIRS), direct.compute(**PAIRS, temperature=2.0))


def test_bertscore_is_registered_under_another_name_than_the_metric_of_the_hub():
    scripts = register()
    assert "bertscore" not in scripts
    metric = evaluate.load("infolm_bertscore", model_name_or_path="bundled")
    assert type(metric) is infolm_metric.BERTScore
    assert metric.compute(predictions=["a cat"], references=["a cat"])["bertscore"] == 1
