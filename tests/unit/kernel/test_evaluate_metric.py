"""Evaluate's side of any metric, shown on one whose scores are better the higher they are."""

import copy
import pickle
import warnings

import evaluate
import pytest

from infolm_metric.infolm_metric import InfoLM
from tests.project_files import ROOT
from tests.toy import Overlap, Toy, ToyScorer

PREDICTIONS = ["abcd", "abab", ""]
REFERENCES = ["abce", "abab", "x"]
LISTS = [["zzz", "abce"], ["abab"], ["x", "y"]]
OVERLAPS = {1: [3 / 5, 1.0, 0.0], 2: [2 / 6, 1.0, 0.0]}  # the last piece of 2 is one character


@pytest.mark.parametrize("references", [REFERENCES, LISTS], ids=["strings", "lists"])
@pytest.mark.parametrize("size", [1, 2])
def test_pairs_come_by_compute_or_in_batches_or_one_by_one_to_the_same_effect(size, references):
    toy = Toy(size=size)
    result = toy.compute(predictions=PREDICTIONS, references=references)
    assert result["scores"] == OVERLAPS[size]
    assert result["toy"] == pytest.approx(sum(OVERLAPS[size]) / 3)
    toy.add_batch(predictions=PREDICTIONS, references=references)
    assert len(toy) == 3 and toy.compute() == result and len(toy) == 0
    for prediction, reference in zip(PREDICTIONS, references, strict=True):
        toy.add(prediction=prediction, reference=reference)
    assert toy.compute() == result
    toy.add(prediction=PREDICTIONS[0], reference=references[0])
    assert toy.compute(predictions=PREDICTIONS[1:], references=references[1:]) == result


def test_what_is_added_while_pairs_are_scored_is_kept_for_the_next_call():
    class Adding(Overlap):  # as another thread would
        def score(self, pairs, settings, statistics):
            toy.add(prediction=PREDICTIONS[1], reference=REFERENCES[1])
            return super().score(pairs, settings, statistics)

    toy = Toy()
    toy.scorer.inner = Adding()
    toy.add(prediction=PREDICTIONS[0], reference=REFERENCES[0])
    assert [toy.compute()["scores"] for _ in range(2)] == [[each] for each in OVERLAPS[1][:2]]


def test_where_warnings_are_errors_what_was_added_remains(tiny_bert):
    metric = InfoLM(model_name_or_path=str(tiny_bert))
    metric.add_batch(predictions=["a cat"], references=["a dog"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="one distinct text"):
            metric.compute()
    assert len(metric) == 1


def test_a_result_says_which_metric_it_is_of_and_that_higher_is_better():
    result = Toy().compute(predictions=PREDICTIONS, references=REFERENCES, size=2)
    assert list(result) == ["toy", "scores", "higher_is_better", "signature", "remarks"]
    assert result["higher_is_better"] is True
    assert result["signature"].startswith("metric:toy|size:2|infolm:")
    assert result == ToyScorer(size=2).score(PREDICTIONS, REFERENCES)
    short = Toy(return_scores=False).compute(predictions=PREDICTIONS, references=REFERENCES)
    assert list(short) == ["toy", "higher_is_better", "signature", "remarks"]


def test_a_setting_of_a_call_holds_for_that_call():
    toy = Toy(size=2)
    pairs = {"predictions": PREDICTIONS, "references": REFERENCES}
    assert toy.compute(**pairs, size=1)["scores"] == OVERLAPS[1]
    assert toy.compute(**pairs)["scores"] == OVERLAPS[2]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"sise": 2}, TypeError, "'sise'; did you mean 'size'?"),
        ({"size": 0}, ValueError, "size must be at least 1, got 0"),
        ({"size": "2"}, TypeError, "size must be a whole number, got '2'"),
        ({"temperature": 2.0}, TypeError, "'temperature'; known: .*'size'"),  # of another metric
    ],
)
def test_a_wrong_setting_is_refused_and_what_was_added_before_remains(given, error, message):
    toy = Toy()
    toy.add(prediction="a", reference="b")
    for refusing in (toy.compute, Toy):
        with pytest.raises(error, match=message):
            refusing(**given)
    with pytest.raises(error, match=message):
        toy.compute(predictions=["a"], references=["b"], **given)
    assert len(toy) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"num_process": 2}, "num_process must be left out, got 2: .*torchrun .* ranks="),
        ({"num_process": 2, "process_id": 1}, "num_process must be left out"),
        ({"process_id": 1}, "process_id must be left out, got 1"),
        ({"experiment_id": "mine"}, "experiment_id must be left out, got 'mine'"),
    ],
)
def test_processes_that_would_meet_through_files_are_refused_with_the_way_to_meet(given, message):
    with pytest.raises(ValueError, match=message):
        Toy(**given)
    with pytest.raises(ValueError, match=message):
        evaluate.load(str(ROOT / "infolm_metric"), **given)


def test_what_evaluate_load_gives_every_metric_is_taken(tmp_path):
    given = {"num_process": 1, "process_id": 0, "experiment_id": None, "keep_in_memory": True}
    toy = Toy(**given, cache_dir=str(tmp_path), timeout=1, max_concurrent_cache_files=2, seed=3)
    toy.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    assert len(toy.compute()["scores"]) == 3
    assert list(tmp_path.iterdir()) == []


def test_inputs_by_another_name_are_refused_with_the_right_one():
    for name, right in (("candidates", "predictions"), ("refs", "references")):
        with pytest.raises(TypeError, match=f"'{name}'; did you mean '{right}'"):
            Toy().compute(**{"predictions": ["a"], "references": ["b"], name: ["c"]})


def test_a_wrong_text_is_refused_before_anything_is_scored():
    toy = Toy()
    with pytest.raises(TypeError, match=r"predictions\[1\] must be a string, got None"):
        toy.add_batch(predictions=["a", None], references=["b", "c"])
    with pytest.raises(ValueError, match="nothing to compute"):
        toy.compute()


def test_metrics_combine_and_each_says_its_own_direction(tiny_bert):
    infolm, toy = InfoLM(model_name_or_path=tiny_bert, idf=False), Toy(size=2)
    both = evaluate.combine([infolm, toy])
    pairs = {"predictions": ["the cat sat", "rain"], "references": ["a cat sat", "rain"]}
    apart = {metric.name: metric.compute(**pairs) for metric in (infolm, toy)}

    def check(result):
        assert result["infolm"] == apart["infolm"]["infolm"]
        assert result["toy"] == apart["toy"]["toy"]
        for name, alone in apart.items():
            for key in ("scores", "higher_is_better", "signature", "remarks"):
                assert result[f"{name}_{key}"] == alone[key]

    check(both.compute(**pairs))
    both.add_batch(**pairs)
    check(both.compute())
    for prediction, reference in zip(*pairs.values(), strict=True):
        both.add(prediction, reference)
    check(both.compute())


def test_a_copy_has_the_pairs_and_the_settings():
    toy = Toy(size=2)
    expected = toy.compute(predictions=PREDICTIONS, references=REFERENCES)
    toy.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    for twin in (copy.copy(toy), copy.deepcopy(toy), pickle.loads(pickle.dumps(toy))):
        assert twin.compute() == expected
    assert toy.compute() == expected
