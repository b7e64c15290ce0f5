"""A process that begins with nothing, as a training script does, finds the registered metric."""

import json

import pytest

from infolm_metric import InfoLM
from infolm_metric.commands.register import register
from tests.processes import printed

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


def test_a_script_elsewhere_finds_the_registered_metric_offline(tmp_path, tiny_bert):
    register(tmp_path / "modules")
    home = {"HF_HOME": str(tmp_path)}
    found = json.loads(printed("-c", OFFLINE, tiny_bert, cwd=tmp_path, env=home))
    expected = InfoLM(model_name_or_path=str(tiny_bert)).compute(**PAIRS)
    assert found["infolm"] == pytest.approx(expected["infolm"], abs=1e-6)
    assert found["signature"] == expected["signature"]


def test_a_script_elsewhere_finds_the_registered_metric_whatever_the_hub_answers(tmp_path):
    register(tmp_path / "modules here")
    hub = {"HF_MODULES_CACHE": str(tmp_path / "modules here"), "NO_PROXY": "127.0.0.1"}
    hub |= {"HF_EVALUATE_OFFLINE": "0", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    lines = printed("-c", HUB_AS_IT_MAY_BE, cwd=tmp_path, env=hub).splitlines()
    assert lines == ["404 infolm True", "401 infolm True", "503 infolm True", "unreachable infolm"]
