"""What is made from the settings' declarations is up to date, and does what it is for."""

import functools
import shutil
from dataclasses import dataclass
from pathlib import Path

import huggingface_hub
import pytest

import infolm_metric
from infolm_metric.core.settings import field_types, flags, own_fields
from infolm_metric.metrics import METRICS
from tests.docs import generated
from tests.project_files import ROOT
from tests.toy import ToyScorer, ToySettings


def test_the_page_of_settings_is_up_to_date():
    assert (ROOT / generated.PAGE).read_text() == generated.expected(), f"run {generated.COMMAND}"


ALPHA = {"information_measure": "alpha_divergence", "alpha": 0.5}
BETA = {"information_measure": "beta_divergence", "beta": 0.5}
BASELINE = str(ROOT / "infolm_metric/bundled/infolm_baseline.json")
CHANGED = {  # a value of each setting that is not its default, and what has to be given with it
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
    "formula": ("e-c", {}),
    "direction": ("rh", {}),
    "combine_with": ("infolm", {}),
    "nli_weight": (0.5, {"combine_with": "infolm"}),
    "combine_baseline": (BASELINE, {"combine_with": "infolm"}),
    "labels": (["contradiction", "neutral", "entailment"], {}),
    "probabilities": (True, {}),
    "model_revision": ("v2", {"model_name_or_path": "some-one/{}"}),
    "max_length": (20, {}),
    "long_text": ("error", {}),
    "batch_size": (3, {}),
    "device": ("cpu", {}),
    "dtype": ("bfloat16", {}),
    "tokenize_processes": (2, {}),
    "reuse_memory": (0, {}),
}


@pytest.fixture(scope="module")
def models(tiny_bert, tiny_nli):
    """The folder of a tiny model for each metric; on the Hub, too, as some-one/METRIC."""
    folders = {name: tiny_nli() if name == "menli" else tiny_bert for name in METRICS}
    for metric, folder in folders.items():
        # The cache of the Hub's client, as a download of two revisions leaves it.
        cached = Path(huggingface_hub.constants.HF_HUB_CACHE) / f"models--some-one--{metric}"
        for revision, commit in (("main", "1" * 40), ("v2", "2" * 40)):
            shutil.copytree(folder, cached / "snapshots" / commit)
            (cached / "refs").mkdir(exist_ok=True)
            (cached / "refs" / revision).write_text(commit)
    yield folders
    for metric in folders:
        shutil.rmtree(Path(huggingface_hub.constants.HF_HUB_CACHE) / f"models--some-one--{metric}")


@functools.cache
def scorer_of(metric):
    return METRICS[metric].scorer_type()(model_name_or_path="bundled")


@pytest.mark.parametrize(
    ("metric", "name"),
    [(metric, name) for metric in METRICS for name in field_types(METRICS[metric].settings_type())],
)
def test_the_table_says_of_every_setting_whether_the_signature_shows_it(metric, name, models):
    value, beside = {"model_name_or_path": (str(models[metric]), {}), **CHANGED}[name]
    beside = {
        key: each.format(metric) if key == "model_name_or_path" else each
        for key, each in beside.items()
    }
    scorer = scorer_of(metric)
    shown = scorer.signature(**beside) != scorer.signature(**{**beside, name: value})
    table = generated.table(METRICS[metric].settings_type()).splitlines()
    (row,) = (line for line in table if line.startswith(f"| `{name}` |"))
    assert row.split(" | ")[4] == ("yes" if shown else "")


def test_the_package_lists_its_public_names():
    scorers = {"InfoLM", "InfoLMScorer", "BaryScore", "BaryScorer", "MENLI", "MENLIScorer"}
    scorers |= {"InfoLMSettings", "BaryScoreSettings", "MENLISettings"}
    names = {"IDF", "combine", "measures", "meta_evaluation", "robustness", "__version__"} | scorers
    assert names == set(dir(infolm_metric))
    assert all(getattr(infolm_metric, name) for name in names)


@dataclass(frozen=True, kw_only=True)
class _Wider(ToySettings):
    """The toy's settings with one more.

    Args:
        margin: what is forgiven.
    """

    margin: float = 0.25


class _WiderScorer(ToyScorer):
    settings_type = _Wider


def test_a_new_setting_is_one_field():
    with pytest.raises(TypeError, match="margin must be a number, got 'wide'"):
        _WiderScorer(margin="wide")
    (one,) = (each for each in own_fields(_Wider) if each.name == "margin")
    assert flags(one) == ("--margin",)
    assert "|margin:0.5|" in _WiderScorer().signature(margin=0.5)
    assert "| `margin` | float | 0.25 | `--margin` | yes | what is forgiven. |" in generated.table(
        _Wider
    )


# What the settings do not need is left unread, because that takes a minute.
