"""The Space from outside: endpoints, concurrent clients and attacks."""

import csv
import http.client
import json
import os
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
CLIENTS = int(os.environ.get("SPACE_CLIENTS", "10"))


@pytest.fixture(scope="module")
def scorers():
    return {
        name: metric.scorer_type()(model_name_or_path="bundled") for name, metric in METRICS.items()
    }


@pytest.fixture(scope="module")
def client(space_url):
    return Client(space_url, verbose=False)


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
    columns = ["candidate_column", "reference_columns"]
    assert list(types["/score_file"]) == ["file", "metric", *columns, "settings"]
    assert types["/score"]["references"] == "list[str]"
    for kind in types.values():
        assert all(f"'{name}'" in kind["metric"] for name in METRICS)
    assert all(endpoint["description"] for endpoint in endpoints.values())


EXPLANATIONS = [
    ("infolm", {"information_measure": "renyi_divergence", "alpha": 0.5}, "drivers"),
    ("baryscore", {"idf": False}, "moves"),
    ("bertscore", None, "matches"),
    ("menli", None, "candidate_follows"),
    ("answer_check", None, "reason"),
]


@pytest.mark.parametrize(("metric", "settings", "why"), EXPLANATIONS)
def test_endpoints_return_explained_scores(metric, settings, why, client, scorers, tmp_path):
    answer = client.predict(PAIR[0], [PAIR[1]], metric, settings, api_name="/score")
    expected = scorers[metric].score([PAIR[0]], [PAIR[1]], **(settings or {}))
    assert answer["score"] == pytest.approx(expected[metric], abs=1e-6)
    assert answer["signature"] == expected["signature"]
    assert answer["higher_is_better"] == (metric in ("bertscore", "menli", "answer_check"))
    assert answer["verdict"] and why in answer["why"]
    texts = [*PAIR, '=SUM(1) "quoted", <b>bold</b>']
    table = make_upload(tmp_path / "pairs.csv", texts, [PAIR[1]] * 3)
    result, download = client.predict(table, metric, api_name="/score_file")
    expected = scorers[metric].score(texts, [PAIR[1]] * 3)
    with open(download, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == texts
    for scores in ([float(row[metric]) for row in rows], result["scores"]):
        assert scores == pytest.approx(expected["scores"], rel=1e-6, abs=1e-6)
    assert result["mean"] == pytest.approx(expected[metric], abs=1e-6)
    if metric == "answer_check":
        assert answer["verdict"] in ("likely correct", "unclear", "likely wrong")
        assert result["verdicts"] == expected["verdicts"]
        assert [row["verdict"] for row in rows] == [word or "" for word in result["verdicts"]]


def test_all_metrics_are_returned_as_a_list(client, scorers):
    answers = client.predict(PAIR[0], [PAIR[1]], "all", {"idf": False}, api_name="/score")
    assert [answer["metric"] for answer in answers] == [*METRICS]
    for answer in answers:
        metric = answer["metric"]
        options = {"idf": False} if "idf" in vars(scorers[metric].settings) else {}
        expected = scorers[metric].score([PAIR[0]], [PAIR[1]], **options)
        assert answer["score"] == pytest.approx(expected[metric], abs=1e-6)
        assert answer["signature"] == expected["signature"]


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
    body = json.dumps({"data": [file, "infolm", None, [], None]}).encode()
    _, answer = send(space_url, "gradio_api/call/score_file", body, **JSON)
    event = json.loads(answer)["event_id"]
    _, answer = send(space_url, f"gradio_api/call/score_file/{event}", None)
    assert answer.startswith(b"event: error")


# Concurrent clients

HOSTILE = [
    {"candidate": "x" * 1_000_000, "references": [PAIR[1]]},
    {"candidate": "<script>alert(1)</script>" * 30, "references": ["<img src=x onerror=1>"] * 5},
    {"candidate": "".join(map(chr, range(32))) + "a", "references": ["\x00\u202e\ufeff\U0010ffff"]},
    {"candidate": "a", "references": ["b"], "settings": {"idf": "/etc/passwd"}},
    {"candidate": {"path": "/etc/passwd"}, "references": [["a"]], "metric": "../menli"},
    {"candidate": "${1} {{value}} " * 40, "references": ["{"] * 5, "metric": "all"},
    {"candidate": "a. " * 150, "references": ["b. " * 150], "metric": "all"},
    {"candidate": "a", "references": ["b"], "metric": "all", "settings": {"device": "cuda"}},
]


def test_concurrent_clients_get_correct_scores_despite_hostile_requests(space_url, scorers):
    metrics = list(scorers)

    def ask(number):
        visitor = Client(space_url, verbose=False)
        if number % 5 == 0:
            try:
                return visitor.predict(**HOSTILE[number // 5 % len(HOSTILE)], api_name="/score")
            except AppError as error:
                assert "Traceback" not in str(error)
                return None
        text = f"Visitor {number} saw {number} cats on the sofa."
        metric = metrics[number % len(metrics)]
        if number % 2:
            score = visitor.predict(text, [PAIR[1]], metric, api_name="/score")["score"]
        else:
            answers = visitor.predict(text, [PAIR[1]], "all", api_name="/score")
            (score,) = (answer["score"] for answer in answers if answer["metric"] == metric)
        assert score == pytest.approx(scorers[metric].score([text], [PAIR[1]])[metric], abs=1e-6)
        return score

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(ask, range(CLIENTS)))
    honest = [answer for number, answer in enumerate(answers) if number % 5]
    assert all(isinstance(answer, float) for answer in honest)
    assert send(space_url, "config", None)[0] == 200
