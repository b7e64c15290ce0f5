"""The folder that deploys starts elsewhere, and with nothing but its requirements installed."""

import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import evaluate
import pytest
from gradio_client import Client
from packaging.requirements import Requirement

from infolm_metric import InfoLMScorer
from tests.project_files import ROOT
from tests.space_process import running_space

PAIR = ("Heavy rain flooded several streets.", "After strong storms, many roads were under water.")


def exported(folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "space" / "export.py", folder]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("export") / "infolm"
    done = exported(made)
    assert done.returncode == 0, done.stderr
    return made


def test_the_folder_holds_what_a_space_needs(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {
        ".gitattributes",
        "LICENSE",
        "NOTICE",
        "README.md",
        "app.py",
        "infolm.py",
        "infolm_metric",
        "page",
        "requirements.txt",
    }
    assert (folder / "README.md").read_text().startswith("---\ntitle:")
    assert "*.safetensors filter=lfs" in (folder / ".gitattributes").read_text()
    assert not list(folder.rglob("__pycache__"))
    weights = Path("infolm_metric/bundled/model.safetensors")
    assert (folder / weights).read_bytes() == (ROOT / weights).read_bytes()


def test_what_is_there_is_not_overwritten(folder):
    done = exported(folder)
    assert done.returncode == 2
    assert f"{folder} exists and is not an empty folder; name a new one" in done.stderr


def test_evaluate_loads_the_metric_from_the_folder(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    metric = evaluate.load("infolm", model_name_or_path="bundled")
    assert metric.compute(predictions=["A dog."], references=["A dog."])["infolm"] == 0


def installed(requirements: Path) -> set[metadata.Distribution]:
    """The packages that a list asks for, and what they need, as they are installed here."""
    found: dict[tuple[str, str], metadata.Distribution] = {}
    asked = [(Requirement(line), "") for line in requirements.read_text().splitlines()]
    while asked:
        requirement, asking = asked.pop()
        if requirement.marker is None or requirement.marker.evaluate({"extra": asking}):
            for extra in {"", *requirement.extras}:
                if (requirement.name, extra) not in found:
                    package = metadata.distribution(requirement.name)
                    found[requirement.name, extra] = package
                    asked += [(Requirement(line), extra) for line in package.requires or ()]
    return set(found.values())


def test_the_folder_answers_in_an_environment_of_its_requirements_alone(folder, tmp_path):
    """Of the packages installed here those that the list needs are linked into it, and no other."""
    venv.create(tmp_path / "env", symlinks=True)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    for package in installed(folder / "requirements.txt"):
        for name in {file.parts[0] for file in package.files} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(package.locate_file(name))
    python = tmp_path / "env/bin/python"
    with running_space(tmp_path, folder / "app.py", python, imported=None) as url:
        client = Client(url, verbose=False)
        answer = client.predict(PAIR[0], [PAIR[1]], api_name="/score")
    own = InfoLMScorer(model_name_or_path="bundled").score([PAIR[0]], [PAIR[1]])
    assert answer["score"] == pytest.approx(own["infolm"], abs=1e-5)
    assert "|infolm:" in answer["signature"] and "uninstalled" not in answer["signature"]


def test_a_copy_of_the_folder_starts_elsewhere(tmp_path):
    shutil.copytree(ROOT / "space", tmp_path / "deployed")
    with running_space(tmp_path, tmp_path / "deployed" / "app.py") as url:
        assert url.startswith("http://127.0.0.1")
