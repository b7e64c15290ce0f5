"""Distributed evaluation: several processes, one result, no file left behind."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infolm_metric.infolm_metric import InfoLM
from tests.project_files import ROOT

ROUNDS = [
    {"main": (["a cat", "a dog"], ["the cat", "the dog"]), "other": (["rain"], ["the rain"])},
    {"main": (["a cat"], [["the cat", "a cat"]]), "other": (["rain"], [["the rain"]])},
    {"main": (["a cat"], ["the cat"]), "other": None},
    {"main": None, "other": (["a cat"], [["the cat"]])},
]
OTHER_PROCESS = """
import json, sys
from infolm_metric import InfoLM

cache_dir, model, rounds = sys.argv[1:]
metric = InfoLM(
    num_process=2,
    process_id=1,
    cache_dir=cache_dir,
    experiment_id="real",
    timeout=600,
    model_name_or_path=model,
)
for round in json.loads(rounds):
    if round["other"]:
        metric.add_batch(predictions=round["other"][0], references=round["other"][1])
    assert metric.compute() is None and len(metric) == 0
"""


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_main_process_scores_the_pairs_of_all_round_after_round(tmp_path, tiny_bert):
    metric = InfoLM(
        num_process=2,
        process_id=0,
        cache_dir=str(tmp_path),
        experiment_id="real",
        timeout=600,
        model_name_or_path=str(tiny_bert),
    )
    alone = InfoLM(model_name_or_path=str(tiny_bert))
    command = [sys.executable, "-c", OTHER_PROCESS, tmp_path, tiny_bert, json.dumps(ROUNDS)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as other:
        results = []
        for pairs in ROUNDS:
            if pairs["main"]:
                metric.add_batch(predictions=pairs["main"][0], references=pairs["main"][1])
            results.append(metric.compute())
        errors = other.communicate()[1]
    assert other.returncode == 0, errors
    for pairs, result in zip(ROUNDS, results, strict=True):
        predictions, references = [], []
        for part in filter(None, (pairs["main"], pairs["other"])):
            predictions += part[0]
            references += part[1]
        assert result == alone.compute(predictions=predictions, references=references)
    assert files_in(tmp_path) == []


@pytest.fixture
def process(tmp_path, tiny_bert):
    """A maker of metrics of one experiment; threads run them, for locks tell threads apart, too."""

    def make(number, timeout=1.0):
        return InfoLM(
            num_process=2,
            process_id=number,
            cache_dir=str(tmp_path),
            timeout=timeout,
            model_name_or_path=str(tiny_bert),
        )

    return make


@pytest.fixture
def processes(process):
    return process(0), process(1)


def outcomes(*calls):
    """What the calls, made at the same time, return or raise."""
    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(call) for call in calls]
    return [future.exception() or future.result() for future in futures]


def test_a_process_that_does_not_come_is_an_error_and_everything_remains(processes, tmp_path):
    for metric, animal in zip(processes, ("cat", "dog"), strict=True):
        metric.add(prediction=f"a {animal}", reference=f"the {animal}")
    for metric in processes:
        with pytest.raises(ValueError, match="2 processes .* timeout=1.0 seconds"):
            metric.compute(predictions=["dropped"], references=["dropped"])
        assert files_in(tmp_path) == []
    result, nothing = outcomes(*(metric.compute for metric in processes))
    assert len(result["scores"]) == 2 and nothing is None
    assert files_in(tmp_path) == []


def test_a_wrong_argument_in_one_process_costs_no_process_its_pairs(processes, tmp_path):
    main, other = processes
    main.add(prediction="a cat", reference="the cat")
    other.add(prediction="a dog", reference="the dog")
    late, wrong = outcomes(
        main.compute, lambda: other.compute(predictions=["a", 5], references=["b", "c"])
    )
    assert isinstance(late, ValueError) and isinstance(wrong, TypeError)
    assert files_in(tmp_path) == []
    result, nothing = outcomes(main.compute, other.compute)
    assert len(result["scores"]) == 2 and nothing is None


def test_pairs_that_could_not_be_scored_wait_in_the_main_process(processes, tmp_path):
    main, other = processes
    main.add(prediction="a cat", reference="the cat")
    other.add(prediction="a dog", reference="the dog")
    missing = str(tmp_path / "no-model")
    error, nothing = outcomes(
        lambda: main.compute(
            predictions=["dropped"], references=["dropped"], model_name_or_path=missing
        ),
        other.compute,
    )
    assert isinstance(error, OSError) and nothing is None
    assert (len(main), len(other)) == (2, 0)
    assert files_in(tmp_path) == []
    result, nothing = outcomes(main.compute, other.compute)
    assert len(result["scores"]) == 2 and nothing is None


def test_no_pairs_in_any_process_is_an_error_of_the_main_one(processes, tmp_path):
    error, nothing = outcomes(*(metric.compute for metric in processes))
    assert "nothing to compute" in str(error) and nothing is None
    assert files_in(tmp_path) == []


def test_a_second_metric_in_the_same_place_is_refused_and_disturbs_nobody(process, tmp_path):
    main, other, twin = process(0, timeout=60), process(1, timeout=60), process(1)
    for metric, animal in ((main, "cat"), (other, "dog"), (twin, "bird")):
        metric.add(prediction=f"a {animal}", reference=f"the {animal}")
    with ThreadPoolExecutor() as pool:
        nothing = pool.submit(other.compute)
        while not files_in(tmp_path):
            time.sleep(0.01)
        with pytest.raises(ValueError, match="already using"):
            twin.compute()
        assert len(main.compute()["scores"]) == 2 and nothing.result() is None
    assert files_in(tmp_path) == []
