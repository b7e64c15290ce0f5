"""The exported folder of a Space starts with only its requirements installed."""

import os
import venv
from importlib import metadata
from pathlib import Path

import evaluate
import pytest
from gradio_client import Client
from packaging.requirements import Requirement

from infolm_metric.metrics import METRICS
from space import export
from tests.project_files import ROOT
from tests.space_process import running_space

PAIR = ("Heavy rain flooded several streets.", "After strong storms, many roads were under water.")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("export")
    # The folder has the name under which evaluate.load finds the module in it.
    paths = {name: root / metric.registered_name for name, metric in METRICS.items()}
    for metric, path in paths.items():
        export.main([str(path), "--metric", metric])
    return paths


@pytest.mark.parametrize("metric", METRICS)
def test_exported_folder_has_the_files_of_a_space(metric, folders, monkeypatch):
    folder, name = folders[metric], METRICS[metric].registered_name
    assert {path.name for path in folder.iterdir()} == {
        *(".gitattributes", "LICENSE", "NOTICE", "README.md", "requirements.txt"),
        *("app.py", f"{name}.py", "infolm_metric", "page"),
    }
    card = (folder / "README.md").read_text()
    assert card.startswith("---\ntitle:") and f'evaluate.load("{name}")' in card
    assert "*.safetensors filter=lfs" in (folder / ".gitattributes").read_text()
    assert not list(folder.rglob("__pycache__"))
    weights = Path("infolm_metric/bundled/model.safetensors")
    assert (folder / weights).read_bytes() == (ROOT / weights).read_bytes()
    monkeypatch.chdir(folder.parent)
    module = evaluate.load(name, model_name_or_path="bundled")
    result = module.compute(predictions=["A dog."], references=["A dog."])
    assert result[metric] == 0 or result["higher_is_better"]


def test_existing_folder_is_not_overwritten(folders, capsys):
    with pytest.raises(SystemExit, match="2"):
        export.main([str(folders["menli"])])
    assert f"{folders['menli']} must be a new or empty" in capsys.readouterr().err


def resolve(requirements: Path) -> set[metadata.Distribution]:
    """Return the installed packages in a requirements file, with their dependencies."""
    packages: dict[tuple[str, str], metadata.Distribution] = {}
    queue = [(Requirement(line), "") for line in requirements.read_text().splitlines()]
    while queue:
        requirement, active_extra = queue.pop()
        if requirement.marker is None or requirement.marker.evaluate({"extra": active_extra}):
            for extra in {"", *requirement.extras}:
                if (requirement.name, extra) not in packages:
                    package = metadata.distribution(requirement.name)
                    packages[requirement.name, extra] = package
                    queue += [(Requirement(line), extra) for line in package.requires or ()]
    return set(packages.values())


@pytest.mark.parametrize("metric", os.environ.get("SPACE_EXPORTS", "baryscore").split(","))
def test_exported_space_runs_with_its_requirements_only(metric, folders, tmp_path):
    """Link only the installed packages that the requirements need into a new environment."""
    folder = folders[metric]
    venv.create(tmp_path / "env", symlinks=True)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    for package in resolve(folder / "requirements.txt"):
        for name in {file.parts[0] for file in package.files} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(package.locate_file(name))
    assert not list(site.glob("lemminflect*"))
    python = tmp_path / "env/bin/python"
    with running_space(tmp_path, folder / "app.py", python, imported=None) as url:
        client = Client(url, verbose=False)
        radios = [part for part in client.config["components"] if part["type"] == "radio"]
        assert [radio["props"].get("value") for radio in radios] == [metric]
        for name, entry in METRICS.items():
            scorer = entry.scorer_type()(model_name_or_path="bundled")
            expected = scorer.score([PAIR[0]], [PAIR[1]])[name]
            answer = client.predict(PAIR[0], [PAIR[1]], name, api_name="/score")
            assert answer["score"] == pytest.approx(expected, abs=1e-5)
            assert "|infolm:" in answer["signature"] and "uninstalled" not in answer["signature"]
