"""Scorers in MLflow's own evaluation."""

import os
import re
import subprocess
import sys

import pytest

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"  # read when MLflow is imported

import mlflow  # noqa: E402

from infolm_metric import AnswerCheckScorer, BaryScorer, InputError  # noqa: E402
from infolm_metric.integrations.mlflow import make_scorer  # noqa: E402
from tests.integration_files import FRENCH, write_shown  # noqa: E402
from tests.project_files import ROOT  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow
MESSAGES = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Armstrong"}]


@pytest.fixture(scope="module")
def feedback(tmp_path_factory):
    """Function that evaluates outputs and returns metrics, and feedback by row and name."""
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db")

    def run(scorer, *pairs):
        rows = [
            {"inputs": {"row": str(number)}, "outputs": output, "expectations": expectations}
            for number, (output, expectations) in enumerate(pairs)
        ]
        result = mlflow.genai.evaluate(data=rows, scorers=[scorer])
        by_row = {}
        for trace in mlflow.search_traces(run_id=result.run_id, return_type="list"):
            given = {x.name: x for x in trace.info.assessments if x.feedback is not None}
            by_row[trace.data.spans[0].inputs["row"]] = given
        return result.metrics, [by_row[row["inputs"]["row"]] for row in rows]

    return run


def test_documented_script_prints_the_same_in_each_run(tmp_path):
    write_shown(tmp_path)
    page = (ROOT / "docs/integrations.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"It prints `([^`]*)`", page)
    command = [sys.executable, "check_with_mlflow.py"]
    outputs = [
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    lines = [[x for x in output.splitlines() if x.startswith("score ")] for output in outputs]
    assert lines == [[printed]] * 2


def test_rows_get_score_verdict_and_signature(feedback):
    aliases = ["Neil Armstrong", "Armstrong"]
    outputs = ["It was Neil Armstrong.", "It was Buzz Aldrin.", FRENCH]
    metrics, rows = feedback(make_scorer(), *((x, {"expected_response": aliases}) for x in outputs))
    expected = AnswerCheckScorer().score(outputs, [aliases] * 3)
    for row, score, verdict in zip(rows, expected["scores"], expected["verdicts"], strict=True):
        answer = row["answer_check"]
        assert answer.value == pytest.approx(score)
        assert answer.metadata["signature"] == expected["signature"]
        assert answer.metadata["verdict"] == answer.rationale == (verdict or "none")
        assert ("likely_correct" in row) == (verdict is not None)
    assert metrics["answer_check/mean"] == pytest.approx(expected["answer_check"])
    assert metrics["likely_correct/mean"] == 0.5


def test_another_metric_scores_messages_without_idf(feedback):
    scorer = make_scorer("baryscore", "reference", model_name_or_path="bundled")
    metrics, (row,) = feedback(scorer, (MESSAGES, {"reference": "Neil Armstrong"}))
    expected = BaryScorer(model_name_or_path="bundled", idf=False)
    result = expected.score(["Armstrong"], ["Neil Armstrong"])
    assert metrics["baryscore/mean"] == pytest.approx(result["baryscore"])
    assert list(row) == ["baryscore"] and "verdict" not in row["baryscore"].metadata


def test_rows_with_invalid_texts_report_the_error(feedback):
    key = "expected_response"
    pairs = [("Armstrong", {key: 5}), ("Armstrong", {"answer": "x"}), (5, {key: "x"})]
    _, rows = feedback(make_scorer(), *pairs)
    problems = [row["answer_check"].error_message for row in rows]
    for problem, part in zip(problems, ("got 5", "must contain", "got 5"), strict=True):
        assert part in problem


def test_rows_with_blank_references_get_no_feedback(feedback):
    pairs = [("Armstrong", {"expected_response": group}) for group in (" ", [""], "Armstrong")]
    metrics, rows = feedback(make_scorer(), *pairs)
    assert [bool(row) for row in rows] == [False, False, True]
    assert metrics["answer_check/mean"] == 1


INVALID = [
    (("answer_chek",), {}, "unknown metric"),
    ((), {"temprature": 2}, "unknown setting 'temprature'"),
    (("infolm",), {"idf": True}, "Pass idf=False"),
    (("infolm",), {"information_measure": ["kl", "l1"]}, "must be one name"),
]


@pytest.mark.parametrize(("arguments", "settings", "problem"), INVALID)
def test_invalid_settings_are_rejected(no_model, arguments, settings, problem):
    with pytest.raises(InputError, match=problem):
        make_scorer(*arguments, **settings)
