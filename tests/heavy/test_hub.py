"""Loading models and metrics from a local server that imitates the Hub.

Every process starts with an empty cache.
"""

import hashlib
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from transformers import BertForMaskedLM

import infolm_metric
from infolm_metric import InfoLMScorer
from infolm_metric.integrations.register import register
from tests.model_families import pickled
from tests.nearly_equal import assert_text_nearly_equal
from tests.processes import printed, started

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
    result = scorer.score(["a cat sat"], ["the cat slept on a mat"])
    print(result["scores"][0], result["signature"])
"""


class Hub(ThreadingHTTPServer):
    """Hub with one repository whose only commit is a folder of files. Requests are recorded."""

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
    """Responses about the commit and its files. Anything else is not found."""

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


def sharded(source: Path, target: Path) -> Path:
    """Copy the folder of a BERT, with its weights in several safetensors files."""
    shutil.copytree(source, target)
    (target / "model.safetensors").unlink()
    BertForMaskedLM.from_pretrained(source).save_pretrained(target, max_shard_size="40KB")
    assert len(list(target.glob("*.safetensors"))) > 1
    return target


FORMS = [  # scorers, function that copies the model, whether offline use is tested
    (["MENLIScorer"], partial(pickled, shards=2), False),
    (["InfoLMScorer", "BaryScorer"], pickled, True),
    (["InfoLMScorer"], sharded, False),
]


@pytest.mark.parametrize(("names", "copy", "offline"), FORMS)
def test_models_are_read_from_one_commit_that_the_signature_names(
    names, copy, offline, hub, tiny_bert, tiny_nli, tmp_path
):
    model = tiny_nli() if names == ["MENLIScorer"] else tiny_bert
    hub.folder = copy(model, tmp_path / "main")
    lines = run_scorers(hub, tmp_path / "home", "", *names)
    # Only weights from the commit were requested, and no conversion.
    assert any(f"/resolve/{COMMIT}/model.safetensors" in request for request in hub.requests)
    assert not re.search("(?m)^POST|^CONNECT|discussions|commits|refs", "\n".join(hub.requests))
    for name, line in zip(names, lines, strict=True):
        score, signature = line.split(" ")
        options = {"layers": "all"} if name == "BaryScorer" else {}
        scorer = getattr(infolm_metric, name)(model_name_or_path=model, **options)
        assert float(score) == pytest.approx(scorer.score(*PAIR)["scores"][0], rel=1e-5)
        assert f"some-one/tiny@{COMMIT}" in signature
    if offline:  # the cache suffices, even without its records of missing files
        shutil.rmtree(tmp_path / "home/hub/models--some-one--tiny/.no_exist", ignore_errors=True)
        again = run_scorers(hub, tmp_path / "home", COMMIT, *names, offline="1")
        assert_text_nearly_equal("\n".join(again), "\n".join(lines))


LOAD_REGISTERED = """
import json, sys
import evaluate

for line in sys.stdin:
    infolm = evaluate.load("infolm", model_name_or_path=sys.argv[1])
    result = infolm.compute(predictions=["a cat sat"], references=["the cat slept on a mat"])
    print(json.dumps([result["infolm"], result["signature"]]), flush=True)
"""


def test_registered_metric_loads_regardless_of_the_hub_response(hub, tiny_bert, tmp_path):
    register(tmp_path / "home/modules")
    environment = {**hub.environment(tmp_path / "home"), "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    environment["HF_EVALUATE_OFFLINE"] = "0"  # other tests are offline
    expected = InfoLMScorer(model_name_or_path=tiny_bert).score(*PAIR)
    options = {"cwd": tmp_path, "env": environment, "stdin": subprocess.PIPE}
    with started("-c", LOAD_REGISTERED, tiny_bert, **options) as process:
        # 404: no such module; 401: no such repository; 503: out of service; None: no connection.
        for hub.status in (404, 401, 503, None):
            hub.requests.clear()
            if hub.status is None:
                hub.shutdown()
                hub.server_close()
            print(file=process.stdin, flush=True)
            result = json.loads(process.stdout.readline())
            assert result == [pytest.approx(expected["infolm"], abs=1e-6), expected.signature]
            assert bool(hub.requests) == (hub.status is not None)
