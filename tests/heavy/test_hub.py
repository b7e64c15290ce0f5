"""Models of a Hub that a local server plays: whose weights are read, and what is asked for."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertForMaskedLM

from infolm_metric import InfoLMScorer
from tests.project_files import ROOT

MAIN, PULL_REQUEST = "a" * 40, "b" * 40
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
    """One repository with a main branch and a pull request, each a folder of files."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folders: dict[str, Path] = {}  # by commit
        self.asked: list[str] = []

    def commit(self, revision: str) -> str | None:
        commit = {"main": MAIN, "refs/pr/1": PULL_REQUEST}.get(revision, revision)
        return commit if commit in self.folders else None


class Answer(BaseHTTPRequestHandler):
    """What the Hub says of commits, files and pull requests."""

    server: Hub

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        path = self.path.partition("?")[0].replace("%2F", "/")
        if file := re.fullmatch(r"/some-one/tiny/resolve/(refs/pr/1|[^/]+)/(.+)", path):
            self._send_file(*file.groups())
        elif found := re.fullmatch(r"/api/models/some-one/tiny(?:/revision/(.+))?", path):
            commit = self.server.commit(found[1] or "main")
            self._send_json(commit and {"id": "some-one/tiny", "sha": commit, "private": False})
        elif found := re.fullmatch(r"/api/models/some-one/tiny/tree/([^/]+)", path):
            files = self.server.folders[self.server.commit(found[1])].iterdir()
            entry = {"type": "file", "oid": "0", "size": 1}
            self._send_json([{"path": file.name, **entry} for file in files])
        elif found := re.fullmatch(r"/api/models/some-one/tiny/commits/(.+)", path):
            both = [PULL_REQUEST, MAIN] if found[1] == "refs/pr/1" else [MAIN]
            words = {"title": "", "message": "", "date": "2024-01-01T00:00:00.000Z", "authors": []}
            self._send_json([{"id": commit, **words} for commit in both])
        elif path == "/api/models/some-one/tiny/discussions":
            discussion = {
                **{"num": 1, "title": "Adding `safetensors` variant of this model"},
                **{"status": "open", "isPullRequest": True, "author": {"name": "SFconvertbot"}},
                **{"createdAt": "2024-01-01T00:00:00.000Z"},
                "repo": {"name": "some-one/tiny", "type": "model"},
            }
            self._send_json({"discussions": [discussion], "count": 1, "start": 0})
        else:
            self._send_json(None)

    do_HEAD = do_POST = do_CONNECT = do_GET  # noqa: N815

    def _send_json(self, content: object) -> None:
        if content is None:
            self._send(b"{}", 404, {"X-Error-Code": "EntryNotFound"})
        else:
            self._send(json.dumps(content).encode(), 200)

    def _send_file(self, revision: str, name: str) -> None:
        commit = self.server.commit(revision)
        if commit is None:
            return self._send(b"", 404, {"X-Error-Code": "RevisionNotFound"})
        file = self.server.folders[commit] / name
        headers = {"X-Repo-Commit": commit}
        if not file.is_file():
            return self._send(b"", 404, {"X-Error-Code": "EntryNotFound", **headers})
        content = file.read_bytes()
        self._send(content, 200, {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', **headers})

    def _send(self, content: bytes, status: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A Hub that has no commits yet."""
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def said(hub: Hub, home: Path, revision: str, *scorers: str, offline: str = "") -> list[str]:
    """The lines of a process that scores by a revision of the Hub's model."""
    address = f"http://127.0.0.1:{hub.server_port}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HOME": str(home)}
    environment |= {"HF_HUB_OFFLINE": offline, "HF_ENDPOINT": address}
    # What goes to another address than the Hub's is asked for here, too.
    environment |= {"HTTPS_PROXY": address, "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-c", SCORE, revision, *scorers]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_weights_of_a_pull_request_are_neither_read_nor_asked_for(hub, tiny_nli, tmp_path):
    folder = shutil.copytree(tiny_nli(), tmp_path / "main")
    (folder / "model.safetensors").unlink()
    torch.save(load_file(tiny_nli() / "model.safetensors"), folder / "pytorch_model.bin")
    hub.folders = {MAIN: folder, PULL_REQUEST: tiny_nli()}
    messages = said(hub, tmp_path / "home", "", "InfoLMScorer", "BaryScorer", "MENLIScorer")
    assert len(messages) == 3
    for message in messages:
        assert message.startswith("cannot load the model 'some-one/tiny': ")
        assert "a file named model.safetensors" in message and "save_pretrained" in message
        assert "use_safetensors" not in message
    elsewhere = f"^POST|^CONNECT|discussions|commits|refs|{PULL_REQUEST}|pytorch_model.bin"
    assert any(f"/resolve/{MAIN}/model.safetensors" in each for each in hub.asked)
    assert not [each for each in hub.asked if re.search(elsewhere, each)]


@pytest.mark.parametrize("largest", ["1GB", "40KB"])
def test_a_model_of_the_hub_is_signed_with_the_commit_of_its_weights(
    largest, hub, tiny_bert, tmp_path
):
    folder = shutil.copytree(tiny_bert, tmp_path / "main")
    (folder / "model.safetensors").unlink()
    model = BertForMaskedLM.from_pretrained(tiny_bert)
    model.save_pretrained(folder, max_shard_size=largest)
    assert (len(list(folder.glob("*.safetensors"))) > 1) == (largest == "40KB")
    hub.folders = {MAIN: folder}
    (line,) = said(hub, tmp_path / "home", "", "InfoLMScorer")
    score, signature = line.split(" ")
    assert float(score) == InfoLMScorer(model_name_or_path=tiny_bert).score(*PAIR)["infolm"]
    assert f"some-one/tiny@{MAIN}" in signature
    # What was downloaded is enough to score by the same commit without the Hub.
    assert said(hub, tmp_path / "home", MAIN, "InfoLMScorer", offline="1") == [line]
