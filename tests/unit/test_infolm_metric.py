"""InfoLM as a metric of `evaluate`: inputs, settings, the buffer, and life among other metrics."""

import copy
import dataclasses
import json
import pickle
import shutil

import datasets
import evaluate
import numpy as np
import pandas as pd
import pytest
from datasets.fingerprint import Hasher

from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.infolm.settings import Settings
from infolm_metric.infolm_metric import InfoLM

PREDICTIONS = ["The cat sat on the mat.", "Rain fell for 12 days."]
REFERENCES = ["The cat slept on the chair.", "Rain fell for 12 days."]
LISTS = [["The dog ran.", "The cat slept on the chair."], ["Rain fell for 12 days."]]

WAYS = {
    "compute": lambda metric, predictions, references: metric.compute(
        predictions=predictions, references=references
    ),
    "add_batch": lambda metric, predictions, references: metric.add_batch(
        predictions=predictions, references=references
    ),
}

WRONG_BATCHES = {
    "unequal lengths": (["a", "b"], ["a"], ValueError, "2 predictions and 1 reference"),
    "no pairs": ([], [], ValueError, "empty"),
    "a bare prediction": ("abc", ["a", "b", "c"], TypeError, "predictions .* bare string 'abc'"),
    "a bare reference": (["a", "b", "c"], "abc", TypeError, "references .* bare string 'abc'"),
    "no references": (["a"], None, TypeError, "references .* None"),
    "no predictions": (None, ["a"], TypeError, "predictions .* None"),
    "a number as references": (["a"], 5, TypeError, "references .* 5"),
    "a set": (["a"], {"a"}, TypeError, r"references .*\(set\)"),
}
WRONG_PAIRS = {
    "None as prediction": (None, "a", TypeError, "prediction.* None"),
    "a number as prediction": (5, "a", TypeError, r"prediction.* 5 \(int\)"),
    "NaN as prediction": (float("nan"), "a", TypeError, "prediction.* nan"),
    "bytes as prediction": (b"a", "a", TypeError, r"prediction.* \(bytes\)"),
    "a list as prediction": (["a"], "a", TypeError, r"prediction.* \(list\)"),
    "None as reference": ("a", None, TypeError, "reference.* None"),
    "a number as reference": ("a", 5, TypeError, r"reference.* 5 \(int\)"),
    "an empty reference list": ("a", [], ValueError, "reference.* empty list"),
    "None among references": ("a", ["a", None], TypeError, "reference.* None"),
    "a list among references": ("a", ["x", ["y", "z"]], TypeError, r"reference.* \(list\)"),
    "a lone surrogate in a prediction": ("\ud800", "a", ValueError, "prediction.* surrogate"),
    "a lone surrogate in a reference": ("a", "b\udfff", ValueError, "reference.* surrogate"),
    "a lone surrogate in a list": ("a", ["b", "\ud800"], ValueError, "reference.* surrogate"),
}


@pytest.fixture(scope="module")
def shared(tiny_bert):
    """A metric with its model loaded, for tests that leave nothing behind in it."""
    return InfoLM(model_name_or_path=tiny_bert)


@pytest.fixture
def unloadable(tmp_path):
    """A metric without a model: an error about anything else came before it was looked for."""
    return InfoLM(model_name_or_path=str(tmp_path / "no-model"), cache_dir=str(tmp_path / "cache"))


def cases(table):
    return pytest.mark.parametrize("case", table.values(), ids=table.keys())


# What is refused, before a model is loaded, whichever way it comes.


@pytest.mark.parametrize("way", WAYS)
@cases(WRONG_BATCHES)
def test_a_wrong_batch_is_refused_and_what_was_added_before_remains(unloadable, way, case):
    predictions, references, error, message = case
    unloadable.add(prediction="a", reference="b")
    with pytest.raises(error, match=message):
        WAYS[way](unloadable, predictions, references)
    assert len(unloadable) == 1


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("way", WAYS)
@cases(WRONG_PAIRS)
def test_a_wrong_pair_is_refused_at_any_position_of_a_batch(unloadable, way, position, case):
    prediction, reference, error, message = case
    good = ["fine"] if isinstance(reference, list) else "fine"
    predictions, references = ["fine"], [good]
    predictions.insert(position, prediction)
    references.insert(position, reference)
    with pytest.raises(error, match=message):
        WAYS[way](unloadable, predictions, references)
    assert len(unloadable) == 0


@cases(WRONG_PAIRS)
def test_a_wrong_pair_is_refused_by_add_and_what_was_added_before_remains(unloadable, case):
    prediction, reference, error, message = case
    unloadable.add_batch(predictions=["a", "b"], references=["c", "d"])
    with pytest.raises(error, match=message):
        unloadable.add(prediction=prediction, reference=reference)
    assert len(unloadable) == 2


@pytest.mark.parametrize("way", WAYS)
def test_strings_and_lists_are_not_mixed_in_a_batch(unloadable, way):
    with pytest.raises(ValueError, match=r"references\[0\] is a string, references\[1\] a list"):
        WAYS[way](unloadable, ["a", "b"], ["a", ["b"]])


@pytest.mark.parametrize("first, second", [("b", ["b"]), (["b"], "b")])
def test_strings_and_lists_are_not_mixed_over_several_calls(unloadable, first, second):
    unloadable.add(prediction="a", reference=first)
    with pytest.raises(ValueError, match="strings .*before .* now"):
        unloadable.add(prediction="a", reference=second)
    for way in WAYS.values():
        with pytest.raises(ValueError, match="strings .*before .* now"):
            way(unloadable, ["a"], [second])
    unloadable.add(prediction="a", reference=first)
    assert len(unloadable) == 2


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"temperature": 0}, ValueError, "temperature must be > 0"),
        ({"temperature": -1.0}, ValueError, "temperature must be > 0"),
        ({"temperature": float("nan")}, ValueError, "temperature must be finite"),
        ({"temperature": "hot"}, TypeError, "temperature"),
        ({"information_measure": "fisher"}, ValueError, "'fisher'.*fisher_rao"),
        ({"information_measure": []}, ValueError, "information_measure"),
        ({"information_measure": "alpha_divergence"}, ValueError, "alpha"),
        ({"information_measure": "alpha_divergence", "alpha": 1}, ValueError, "alpha"),
        ({"information_measure": "ab", "alpha": 0.5, "beta": -0.5}, ValueError, "alpha|beta"),
        ({"information_measure": "kl", "interpolation": 1}, ValueError, "interpolation"),
        ({"symmetrize": "jeffrey"}, ValueError, "jeffreys"),
        ({"multi_reference": "max"}, ValueError, "multi_reference"),
        ({"idf": "reference"}, ValueError, "idf"),
        ({"long_text": "windows"}, ValueError, "window"),
        ({"dtype": "float64"}, ValueError, "dtype"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"return_scores": "yes"}, TypeError, "return_scores"),
        ({"temprature": 2.0}, TypeError, "'temprature'.*'temperature'"),
    ],
)
def test_a_wrong_setting_is_refused_by_compute_and_by_the_constructor(
    unloadable, settings, error, message
):
    unloadable.add(prediction="a", reference="b")
    with pytest.raises(error, match=message):
        unloadable.compute(**settings)
    with pytest.raises(error, match=message):
        unloadable.compute(predictions=["a"], references=["b"], **settings)
    with pytest.raises(error, match=message):
        InfoLM(**settings)
    assert len(unloadable) == 1


@pytest.mark.parametrize(
    "name, nearest",
    [
        ("candidates", "predictions"),
        ("prediction", "predictions"),
        ("hypotheses", "predictions"),
        ("preds", "predictions"),
        ("refs", "references"),
        ("reference", "references"),
        ("target", "references"),
    ],
)
def test_inputs_by_another_name_are_refused_with_the_right_one(unloadable, name, nearest):
    with pytest.raises(TypeError, match=f"compute .*'{name}'; did you mean '{nearest}'"):
        unloadable.compute(**{"predictions": ["a"], "references": ["b"], name: ["c"]})
    with pytest.raises(TypeError, match=f"add_batch .*'{name}'; did you mean '{nearest}'"):
        unloadable.add_batch(**{"predictions": ["a"], "references": ["b"], name: ["c"]})


def test_add_refuses_other_names_and_the_same_text_twice(unloadable):
    with pytest.raises(TypeError, match="add .*'candidate'; did you mean 'predictions'"):
        unloadable.add(candidate="a", reference="b")
    with pytest.raises(TypeError, match="both prediction and predictions"):
        unloadable.add(prediction="a", predictions="a", reference="b")
    with pytest.raises(TypeError, match="add_batch .*'temperature'"):
        unloadable.add_batch(predictions=["a"], references=["b"], temperature=2)
    assert len(unloadable) == 0


def test_arguments_are_given_by_name(unloadable):
    for method in (unloadable.compute, unloadable.add_batch, unloadable.add):
        with pytest.raises(TypeError, match="positional"):
            method(["a"], ["b"])


def test_a_configuration_name_is_refused_because_there_are_none():
    with pytest.raises(ValueError, match="no configurations, got config_name='kl_divergence'"):
        InfoLM("kl_divergence")


def test_compute_without_pairs_is_refused(unloadable):
    with pytest.raises(ValueError, match="nothing to compute"):
        unloadable.compute()


# What comes out.


def test_a_result_is_the_scorer_s_in_plain_numbers(shared, tiny_bert):
    result = shared.compute(predictions=PREDICTIONS, references=REFERENCES)
    expected = InfoLMScorer(model_name_or_path=tiny_bert).score(PREDICTIONS, REFERENCES)
    assert list(result) == ["infolm", "scores", "higher_is_better", "signature", "remarks"]
    assert result == expected.as_dict()
    assert result["higher_is_better"] is False
    assert result["signature"].startswith("metric:infolm|measure:fisher_rao_distance|")
    remarks = {"texts": 4, "too_long": 0, "empty": 0, "one_token": 0, "distinct_documents": 2}
    assert result["remarks"].items() >= remarks.items()
    others = {"zero_weight", "unknown_tokens", "tokens", "unread"}
    assert result["remarks"].keys() - remarks == others
    assert type(result["infolm"]) is float and {type(s) for s in result["scores"]} == {float}
    assert result["scores"][0] > 0 == result["scores"][1]
    assert json.loads(json.dumps(result)) == result


def test_pairs_come_by_compute_or_in_batches_or_one_by_one_to_the_same_effect(shared):
    for references in (REFERENCES, LISTS):
        expected = shared.compute(predictions=PREDICTIONS, references=references)
        shared.add_batch(predictions=PREDICTIONS, references=references)
        assert len(shared) == 2
        assert shared.compute() == expected
        for prediction, reference in zip(PREDICTIONS, references, strict=True):
            shared.add(prediction=prediction, reference=reference)
        assert shared.compute() == expected
        shared.add(prediction=PREDICTIONS[0], reference=references[0])
        assert shared.compute(predictions=PREDICTIONS[1:], references=references[1:]) == expected


def test_a_list_of_one_reference_is_that_reference(shared):
    single = shared.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert shared.compute(predictions=PREDICTIONS, references=[[r] for r in REFERENCES]) == single


def test_after_a_success_nothing_remains(shared):
    shared.add(prediction="a", reference="b")
    shared.compute()
    assert len(shared) == 0
    with pytest.raises(ValueError, match="nothing to compute"):
        shared.compute()


@pytest.mark.parametrize(
    "columns",
    [
        lambda p, r: (tuple(p), tuple(r)),
        lambda p, r: (np.array(p), np.array(r)),
        lambda p, r: (np.array(p, dtype=object), np.array(r, dtype=object)),
        lambda p, r: (pd.Series(p, index=[7, 5]), pd.Series(r, index=[7, 5])),
        lambda p, r: tuple(datasets.Dataset.from_dict({"p": p, "r": r})[c] for c in "pr"),
    ],
    ids=["tuples", "arrays", "object arrays", "series", "columns of a dataset"],
)
def test_columns_of_any_kind_do_as_well_as_lists(shared, columns):
    predictions, references = columns(PREDICTIONS, REFERENCES)
    expected = shared.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert shared.compute(predictions=predictions, references=references) == expected
    shared.add_batch(predictions=predictions, references=references)
    assert shared.compute() == expected


def test_a_dataset_column_of_lists_holds_several_references(shared):
    data = datasets.Dataset.from_dict({"p": PREDICTIONS, "r": LISTS})
    expected = shared.compute(predictions=PREDICTIONS, references=LISTS)
    assert shared.compute(predictions=data["p"], references=data["r"]) == expected


def test_several_measures_come_by_name_from_one_call(shared):
    names = ["kl", "l1_distance"]
    result = shared.compute(
        predictions=PREDICTIONS, references=REFERENCES, information_measure=names
    )
    assert list(result["infolm"]) == list(result["scores"]) == ["kl_divergence", "l1_distance"]
    for name in names:
        single = shared.compute(
            predictions=PREDICTIONS, references=REFERENCES, information_measure=name
        )
        full = {"kl": "kl_divergence"}.get(name, name)
        assert result["scores"][full] == pytest.approx(single["scores"], rel=1e-6, abs=1e-6)
        assert result["infolm"][full] == pytest.approx(single["infolm"], rel=1e-6, abs=1e-6)


def test_return_scores_false_leaves_the_scores_of_the_pairs_out(shared, tiny_bert):
    result = shared.compute(predictions=PREDICTIONS, references=REFERENCES, return_scores=False)
    assert list(result) == ["infolm", "higher_is_better", "signature", "remarks"]
    quiet = InfoLM(model_name_or_path=tiny_bert, return_scores=False)
    assert quiet.compute(predictions=PREDICTIONS, references=REFERENCES) == result
    loud = quiet.compute(predictions=PREDICTIONS, references=REFERENCES, return_scores=True)
    assert len(loud["scores"]) == 2


# Settings, the model, and what is left after an error.


def test_settings_of_the_constructor_are_defaults_that_a_call_can_change(shared, tiny_bert):
    chosen = {"information_measure": "renyi", "alpha": 0.5, "temperature": 2.0}
    metric = InfoLM(model_name_or_path=tiny_bert, **chosen)
    pairs = {"predictions": PREDICTIONS, "references": REFERENCES}
    assert metric.compute(**pairs) == shared.compute(**pairs, **chosen)
    hotter = shared.compute(**pairs, **{**chosen, "temperature": 4.0})
    assert metric.compute(**pairs, temperature=4.0) == hotter
    assert metric.compute(**pairs) == shared.compute(**pairs, **chosen) != hotter


def test_the_environment_names_the_default_model(monkeypatch, tiny_bert, shared):
    monkeypatch.setenv("INFOLM_MODEL", str(tiny_bert))
    pairs = {"predictions": PREDICTIONS, "references": REFERENCES}
    assert InfoLM().compute(**pairs) == shared.compute(**pairs)


def test_the_model_is_loaded_once_and_kept(tmp_path, tiny_bert):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    metric = InfoLM(model_name_or_path=str(folder))
    first = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    shutil.rmtree(folder)
    assert metric.compute(predictions=PREDICTIONS, references=REFERENCES) == first
    other = metric.compute(predictions=["A dog ran."], references=["A man ran."], temperature=2.0)
    assert other["infolm"] > 0


def test_after_an_error_what_was_added_remains_and_the_arguments_do_not(unloadable, tiny_bert):
    unloadable.add(prediction=PREDICTIONS[0], reference=REFERENCES[0])
    with pytest.raises(OSError, match="no-model"):
        unloadable.compute(predictions=["dropped"], references=["dropped"])
    unloadable.add_batch(predictions=PREDICTIONS[1:], references=REFERENCES[1:])
    result = unloadable.compute(model_name_or_path=str(tiny_bert))
    assert len(result["scores"]) == 2
    whole = unloadable.compute(
        predictions=PREDICTIONS, references=REFERENCES, model_name_or_path=str(tiny_bert)
    )
    assert result == whole


def test_one_process_writes_no_file(unloadable, tmp_path, tiny_bert):
    unloadable.add(prediction="a", reference="b")
    with pytest.raises(OSError, match="no-model"):
        unloadable.compute()
    with pytest.raises(TypeError):
        unloadable.add(prediction=5, reference="b")
    unloadable.compute(model_name_or_path=str(tiny_bert))
    assert list(tmp_path.iterdir()) == []


def test_a_copy_has_the_pairs_and_the_settings_but_not_the_model(tiny_bert):
    metric = InfoLM(model_name_or_path=tiny_bert, temperature=2.0)
    untouched = Hasher.hash(metric)
    expected = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert Hasher.hash(metric) == untouched  # so that datasets finds what it has mapped before
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    assert len(pickle.dumps(metric)) < 50_000
    for twin in (copy.copy(metric), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert twin.compute() == expected
    assert metric.compute() == expected


# Life among other metrics.

LENGTH_RATIO = '''
import datasets
import evaluate


class LengthRatio(evaluate.Metric):
    """Characters of the predictions per character of the references."""

    def _info(self):
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="",
            features=datasets.Features({"predictions": text, "references": text}),
        )

    def _compute(self, predictions, references):
        return {"length_ratio": sum(map(len, predictions)) / sum(map(len, references))}
'''


@pytest.fixture
def length_ratio(tmp_path):
    script = tmp_path / "length_ratio.py"
    script.write_text(LENGTH_RATIO)
    return evaluate.load(str(script), cache_dir=str(tmp_path / "cache"))


def test_it_combines_with_another_metric(length_ratio, tiny_bert, shared):
    infolm = InfoLM(model_name_or_path=tiny_bert, temperature=2.0)
    both = evaluate.combine([infolm, length_ratio])
    ratio = sum(map(len, PREDICTIONS)) / sum(map(len, REFERENCES))
    expected = {
        **shared.compute(predictions=PREDICTIONS, references=REFERENCES, temperature=2.0),
        "length_ratio": ratio,
    }
    assert both.compute(predictions=PREDICTIONS, references=REFERENCES) == expected
    both.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    assert both.compute() == expected
    for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True):
        both.add(prediction, reference)
    assert both.compute() == expected


def test_its_name_is_the_prefix_where_results_of_combined_metrics_clash(tiny_bert, shared):
    plain, hot = (InfoLM(model_name_or_path=tiny_bert, temperature=t) for t in (1.0, 2.0))
    pairs = {"predictions": PREDICTIONS, "references": REFERENCES}
    by_number = evaluate.combine([plain, hot]).compute(**pairs)
    by_name = evaluate.combine({"plain": plain, "hot": hot}).compute(**pairs)
    expected = shared.compute(**pairs, temperature=2.0)
    assert plain.name == plain.info.module_name == "infolm"
    assert by_number["infolm_1_infolm"] == by_name["hot_infolm"] == expected["infolm"]
    assert by_number["infolm_0_scores"] == by_name["plain_scores"] != expected["scores"]


# The manual page.


def test_every_setting_stands_in_the_inputs_description():
    manual = InfoLM().inputs_description
    missing = [f.name for f in dataclasses.fields(Settings) if f"\n    {f.name} (" not in manual]
    assert missing == []


def test_help_on_compute_shows_the_manual():
    metric = InfoLM()
    for method in (metric.compute, metric.add, metric.add_batch):
        assert method.__doc__.endswith(metric.inputs_description)


def test_the_citation_names_the_paper_and_the_software():
    assert "@inproceedings{colombo2022infolm" in InfoLM().citation
    assert "@software{infolm_metric" in InfoLM().citation


def test_the_features_are_strings_with_one_or_several_references():
    one, several = InfoLM().features
    assert one["references"].dtype == "string"
    assert several["references"].feature.dtype == "string"
