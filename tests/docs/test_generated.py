"""Pages and name lists that are generated from the code are up to date."""

import functools

import pytest

import infolm_metric
from infolm_metric.core.settings import field_types
from infolm_metric.metrics import METRICS
from tests.docs import generated
from tests.project_files import ROOT


def test_settings_page_is_up_to_date():
    page = (ROOT / generated.PAGE).read_text()
    assert page == generated.render_page(), f"run {generated.COMMAND}"


ALPHA = {"information_measure": "alpha_divergence", "alpha": 0.5}
BETA = {"information_measure": "beta_divergence", "beta": 0.5}
BASELINE = str(ROOT / "infolm_metric/bundled/infolm_baseline.json")
CHANGED = {  # a non-default value per setting, and the settings that it requires
    "information_measure": ("l1_distance", {}),
    "alpha": (0.25, ALPHA),
    "beta": (0.25, BETA),
    "symmetrize": ("none", ALPHA),
    "temperature": (2.0, {}),
    "idf": (False, {}),
    "multi_reference": ("mean", {}),
    "interpolation": (0.5, {}),
    "masks_per_pass": (2, {}),
    "layers": (1, {}),
    "task": ("summary", {}),
    "formula": ("e-c", {}),
    "direction": ("rh", {}),
    "combine_with": ("infolm", {}),
    "nli_weight": (0.5, {"combine_with": "infolm"}),
    "combine_baseline": (BASELINE, {"combine_with": "infolm"}),
    "labels": (["contradiction", "neutral", "entailment"], {}),
    "probabilities": (True, {}),
    "max_length": (20, {}),
    "long_text": ("error", {}),
    "batch_size": (3, {}),
    "device": ("cpu", {}),
    "dtype": ("bfloat16", {}),
    "tokenize_processes": (2, {}),
    "reuse_memory": (0, {}),
}


@functools.cache
def bundled_scorer(metric):
    return METRICS[metric].scorer_type()(model_name_or_path="bundled")


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (metric, name)
        for metric in METRICS
        for name in field_types(METRICS[metric].settings_type())
        if name != "model_revision"  # tests/unit/core/test_models.py covers it
    ],
)
def test_settings_table_marks_the_settings_in_the_signature(metric, name, tiny_bert, tiny_nli):
    folder = str(tiny_nli() if metric == "menli" else tiny_bert)
    value, options = {"model_name_or_path": (folder, {}), **CHANGED}[name]
    scorer = bundled_scorer(metric)
    in_signature = scorer.signature(**options) != scorer.signature(**{**options, name: value})
    table = generated.render_table("", METRICS[metric].settings_type(), {}).splitlines()
    (row,) = (line for line in table if line.startswith(f"| `{name}` |"))
    assert row.split(" | ")[4] == ("yes" if in_signature else "")


def test_dir_of_the_package_lists_its_public_names():
    scorers = {"InfoLM", "InfoLMScorer", "BaryScore", "BaryScorer", "MENLI", "MENLIScorer"}
    scorers |= {"InfoLMSettings", "BaryScoreSettings", "MENLISettings"}
    names = {"IDF", "combine", "measures", "meta_evaluation", "robustness", "__version__"} | scorers
    assert names == set(dir(infolm_metric))
    assert all(getattr(infolm_metric, name) for name in names)
