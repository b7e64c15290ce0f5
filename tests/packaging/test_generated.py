"""What is made from the settings' declarations is up to date, and does what it is for."""

import inspect
import subprocess
import sys
from dataclasses import dataclass

import pytest

import infolm_metric
from infolm_metric import InfoLM, InfoLMScorer
from infolm_metric.commands.options import setting_options
from infolm_metric.kernel import checks
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.settings import choice
from tests.packaging import generated
from tests.project_files import ROOT
from tests.toy import Overlap, ToySettings


@pytest.mark.parametrize("path", list(generated.expected()), ids=str)
def test_what_is_generated_is_up_to_date(path):
    found = (ROOT / path).read_text()
    assert found == generated.expected()[path], f"run {generated.COMMAND}"


@pytest.mark.parametrize(
    "method",
    [
        InfoLMScorer,
        InfoLMScorer.score,
        InfoLMScorer.stream,
        InfoLMScorer.sweep,
        InfoLMScorer.explain,
        InfoLM,
        InfoLM.compute,
    ],
    ids=lambda method: method.__qualname__,
)
def test_signatures_name_the_settings_with_types_and_defaults(method):
    shown = str(inspect.signature(method).parameters["temperature"])
    assert shown == "temperature: float = 1.0"


def test_compute_of_an_instance_names_the_settings():
    assert "temperature" in inspect.signature(InfoLM().compute).parameters


def test_the_package_lists_its_public_names():
    scorers = {"InfoLM", "InfoLMScorer", "BaryScore", "BaryScorer", "MENLI", "MENLIScorer"}
    names = {"IDF", "measures", "meta_evaluation", "robustness", "__version__"} | scorers
    assert names == set(dir(infolm_metric))
    assert all(getattr(infolm_metric, name) for name in names)


@dataclass(frozen=True)
class _Wider(ToySettings):
    """The toy's settings with one more."""

    margin: float = choice(0.25, checks.number, "what is forgiven", "--margin", signed=True)


class _WiderOverlap(Overlap):
    settings_type = _Wider


class _WiderScorer(MetricScorer):
    inner_type = _WiderOverlap


def test_a_new_setting_is_one_field(monkeypatch):
    with pytest.raises(TypeError, match="margin must be a number, got 'wide'"):
        _WiderScorer(margin="wide")
    assert any("--margin" in option.flags for option in setting_options(_Wider))
    assert "margin (float): what is forgiven" in _Wider.documentation()
    assert "|margin:0.5|" in _WiderScorer().signature(margin=0.5)
    assert "margin: float" in str(inspect.signature(_WiderScorer.score))
    assert "    margin: float\n" in generated.keywords(_Wider)
    assert "| `margin` | float | 0.25 | `--margin` | yes | what is forgiven |" in generated.table(
        _Wider
    )


RIGHT = """
from infolm_metric import BaryScore, BaryScorer, InfoLM, InfoLMScorer
scorer = InfoLMScorer(model_name_or_path="bundled", temperature=2.0)
mean: float = scorer.score(["a"], ["b"], information_measure=["kl", "l1"], idf=False)["infolm"]
InfoLM(temperature=1.5).compute(predictions=["a"], references=["b"], batch_size=8)
BaryScorer(layers="all").explain("a", "b", layers=[1, 2]).moves()[0].mass + 1.0
BaryScore(layers=2).compute(predictions=["a"], references=["b"], idf=False)
"""
WRONG = """
from infolm_metric import BaryScorer, InfoLM, InfoLMScorer
InfoLMScorer(temprature=2.0)
InfoLMScorer().score(["a"], ["b"], temperature="warm")
InfoLM(temprature=2.0)
InfoLM().compute(predictions=["a"], references=["b"], batch_size=[8])
BaryScorer(layers=2.5)
"""


# What the settings do not need is left unread, because that takes a minute.
CONFIGURATION = """
[mypy]
strict = True
follow_imports = silent
[mypy-torch.*,transformers.*,datasets.*,evaluate.*,numpy.*,scipy.*,huggingface_hub.*]
follow_imports = skip
follow_imports_for_stubs = True
"""


def test_a_static_checker_knows_the_settings(tmp_path):
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    for name, snippet in (("right", RIGHT), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(snippet)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "right.py", "wrong.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [line.split(" error: ")[0] for line in done.stdout.splitlines() if " error: " in line]
    assert lines == [f"wrong.py:{number}:" for number in (3, 4, 5, 6, 7)], done.stdout
