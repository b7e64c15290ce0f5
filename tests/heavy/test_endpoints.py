"""The Space from outside: each endpoint, many clients at once, and what an attacker tries."""

import csv
import http.client
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from space.page.allowed_models import MODELS

from infolm_metric import InfoLM
from infolm_metric.infolm.measures import MEASURES
from space.page import charts, limits
from space.page import endpoints as space_endpoints

pytestmark = pytest.mark.xdist_group("space")
PAIR = ("The cat slept on the sofa.", "A cat was asleep on the couch.")
SETTINGS = (None, None, 1.0, 0.0, "jeffreys", "min", "references", "bundled")


@pytest.fixture(scope="module")
def infolm():
    return InfoLM(model_name_or_path="bundled")


@pytest.fixture(scope="module")
def client(space_url):
    return Client(space_url, verbose=False)


@pytest.fixture
def table(tmp_path):
    """A CSV of three pairs, and the texts in it."""
    texts = [*PAIR, '=SUM(1) "quoted", <b>bold</b>']
    with open(tmp_path / "pairs.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prediction", "reference"])
        writer.writerows((text, PAIR[1]) for text in texts)
    return tmp_path / "pairs.csv", texts


def post(url, path, body, **headers):
    """The status of a request, and its answer; the connection stays open until then, as browsers'.

    One that asks to be closed is closed on a large body still being sent, and the answer is lost.
    """
    host, root = urlsplit(url)[1:3]
    with closing(http.client.HTTPConnection(host, timeout=60)) as connection:
        connection.request("GET" if body is None else "POST", root + path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


# Each endpoint.


def test_every_endpoint_is_documented(client):
    endpoints = client.view_api(return_format="dict")["named_endpoints"]
    assert set(endpoints) == {"/score", "/score_file"}
    names = [p["parameter_name"] for p in endpoints["/score"]["parameters"]]
    assert names[:4] == ["candidate", "references", "information_measure", "alpha"]
    assert all(endpoint["description"] for endpoint in endpoints.values())
    assert f"model: {', or '.join(MODELS)}" in space_endpoints.score.__doc__


@pytest.mark.parametrize("measure", MEASURES)
def test_the_score_is_that_of_compute_to_the_last_shown_digit(measure, client, infolm):
    given = {p.name: 0.5 for p in MEASURES[measure].parameters}
    answer = client.predict(
        PAIR[0], [PAIR[1]], information_measure=measure, **given, api_name="/score"
    )
    expected = infolm.compute(
        predictions=[PAIR[0]],
        references=[PAIR[1]],
        information_measure=measure,
        **given,
    )
    assert charts.shown(answer["score"]) == charts.shown(expected["infolm"])
    assert answer["signature"] == expected["signature"]


def test_a_file_comes_back_with_the_scores_of_compute(client, table, infolm):
    path, texts = table
    _, download, _, shown, *_ = client.predict(
        handle_file(path), None, [], "fisher_rao_distance", *SETTINGS, api_name="/score_file"
    )
    expected = infolm.compute(predictions=texts, references=[PAIR[1]] * 3)
    with open(download, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == texts
    assert [float(row["score"]) for row in rows] == pytest.approx(
        expected["scores"], rel=1e-6, abs=1e-6
    )
    scores = [row[1] for row in shown["data"]]
    assert scores == sorted(scores, reverse=True)


# Refusals.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidate": ""}, "The candidate is empty"),
        ({"candidate": "x" * 1001}, "at most 1,000"),
        ({"references": []}, "at least one reference"),
        ({"references": "abc"}, "references must be a list"),
        ({"references": [None]}, "The reference must be a text"),
        ({"information_measure": "fisher"}, "did you mean 'fisher_rao_distance'"),
        ({"information_measure": "renyi", "alpha": 1}, "any number > 0 but 1"),
        ({"temperature": "hot"}, "temperature must be a number"),
        ({"interpolation": 1.5}, "interpolation must lie between 0"),
        ({"model": "someone/model"}, "model must be one of bundled"),
        ({"symmetrize": "<b>no</b>"}, "unknown symmetrize '<b>no</b>'"),
    ],
    ids=str,
)
def test_a_wrong_request_gets_a_message_and_no_stack_trace(arguments, message, client):
    request = {"candidate": PAIR[0], "references": [PAIR[1]], **arguments}
    with pytest.raises(AppError) as caught:
        client.predict(**request, api_name="/score")
    assert message in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_file_beyond_the_limits_gets_a_message(client, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("prediction,reference\n" + "a,b\n" * (limits.ROWS + 1))
    with pytest.raises(AppError, match="More than 500 rows"):
        client.predict(
            handle_file(path), None, [], "l1_distance", *SETTINGS, api_name="/score_file"
        )


def test_an_upload_that_is_too_large_is_refused(space_url):
    content = b"x" * (limits.FILE_BYTES + 1)
    form = (
        b'--edge\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\n'
        + content
        + b"\r\n--edge--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    assert post(space_url, "gradio_api/upload", form, **headers)[0] == 413


def test_a_request_that_is_too_large_is_refused(space_url):
    body = json.dumps({"data": ["x" * limits.BODY_BYTES]}).encode()
    status, answer = post(
        space_url, "gradio_api/queue/join", body, **{"Content-Type": "application/json"}
    )
    assert (status, b"larger than" in answer) == (413, True)


@pytest.mark.parametrize(
    "path",
    [
        "app.py",
        "/etc/passwd",
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        __file__,
        sys.executable,
    ],
)
def test_no_file_of_the_server_can_be_read(path, space_url):
    for route in ("gradio_api/file=", "file=", "static/", "assets/", "gradio_api/stream/"):
        assert post(space_url, route + path.replace(" ", "%20"), None)[0] in (403, 404, 405)


@pytest.mark.parametrize("name", ["path", "file url", "web url"])
def test_nothing_but_an_upload_can_be_passed_off_as_one(name, space_url):
    """Past gradio_client, which checks by itself: neither files nor addresses of the server's."""
    places = {
        "path": {"path": __file__},
        "file url": {"path": "", "url": f"file://{__file__}"},
        "web url": {"path": "", "url": f"{space_url}config"},
    }
    file = {**places[name], "orig_name": "a.csv", "meta": {"_type": "gradio.FileData"}}
    body = json.dumps({"data": [file, None, [], "l1_distance", *SETTINGS]}).encode()
    headers = {"Content-Type": "application/json"}
    status, answer = post(space_url, "gradio_api/call/score_file", body, **headers)
    if status == 200:
        event = json.loads(answer)["event_id"]
        status, answer = post(space_url, f"gradio_api/call/score_file/{event}", None)
        assert answer.startswith(b"event: error")
    assert b"attacker" not in answer and b"components" not in answer


# Many at once.


def test_twenty_clients_at_once_get_twenty_right_answers(space_url, infolm):
    texts = [f"Visitor {number} saw {number} cats on the sofa." for number in range(20)]

    def ask(text):
        own = Client(space_url, verbose=False)
        return own.predict(text, [PAIR[1]], api_name="/score")

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, texts))
    expected = infolm.compute(predictions=texts, references=[PAIR[1]] * 20)["scores"]
    assert [answer["score"] for answer in answers] == pytest.approx(expected, abs=1e-6)


KILLED = """
import sys, time
from gradio_client import Client, handle_file
job = Client(sys.argv[1], verbose=False).submit(
    handle_file(sys.argv[2]), None, [], "l1_distance", *SETTINGS, api_name="/score_file"
)
while len(job.outputs()) < 3 and not job.done():  # the file is read, and a part is scored
    time.sleep(0.01)
print(job.done(), flush=True)
job.result()
""".replace("SETTINGS", repr(SETTINGS))


def test_a_client_that_is_killed_leaves_the_server_answering(space_url, client, infolm, tmp_path):
    texts = [
        f"{number} cats " + "slept on the sofa near the old gate " * 3 for number in range(300)
    ]
    with open(tmp_path / "long.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["prediction", "reference"], *zip(texts, texts[::-1], strict=True)]
        )
    victim = subprocess.Popen(
        [sys.executable, "-c", KILLED, space_url, tmp_path / "long.csv"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert victim.stdout.readline() == "False\n"
    victim.kill()
    victim.wait()
    others = [client.submit(PAIR[0], [PAIR[1]], api_name="/score") for _ in "four"]
    expected = infolm.compute(predictions=[PAIR[0]], references=[PAIR[1]])["infolm"]
    for other in others:
        assert other.result(timeout=120)["score"] == pytest.approx(expected, abs=1e-6)
