"""The Space from outside: endpoints, concurrent clients and attacks."""

import csv
import http.client
import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from urllib.parse import urlsplit

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

from infolm_metric.metrics import METRICS
from space.page import limits

pytestmark = pytest.mark.filterwarnings("ignore:infolm")
PAIR = ("The cat slept on the sofa.", "A cat was asleep on the couch.")
JSON = {"Content-Type": "application/json"}
PATIENT = {"timeout": 60}  # seconds. The default of 5 is too short for a slow machine
CLIENTS = int(os.environ.get("SPACE_CLIENTS", "10"))


@pytest.fixture(scope="module")
def scorers():
    return {k: metric.scorer_type()(model_name_or_path="bundled") for k, metric in METRICS.items()}


@pytest.fixture(scope="module")
def client(space_url):
    return Client(space_url, verbose=False, httpx_kwargs=PATIENT)


def make_upload(path, predictions, references):
    """Write a table and return it as an upload of Gradio's client."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = zip(predictions, references, strict=True)
        csv.writer(file).writerows([["prediction", "reference"], *rows])
    return handle_file(path)


def send(url, path, body, **headers):
    """Send a request and return the status and the body of the response."""
    host, root = urlsplit(url)[1:3]
    with closing(http.client.HTTPConnection(host, timeout=60)) as connection:
        connection.request("GET" if body is None else "POST", root + path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


# Endpoints


def test_endpoints_document_parameter_names_and_types(client):
    endpoints = client.view_api(return_format="dict")["named_endpoints"]
    assert set(endpoints) == {"/score", "/score_file"}
    types = {
        name: {p["parameter_name"]: p["python_type"]["type"] for p in endpoint["parameters"]}
        for name, endpoint in endpoints.items()
    }
    assert list(types["/score"]) == ["candidate", "references", "metric", "settings"]
    assert list(types["/score_file"]) == ["file", "metric"]
    assert types["/score"]["references"] == "list[str]"
    for kind in types.values():
        assert all(f"'{name}'" in kind["metric"] for name in METRICS)
    assert all(endpoint["description"] for endpoint in endpoints.values())


EXPLANATIONS = [
    ("infolm", {"information_measure": "renyi_divergence", "alpha": 0.5}, "of the score"),
    ("baryscore", {"idf": "bundled"}, "Most expensive moves"),
    ("bertscore", None, "best matches"),
    ("menli", None, "candidate follow"),
    ("answer_check", None, "answer"),
]


@pytest.mark.parametrize(("metric", "settings", "why"), EXPLANATIONS)
def test_endpoints_return_explained_scores(metric, settings, why, client, scorers, tmp_path):
    answer = client.predict(PAIR[0], [PAIR[1]], metric, settings, api_name="/score")
    expected = scorers[metric].score([PAIR[0]], [PAIR[1]], **(settings or {}))
    assert answer["score"] == pytest.approx(expected[metric], abs=1e-6)
    assert answer["signature"] == expected["signature"]
    assert answer["higher_is_better"] == (metric in ("bertscore", "menli", "answer_check"))
    assert answer["verdict"] and why in " ".join(answer["why"])
    texts = [*PAIR, '=SUM(1) "quoted", <b>bold</b>']
    table = make_upload(tmp_path / "pairs.csv", texts, [PAIR[1]] * 3)
    result, download = client.predict(table, metric, api_name="/score_file")
    expected = scorers[metric].score(texts, [PAIR[1]] * 3)
    with open(download, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == texts
    for scores in ([float(row[metric]) for row in rows], result["scores"]):
        assert scores == pytest.approx(expected["scores"], rel=1e-6, abs=1e-6)
    assert result[metric] == pytest.approx(expected[metric], abs=1e-6)
    if metric == "answer_check":
        assert answer["verdict"] in ("likely correct", "unclear", "likely wrong")
        assert result["verdicts"] == expected["verdicts"]
        assert [row["verdict"] for row in rows] == [word or "" for word in result["verdicts"]]


def test_oversized_requests_are_rejected(space_url):
    """Check that Gradio limits uploads, the Space limits other requests, and the page stays up."""
    content = b"x" * (limits.FILE_BYTES + 1)
    head = b'--edge\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\n'
    form = head + content + b"\r\n--edge--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=edge"}
    assert send(space_url, "gradio_api/upload", form, **kind)[0] == 413
    body = json.dumps({"data": ["x" * limits.BODY_BYTES]}).encode()
    with suppress(ConnectionError):  # the connection may be closed before the response
        assert send(space_url, "gradio_api/queue/join", body, **JSON)[0] >= 400
    assert send(space_url, "config", None)[0] == 200


TRAVERSALS = ("../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd")


@pytest.mark.parametrize("path", ["app.py", "/etc/passwd", *TRAVERSALS, __file__, sys.executable])
def test_no_file_of_the_server_can_be_read(path, space_url):
    for route in ("gradio_api/file=", "file=", "static/", "assets/", "gradio_api/stream/"):
        assert send(space_url, route + path.replace(" ", "%20"), None)[0] in (403, 404, 405)


def test_files_of_the_server_are_not_accepted_as_uploads(space_url):
    """Bypass gradio_client."""
    file = {"path": __file__, "orig_name": "a.csv", "meta": {"_type": "gradio.FileData"}}
    body = json.dumps({"data": [file, "infolm"]}).encode()
    _, answer = send(space_url, "gradio_api/call/score_file", body, **JSON)
    event = json.loads(answer)["event_id"]
    _, answer = send(space_url, f"gradio_api/call/score_file/{event}", None)
    assert answer.startswith(b"event: error")


# Concurrent clients

TEXTS = {
    "empty": "",
    "blank": " \n\t",
    "long": "x" * 100_000,
    "long words": "cat " * 25_000,
    "emoji": "\U0001f600\U0001f389 \U0001f469\u200d\U0001f467 cat" * 5,
    "null bytes": "a\x00b\x00 cat",
    "control characters": "".join(map(chr, range(32))) + "a\u202e\ufeff\U0010ffff",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)> cat",
    "Markdown": "**bold *it [x](javascript:alert(1)) ```\n| a | b\n# <b>",
    "templates": "${1} {{value}} {% x %}",
    "other script": "كان القط نائما على الأريكة",
    "shell": "' OR 1=1 -- \"`$(ls)`",
}
HOSTILE = [
    *({"candidate": x, "references": [PAIR[1], x], "metric": "all"} for x in TEXTS.values()),
    *({"candidate": PAIR[0], "references": [x]} for x in TEXTS.values()),
    {"candidate": "x" * 1_000_000, "references": [PAIR[1]]},
    {"candidate": "a. " * 150, "references": ["b. " * 150], "metric": "all"},
    {"candidate": {"path": "/etc/passwd"}, "references": [["a"]], "metric": "../menli"},
    {"candidate": 1, "references": ["b"], "metric": "menli"},
    {"candidate": None, "references": ["b"], "metric": "all"},
    {"candidate": "a", "references": "b", "metric": "baryscore"},
    {"candidate": "a", "references": {"a": "b"}},
    {"candidate": "a", "references": ["b", None, 3], "metric": "bertscore"},
    {"candidate": "a", "references": ["b"] * 1_000, "metric": "all"},
    {"candidate": "a", "references": ["b"], "metric": ["infolm"]},
    {"candidate": "a", "references": ["b"], "settings": {"idf": "/etc/passwd"}},
    {"candidate": "a", "references": ["b"], "settings": {"temperature": "hot"}},
    {"candidate": "a", "references": ["b"], "settings": {"information_measure": {"a": 1}}},
    {"candidate": "a", "references": ["b"], "metric": "all", "settings": {"device": "cuda"}},
    {"candidate": "a", "references": ["b"], "metric": "menli", "settings": [1]},
]


def test_concurrent_clients_get_correct_scores_despite_hostile_requests(space_url, scorers):
    def check(answers, candidate, references, **_):
        for answer in answers if isinstance(answers, list) else [answers]:
            if "error" in answer:
                assert "at most 192 are allowed" in answer["error"]
                continue
            expected = scorers[answer["metric"]].score([candidate], [references])
            assert answer["score"] == pytest.approx(expected[answer["metric"]], abs=3e-6)
            assert answer["signature"] == expected["signature"]

    def ask(number):
        visitor = Client(space_url, verbose=False, httpx_kwargs=PATIENT)
        for request in HOSTILE[number::CLIENTS]:
            try:
                check(visitor.predict(**request, api_name="/score"), **request)
            except AppError as error:  # which names what is wrong
                assert re.search("must be|unknown|empty|at most", str(error)), request
                assert "Traceback" not in str(error)
        metric = [*scorers][number % len(scorers)] if number % 2 else "all"
        text = f"Visitor {number} saw {number} cats on the sofa."
        request = {"candidate": text, "references": [PAIR[1]], "metric": metric}
        answers = visitor.predict(**request, api_name="/score")
        check(answers, **request)
        return len(answers) == len(scorers) or answers["metric"] == metric

    with ThreadPoolExecutor(CLIENTS) as pool:
        assert all(pool.map(ask, range(CLIENTS)))
    assert send(space_url, "config", None)[0] == 200


UNSENDABLE = [
    (r'"a\ud800", ["b"], "menli", null', "surrogate"),
    ('"a", ["b"], "infolm", {"temperature": Infinity}', "temperature must be"),
    ('"a", ["b"], "infolm", {"temperature": NaN}', "temperature must be"),
]


@pytest.mark.parametrize(("values", "words"), UNSENDABLE)
def test_values_that_no_client_can_send_are_rejected(values, words, space_url):
    """Bypass gradio_client."""
    status, answer = send(
        space_url, "gradio_api/call/score", f'{{"data": [{values}]}}'.encode(), **JSON
    )
    if status == 200:
        event = json.loads(answer)["event_id"]
        _, answer = send(space_url, f"gradio_api/call/score/{event}", None)
        assert answer.startswith(b"event: error") and words.encode() in answer
    else:
        assert status in (400, 422)
    assert send(space_url, "config", None)[0] == 200
