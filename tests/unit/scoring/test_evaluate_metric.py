"""The interface to `evaluate`, tested with a metric that has no model."""

import evaluate
import pytest

from infolm_metric import InputError
from tests.toy import ToyRun, ToyScorer
from tests.toy_module import Toy

PREDICTIONS = ["abcd", "abab", ""]
REFERENCES = ["abce", "abab", "x"]


@pytest.mark.parametrize("computed", [False, True])
def test_concurrent_calls_during_scoring_do_not_lose_pairs(computed, monkeypatch):
    class Busy(ToyRun):
        def score_chunk(self, *arguments):
            if len(toy) == 1:  # simulates another thread
                toy.add(prediction=PREDICTIONS[1], reference=REFERENCES[1])
                if computed:
                    toy.compute()
                    toy.add(prediction=PREDICTIONS[0], reference=REFERENCES[0])  # an equal pair
            return super().score_chunk(*arguments)

    monkeypatch.setattr(ToyScorer, "run_type", Busy)
    toy = Toy()
    toy.add(prediction=PREDICTIONS[0], reference=REFERENCES[0])
    later = [3 / 5] if computed else [1.0]
    assert [toy.compute()["scores"] for _ in range(2)] == [[3 / 5], later]


def test_a_metric_without_pairs_is_true():
    toy = Toy()
    assert toy and len(toy) == 0


INVALID = [  # method, arguments, error, pattern of its message
    ("compute", {"size": 0}, InputError, "size must be at least 1"),
    *(("compute", {flag: 1}, InputError, flag) for flag in ("return_scores", "details", "verbose")),
    ("compute", {"rescale_with_baseline": 3}, InputError, "rescale_with_baseline"),
    ("compute", {"ranks": "shares"}, InputError, "unknown ranks 'shares'. Did you mean 'share'"),
    ("compute", {"ranks": "same", "gather": "first"}, InputError, "unknown gather 'first'"),
    ("compute", {"gather": "main"}, InputError, "gather='main' needs ranks="),
    ("compute", {"candidates": ["a"]}, InputError, "Did you mean 'predictions'"),
    ("compute", {"reference": ["a"]}, InputError, "Did you mean 'references'"),
    ("compute", {"sources": ["a"]}, InputError, "'sources'. Pass the sources as references"),
    ("compute", {"predictions": ["a"]}, InputError, "references"),
    ("add_batch", {"predictions": ["a"], "refs": ["b"]}, InputError, "Did you mean 'references'"),
    ("add_batch", {"predictions": ["a"], "references": ["b"], "size": 2}, InputError, "'size'"),
    ("add", {"prediction": "a", "predictions": "a"}, InputError, "both prediction and predictions"),
    ("__init__", {"config_name": "kl"}, InputError, "config_name must be None, got 'kl'"),
    ("__init__", {"num_process": 2}, InputError, "num_process .*torchrun .*ranks="),
]


@pytest.mark.parametrize(("method", "arguments", "error", "word"), INVALID)
def test_invalid_arguments_are_rejected_and_added_pairs_are_kept(method, arguments, error, word):
    toy = Toy()
    toy.add(prediction="ab", reference="a")
    with pytest.raises(error, match=word):
        getattr(toy, method)(**arguments)
    assert toy.compute()["scores"] == [0.5]


def test_standard_evaluate_arguments_are_accepted_and_no_file_is_written(tmp_path):
    processes = {"num_process": 1, "process_id": 0, "experiment_id": "mine"}
    more = {"timeout": 1, "max_concurrent_cache_files": 2, "seed": 3, "keep_in_memory": True}
    toy = Toy(**processes, **more, cache_dir=str(tmp_path))
    toy.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises(InputError):
        toy.add(prediction=5, reference="b")
    assert len(toy.compute()["scores"]) == 3
    assert list(tmp_path.iterdir()) == []


def test_clashing_keys_of_combined_metrics_are_prefixed_with_the_metric_name():
    pairs = {"predictions": PREDICTIONS, "references": REFERENCES}
    small, large = (Toy(size=size) for size in (1, 2))
    by_number = evaluate.combine([small, large]).compute(**pairs)
    by_name = evaluate.combine({"small": small, "large": large}).compute(**pairs)
    assert small.name == small.info.module_name == "toy"
    assert by_number["toy_1_toy"] == by_name["large_toy"] == large.compute(**pairs)["toy"]
    assert by_number["toy_0_scores"] == by_name["small_scores"] != by_name["large_scores"]
