"""An exported folder is a Space whose metric loads, and installs, from the Hub."""

import json
import os
import re
import runpy
import shlex
import shutil
import sys
import threading
import venv
import zipfile
from collections.abc import Iterable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

import evaluate
import pytest
from gradio_client import Client
from huggingface_hub import SpaceCard, constants
from packaging.requirements import Requirement

from infolm_metric.metrics import METRICS
from space import export
from tests.processes import printed
from tests.project_files import ROOT
from tests.space_process import running_space

PAIR = ("Heavy rain flooded several streets.", "After strong storms, many roads were under water.")
NAMES = {metric: entry.registered_name for metric, entry in METRICS.items()}
COLORS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}  # of the Hub
# Sections of the cards of `evaluate`.
SECTIONS = ["Metric description", "How to use", "Inputs", "Output values"]
SECTIONS += ["Values from popular papers", "Examples", "Limitations and bias", "Citation"]
SECTIONS += ["Further references"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """Address of a server that imitates the Hub, and the folder of its Spaces."""
    spaces = tmp_path_factory.mktemp("spaces")

    class Response(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(spaces / re.sub("^/spaces/user/(.+)/resolve/main/", r"\1/", path))

    with ThreadingHTTPServer(("127.0.0.1", 0), Response) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", spaces
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def folders(hub) -> dict[str, Path]:
    """Exported folders. Only the first builds its wheel, which takes long."""
    address, spaces = hub
    paths = {metric: spaces / name for metric, name in NAMES.items()}
    first, *others = paths
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "ENDPOINT", address)
        export.main([str(paths[first]), "--user", "user", "--metric", first])
        wheel = paths[first] / export.WHEEL
        patch.setattr(export, "build_wheel", lambda folder: shutil.copy(wheel, folder))
        for metric in others:
            export.main([str(paths[metric]), "--user", "user", "--metric", metric])
    return paths


@pytest.mark.parametrize("metric", METRICS)
def test_exported_folder_has_the_files_of_a_space(metric, folders):
    folder, name = folders[metric], NAMES[metric]
    assert {path.name for path in folder.iterdir()} == {
        *(".gitattributes", "LICENSE", "NOTICE", "README.md", "requirements.txt"),
        *("setup.cfg", "setup.py", "pyproject.toml", export.WHEEL),
        *("app.py", f"{name}.py", "tests.py", "infolm_metric", "page"),
    }
    patterns = (folder / ".gitattributes").read_text()
    assert "*.safetensors filter=lfs" in patterns and "*.whl filter=lfs" in patterns
    assert not list(folder.rglob("__pycache__"))
    weights = Path("infolm_metric/bundled/model.safetensors")
    assert (folder / weights).read_bytes() == (ROOT / weights).read_bytes()


@pytest.mark.parametrize("metric", METRICS)
def test_card_has_the_sections_and_metadata_that_the_hub_expects(metric, folders, hub):
    card = SpaceCard.load(folders[metric] / "README.md")
    data, address = card.data.to_dict(), f"{hub[0]}/spaces/user/{NAMES[metric]}"
    assert {data["colorFrom"], data["colorTo"]} <= COLORS and len(data["short_description"]) <= 60
    assert data["sdk"] == "gradio" and data["app_file"] == "app.py" and "metric" in data["tags"]
    assert re.findall(r"^##+ (.*)$", card.text, re.MULTILINE)[: len(SECTIONS)] == SECTIONS
    assert f"pip install {address}/resolve/main/{export.WHEEL}" in card.text
    assert f'evaluate.load("user/{NAMES[metric]}")' in card.text
    assert "USER" not in card.text.replace("--user USER", "") and "WHEEL" not in card.text


@pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # texts are few
@pytest.mark.parametrize("metric", METRICS)
def test_test_cases_hold_for_the_module_in_the_folder(metric, folders):
    module = evaluate.load(str(folders[metric]))
    for case in runpy.run_path(str(folders[metric] / "tests.py"))["test_cases"]:
        result = case.pop("result")
        assert module.compute(**case, details=False) == pytest.approx(result, abs=1e-3)
    source = (folders[metric] / f"{NAMES[metric]}.py").read_text()
    assert module.info.description.strip() in source
    assert module.info.citation.strip() in source


def test_wheel_contains_only_the_package(folders):
    names = zipfile.ZipFile(folders["infolm"] / export.WHEEL).namelist()
    tops = {name.partition("/")[0].partition("-")[0] for name in names}
    assert tops == {"infolm_metric"} and "infolm_metric/bundled/model.safetensors" in names


def test_invalid_arguments_are_rejected(folders, tmp_path, capsys):
    for folder, user in ((folders["menli"], "user"), (tmp_path / "new", "some one")):
        with pytest.raises(SystemExit, match="2"):
            export.main([str(folder), "--user", user])
    errors = capsys.readouterr().err
    assert f"{folders['menli']} must be a new or empty" in errors and "got 'some one'" in errors
    assert not (tmp_path / "new").exists()


def resolve(requirements: Iterable[str]) -> set[metadata.Distribution]:
    """Return the installed packages that the requirements need."""
    packages: dict[tuple[str, str], metadata.Distribution] = {}
    queue = [(Requirement(line), "") for line in requirements]
    while queue:
        requirement, active_extra = queue.pop()
        if requirement.marker is None or requirement.marker.evaluate({"extra": active_extra}):
            for extra in {"", *requirement.extras}:
                if (requirement.name, extra) not in packages:
                    package = metadata.distribution(requirement.name)
                    packages[requirement.name, extra] = package
                    queue += [(Requirement(line), extra) for line in package.requires or ()]
    return set(packages.values())


def link_packages(environment: Path, requirements: Iterable[str]) -> None:
    """Link the installed packages that the requirements need into a new environment."""
    (site,) = environment.glob("lib/python*/site-packages")
    if sys.pycache_prefix:  # reuse compiled modules
        caches = [
            Path(sys.pycache_prefix + str(path))
            for path in (site, Path(evaluate.__path__[0]).parent)
        ]
        caches[0].parent.mkdir(parents=True, exist_ok=True)
        if not caches[0].exists():
            caches[0].symlink_to(caches[1])
    for package in resolve(requirements):
        for name in {file.parts[0] for file in package.files} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(package.locate_file(name))


LOAD = """
import json, sys, warnings
import evaluate

warnings.simplefilter("ignore")
for name in sys.argv[1:]:
    metric = evaluate.load(f"user/{name}", model_name_or_path="bundled")
    result = metric.compute(predictions=["A cat sat."], references=["A cat slept."])
    info = metric.info
    print(json.dumps([result[metric.name], info.homepage, info.codebase_urls]))
"""


@pytest.fixture(scope="module")
def environment_folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("environment")


@pytest.fixture
def empty_environment(environment_folder) -> Path:
    """Empty environment, in the same folder for all tests, which reuse compiled modules."""
    venv.create(environment_folder, clear=True, symlinks=True)
    return environment_folder


def test_metrics_install_and_load_from_the_hub(hub, folders, empty_environment, tmp_path):
    """Follow the advice of `evaluate` in an environment that has only `evaluate`."""
    link_packages(empty_environment, ["evaluate", "pip"])
    environment = {"HF_ENDPOINT": hub[0], "HF_HOME": str(tmp_path / "home"), "PYTHONPATH": ""}
    environment |= {"NO_PROXY": "127.0.0.1", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    environment |= {"HF_EVALUATE_OFFLINE": "0", "HF_HUB_OFFLINE": "0", "PIP_NO_INDEX": "1"}
    options = {"env": environment, "cwd": tmp_path, "python": empty_environment / "bin/python"}
    with pytest.raises(AssertionError, match="you need to install") as error:
        printed("-c", LOAD, "infolm", **options)
    (command,) = re.findall(r"'(pip install [^']*)'", str(error.value))
    address = f"{hub[0]}/spaces/user/infolm"
    assert command == f"pip install {address}/resolve/main/{export.WHEEL}"
    # pip finds the dependencies in the environment.
    link_packages(empty_environment, metadata.requires("infolm-metric"))
    printed("-m", *shlex.split(command), **options)
    lines = printed("-c", LOAD, *NAMES.values(), **options).splitlines()
    for entry, line in zip(METRICS.values(), lines, strict=True):
        scorer = entry.scorer_type()(model_name_or_path="bundled")
        score, homepage, codebase_urls = json.loads(line)
        expected = scorer.score(["A cat sat."], ["A cat slept."])[entry.name]
        assert score == pytest.approx(expected, abs=1e-5)
        assert homepage == address and codebase_urls == [f"{address}/tree/main"]


@pytest.mark.parametrize("metric", os.environ.get("SPACE_EXPORTS", "baryscore").split(","))
def test_exported_space_runs_with_its_requirements_only(
    metric, folders, empty_environment, tmp_path
):
    folder = folders[metric]
    link_packages(empty_environment, (folder / "requirements.txt").read_text().splitlines())
    assert not list(empty_environment.glob("lib/python*/site-packages/lemminflect*"))
    python = empty_environment / "bin/python"
    with running_space(tmp_path, folder / "app.py", python, imported=None) as url:
        client = Client(url, verbose=False, httpx_kwargs={"timeout": 60})
        radios = [part for part in client.config["components"] if part["type"] == "radio"]
        assert [radio["props"].get("value") for radio in radios] == [metric]
        for name, entry in METRICS.items():
            scorer = entry.scorer_type()(model_name_or_path="bundled")
            expected = scorer.score([PAIR[0]], [PAIR[1]])[name]
            answer = client.predict(PAIR[0], [PAIR[1]], name, api_name="/score")
            assert answer["score"] == pytest.approx(expected, abs=1e-5)
            assert "|infolm:" in answer["signature"] and "uninstalled" not in answer["signature"]
