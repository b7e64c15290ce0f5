"""Loading models and metrics from a local server that imitates the Hub.

Every process starts with an empty cache.
"""

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from transformers import BertForMaskedLM

import infolm_metric
from infolm_metric import InfoLMScorer
from infolm_metric.integrations.register import register
from tests.model_families import FolderMaker, pickled
from tests.nearly_equal import assert_text_nearly_equal
from tests.processes import printed

COMMIT = "a" * 40
PAIR = ["a cat sat"], ["the cat slept on a mat"]
SCORE = """
import sys, warnings
import infolm_metric

warnings.simplefilter("ignore")
revision, *scorers = sys.argv[1:]
for name in scorers:
    layers = {"layers": "all"} if name == "BaryScorer" else {}
    scorer = getattr(infolm_metric, name)(
        model_name_or_path="some-one/tiny", model_revision=revision or None, **layers
    )
    try:
        result = scorer.score(["a cat sat"], ["the cat slept on a mat"])
        print(result["scores"][0], result["signature"])
    except (OSError, ValueError) as error:
        print(error)
"""


class Hub(ThreadingHTTPServer):
    """Hub with one repository and one commit, a folder of files; records the requests."""

    folder = Path()
    status: int | str | None = None  # status of every response, if set

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Response)
        self.requests: list[str] = []

    def environment(self, home: Path) -> dict[str, str]:
        """Return the environment of a process that uses this Hub."""
        address = f"http://127.0.0.1:{self.server_port}"
        return {"HF_ENDPOINT": address, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1"}


class Response(BaseHTTPRequestHandler):
    """Responses about the commit and its files; anything else is not found."""

    server: Hub

    def do_GET(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        path = self.path.partition("?")[0].replace(COMMIT, "main")
        file = self.server.folder / path.removeprefix("/some-one/tiny/resolve/main/")
        headers, content = {"X-Repo-Commit": COMMIT}, None
        if file.is_file():
            content = file.read_bytes()
            headers["ETag"] = f'"{hashlib.sha1(content).hexdigest()}"'
        elif path in ("/api/models/some-one/tiny", "/api/models/some-one/tiny/revision/main"):
            content = json.dumps({"id": "some-one/tiny", "sha": COMMIT, "private": False}).encode()
        elif path == "/api/models/some-one/tiny/tree/main":
            entry = {"type": "file", "oid": "0", "size": 1}
            files = [{"path": file.name, **entry} for file in self.server.folder.iterdir()]
            content = json.dumps(files).encode()
        else:
            headers["X-Error-Code"] = "EntryNotFound"
        self.send_response(self.server.status or (404 if content is None else 200))
        for name, value in {"Content-Length": str(len(content or b"")), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content or b"")

    do_HEAD = do_POST = do_CONNECT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Hub whose folder is set by the test."""
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run_scorers(hub: Hub, home: Path, revision: str, *scorers: str, offline: str = "") -> list[str]:
    """Score in a new process with a revision of the Hub's model, and return the output lines."""
    environment = {**hub.environment(home), "HF_HUB_OFFLINE": offline}
    # Requests to other hosts are also sent to this server, and recorded.
    environment |= {"HTTPS_PROXY": environment["HF_ENDPOINT"]}
    return printed("-c", SCORE, revision, *scorers, env=environment).splitlines()


def assert_only_commit_is_requested(hub: Hub) -> None:
    """Assert that only weights of the commit were requested, and no conversion."""
    pattern = "^POST|^CONNECT|discussions|commits|refs"
    assert any(f"/resolve/{COMMIT}/model.safetensors" in request for request in hub.requests)
    assert not [request for request in hub.requests if re.search(pattern, request)]


@pytest.mark.parametrize(
    ("metrics", "shards"), [("InfoLMScorer BaryScorer", 1), ("MENLIScorer", 2)]
)
def test_pickled_weights_are_read_only_from_the_main_branch(
    metrics, shards, hub, tiny_bert, tiny_nli, tmp_path
):
    model, names = tiny_nli() if metrics == "MENLIScorer" else tiny_bert, metrics.split()
    hub.folder = pickled(model, tmp_path / "main", shards)
    lines = run_scorers(hub, tmp_path / "home", "", *names)
    assert_only_commit_is_requested(hub)
    for name, line in zip(names, lines, strict=True):
        score, signature = line.split(" ")
        options = {"layers": "all"} if name == "BaryScorer" else {}
        scorer = getattr(infolm_metric, name)(model_name_or_path=model, **options)
        assert float(score) == pytest.approx(scorer.score(*PAIR)["scores"][0], rel=1e-5)
        assert f"some-one/tiny@{COMMIT}" in signature
    # The cache suffices offline, even without its records of missing files.
    shutil.rmtree(tmp_path / "home/hub/models--some-one--tiny/.no_exist")
    again = run_scorers(hub, tmp_path / "home", COMMIT, *names, offline="1")
    assert_text_nearly_equal("\n".join(again), "\n".join(lines))


def test_pickle_with_code_is_rejected_without_running_it(hub, tiny_nli, tmp_path):
    hub.folder, created_folder = pickled(tiny_nli(), tmp_path / "main"), tmp_path / "made"
    torch.save({"classifier.bias": FolderMaker(created_folder)}, hub.folder / "pytorch_model.bin")
    scorers = ["InfoLMScorer", "BaryScorer", "MENLIScorer"]
    messages = run_scorers(hub, tmp_path / "home", "", *scorers)
    assert len(messages) == 3
    for message in messages:
        assert message.startswith("cannot load the model 'some-one/tiny': pytorch_model.bin ")
        assert "could run code" in message and "weights_only" not in message
    assert not created_folder.exists()
    assert_only_commit_is_requested(hub)


@pytest.mark.parametrize("largest", ["1GB", "40KB"])
def test_signature_of_a_hub_model_includes_its_commit(largest, hub, tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "main")
    (folder / "model.safetensors").unlink()
    model = BertForMaskedLM.from_pretrained(tiny_bert)
    model.save_pretrained(folder, max_shard_size=largest)
    assert (len(list(folder.glob("*.safetensors"))) > 1) == (largest == "40KB")
    hub.folder = folder
    (line,) = run_scorers(hub, tmp_path / "home", "", "InfoLMScorer")
    score, signature = line.split(" ")
    expected = InfoLMScorer(model_name_or_path=tiny_bert).score(*PAIR)["infolm"]
    assert float(score) == pytest.approx(expected, abs=1e-6)
    assert f"some-one/tiny@{COMMIT}" in signature
    # The downloaded files suffice to score offline with the same commit.
    (again,) = run_scorers(hub, tmp_path / "home", COMMIT, "InfoLMScorer", offline="1")
    assert_text_nearly_equal(again, line)


LOAD_REGISTERED = """
import json, sys
import evaluate

infolm = evaluate.load("infolm", model_name_or_path=sys.argv[1])
result = infolm.compute(predictions=["a cat sat"], references=["the cat slept on a mat"])
print(json.dumps([result["infolm"], result["signature"]]))
"""


# 404: no such module; 401: no such repository; 503: out of service. Other tests are offline.
@pytest.mark.parametrize("answer", [404, 401, 503, "unreachable"])
def test_registered_metric_loads_regardless_of_the_hub_response(answer, hub, tiny_bert, tmp_path):
    register(tmp_path / "home/modules")
    hub.status = answer
    environment = {**hub.environment(tmp_path / "home"), "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    environment["HF_EVALUATE_OFFLINE"] = "0"
    if answer == "unreachable":
        environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
    result = json.loads(printed("-c", LOAD_REGISTERED, tiny_bert, cwd=tmp_path, env=environment))
    expected = InfoLMScorer(model_name_or_path=tiny_bert).score(*PAIR)
    assert result == [pytest.approx(expected["infolm"], abs=1e-6), expected.signature]
    assert bool(hub.requests) == (answer != "unreachable")
