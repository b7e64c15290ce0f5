"""A process that begins with nothing, as a training script does, finds the registered metric."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import infolm_metric
from infolm_metric.commands.register import register
from tests.project_files import ROOT

PAIRS = {"predictions": ["The cat sat."], "references": ["The cat slept."]}


OFFLINE = """
import json, sys
import evaluate

infolm = evaluate.load("infolm", model_name_or_path=sys.argv[1])
print(json.dumps(infolm.compute(predictions=["The cat sat."], references=["The cat slept."])))
"""


HUB_AS_IT_MAY_BE = """
import os, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Hub(BaseHTTPRequestHandler):
    status = 404
    asked = 0

    def do_HEAD(self):
        Hub.asked += 1
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"

import evaluate

for Hub.status in (404, 401, 503):  # no such module; no such repository; out of order
    Hub.asked = 0
    print(Hub.status, evaluate.load("infolm").name, Hub.asked > 0)
server.shutdown()
server.server_close()
print("unreachable", evaluate.load("infolm").name)
"""


def lines_of(program: str, *arguments: str | Path, cwd: Path, **environment: str) -> list[str]:
    """The lines that a Python process of its own prints."""
    inherited = {k: v for k, v in os.environ.items() if k != "HF_EVALUATE_OFFLINE"}
    added = {"PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=cwd,
        env=inherited | added | environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_a_script_elsewhere_finds_the_registered_metric_offline(tmp_path, tiny_bert):
    register(tmp_path / "modules")
    (line,) = lines_of(
        OFFLINE, tiny_bert, cwd=tmp_path, HF_HOME=str(tmp_path), HF_EVALUATE_OFFLINE="1"
    )
    same = infolm_metric.InfoLM(model_name_or_path=str(tiny_bert))
    expected = same.compute(**PAIRS)
    assert json.loads(line)["infolm"] == pytest.approx(expected["infolm"], abs=1e-6)
    assert json.loads(line)["signature"] == expected["signature"]


def test_a_script_elsewhere_finds_the_registered_metric_whatever_the_hub_answers(tmp_path):
    register(tmp_path / "modules here")
    assert lines_of(
        HUB_AS_IT_MAY_BE, cwd=tmp_path, HF_MODULES_CACHE=str(tmp_path / "modules here")
    ) == ["404 infolm True", "401 infolm True", "503 infolm True", "unreachable infolm"]
