"""Contract of all metrics: `evaluate` protocol, scores, streams, copies, warnings, caching."""

import copy
import itertools
import json
import pickle
import pkgutil
import random
import re
import statistics
import typing
import warnings
from concurrent.futures import ThreadPoolExecutor

import datasets
import evaluate
import hypothesis
import numpy as np
import pyarrow
import pytest
import torch
from datasets.fingerprint import Hasher
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from infolm_metric import IDF, InputError
from infolm_metric.core.settings import ModelSettings, field_types
from infolm_metric.metrics import METRICS
from tests.nearly_equal import assert_nearly_equal
from tests.nli_models import MODELS
from tests.random_pairs import random_pairs
from tests.toy import TOY

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")

SETTINGS = {  # settings for the tiny model of each metric, and a change of settings
    "infolm": ({}, {"temperature": 2.0}),
    "baryscore": ({"layers": 2}, {"layers": 1}),
    "bertscore": ({"layer": 1}, {"layer": 2}),
    "menli": ({}, {"formula": "e-c"}),
    "answer_check": ({}, {"labels": "contradiction,neutral,entailment"}),
    "toy": ({}, {"size": 2}),
}
WITH_NLI = ("menli", "answer_check")
EXPECTED_WARNINGS = {  # for unusual texts
    "infolm": {"too_long": 1, "empty": 2, "one_token": 3, "zero_weight": 2, "blank_references": 2},
    "baryscore": {"too_long": 1, "empty": 2, "zero_weight": 2, "blank_references": 2},
    "bertscore": {"too_long": 1, "empty": 2, "zero_weight": 2, "blank_references": 2},
    "menli": {"too_long_pairs": 1, "empty": 2, "blank_references": 2},
    "answer_check": {"too_long_pairs": 1, "empty": 2, "blank_references": 2},
}
ROWS = random_pairs(7, seed=1)
CANDIDATES = [row["prediction"] for row in ROWS]
LISTS = [row["references"] for row in ROWS]
REFERENCES = [group[0] for group in LISTS]
PAIRS = {"predictions": CANDIDATES, "references": REFERENCES}
SEVERAL = {"predictions": CANDIDATES, "references": LISTS}


WITH_MODEL = pytest.mark.parametrize("metric", METRICS, indirect=True)


@pytest.fixture(params=SETTINGS)
def metric(request):
    """Entry of a metric in the table of metrics."""
    return {**METRICS, "toy": TOY}[request.param]


@pytest.fixture
def tiny_settings(metric, tiny_bert, tiny_nli):
    """Settings of the metric for a tiny model."""
    settings, _ = SETTINGS[metric.name]
    model = tiny_nli() if metric.name in WITH_NLI else tiny_bert
    return settings if metric.name == "toy" else {"model_name_or_path": str(model), **settings}


@pytest.fixture
def change(metric):
    """Setting that changes the scores of the metric."""
    return SETTINGS[metric.name][1]


@pytest.fixture
def scorer(metric, tiny_settings):
    return metric.scorer_type()(**tiny_settings)


@pytest.fixture
def make(metric, scorer):
    """Function that creates the metric for `evaluate` with the settings of the scorer."""
    metric_type = pkgutil.resolve_name(metric.evaluate)
    values = {name: getattr(scorer.settings, name) for name in field_types(type(scorer.settings))}
    return lambda **settings: metric_type(**{**values, **settings})


@pytest.fixture
def uniform(scorer):
    """Settings for scores that do not depend on the other pairs."""
    return {"idf": False} if "idf" in field_types(type(scorer.settings)) else {}


# The `evaluate` protocol


def call_arguments(rows, several):
    """Return the arguments of a call, with one reference or a list of references per pair."""
    references = [row["references"] if several else row["references"][0] for row in rows]
    return {"predictions": [row["prediction"] for row in rows], "references": references}


def with_references(rows, several):
    """Return rows with all of their references, or only the first."""
    return [{**row, "references": row["references"][: None if several else 1]} for row in rows]


def pickle_and_unpickle(pickled):
    return pickle.loads(pickle.dumps(pickled))


class Calls(RuleBasedStateMachine):
    """Random sequences of calls, compared with a list of the pairs that the metric must hold."""

    rows = st.lists(st.sampled_from([*ROWS, {"prediction": "", "references": ["a cat"]}]))
    mistakes = [{"sise": 1}, {"predictions": [None]}, {"model_name_or_path": "./none"}]

    def __init__(self, metric, scorer):
        super().__init__()
        self.metric, self.scorer, self.held_rows = metric, scorer, []

    @rule(rows=rows, several=st.booleans(), singly=st.booleans())
    def add(self, rows, several, singly):
        if singly:
            for row in rows:
                pair = call_arguments([row], several)
                self.metric.add(**{name[:-1]: values[0] for name, values in pair.items()})
        else:
            self.metric.add_batch(**call_arguments(rows, several))
        self.held_rows = self.held_rows + with_references(rows, several)

    @rule(rows=rows, several=st.booleans(), strict=st.booleans())
    def compute(self, rows, several, strict):
        if not (self.held_rows or rows):
            with pytest.raises(InputError, match="at least one pair"):
                self.metric.compute(**call_arguments(rows, several))
            return
        held_rows = self.held_rows + with_references(rows, several)
        expected = self.scorer.score(**call_arguments(held_rows, True))
        arguments = call_arguments(rows, several) if rows else {}
        with warnings.catch_warnings():
            if strict:  # pairs are kept if a warning is raised as an error
                warnings.filterwarnings("error", message="infolm: .*no token")
            if strict and expected["warnings"].get("empty"):
                with pytest.raises(UserWarning):
                    self.metric.compute(**arguments)
            else:
                assert_nearly_equal(self.metric.compute(**arguments), expected)
                self.held_rows = []

    @rule(rows=rows.filter(bool), several=st.booleans(), mistake=st.sampled_from(mistakes))
    def fail(self, rows, several, mistake):
        with pytest.raises((InputError, OSError)):
            self.metric.compute(**{**call_arguments(rows, several), **mistake})

    @rule(twin=st.sampled_from([copy.copy, copy.deepcopy, pickle_and_unpickle]))
    def replace_by_copy(self, twin):
        self.metric = twin(self.metric)

    @invariant()
    def holds_the_added_pairs(self):
        assert len(self.metric) == len(self.held_rows)


@pytest.mark.parametrize("metric", ["infolm", "toy"], indirect=True)
def test_added_pairs_survive_calls_errors_and_copies_in_any_order(make, scorer):
    limits = hypothesis.settings(max_examples=8, stateful_step_count=8, derandomize=True)
    run_state_machine_as_test(lambda: Calls(make(), scorer), settings=limits)


def test_results_are_json_serializable_and_have_fixed_keys(metric, make):
    result = make().compute(**PAIRS)
    verdicts = ["verdicts"] if metric.settings_type().verdict_columns else []
    keys = [metric.name, "scores", *verdicts, "higher_is_better", "signature", "warnings"]
    assert list(result) == keys
    assert json.loads(json.dumps(result)) == result
    assert result[metric.name] == pytest.approx(sum(result["scores"]) / len(result["scores"]))
    assert result["higher_is_better"] is metric.scorer_type().higher_is_better
    assert result["signature"].startswith(f"metric:{metric.name}|")


def test_calls_can_override_the_settings_of_a_metric(make, change):
    evaluated = make()
    result, changed_result = evaluated.compute(**PAIRS), make(**change).compute(**PAIRS)
    assert all(result[name] != changed_result[name] for name in ("scores", "signature"))
    assert_nearly_equal(evaluated.compute(**PAIRS, **change), changed_result)
    assert_nearly_equal(evaluated.compute(**PAIRS), result)


def test_invalid_calls_are_rejected_without_loading_a_model_or_losing_pairs(make, scorer, no_model):
    evaluated, pairs = make(), {"predictions": ["a", None], "references": ["b", "c"]}
    evaluated.add(prediction="a", reference="b")
    checks = [
        lambda: evaluated.add_batch(**pairs),
        lambda: evaluated.compute(**pairs),
        lambda: evaluated.compute(sise=1),
        lambda: make(sise=1),
        lambda: scorer.score(**pairs),
        lambda: scorer.score(["a"], ["b"], sise=1),
        lambda: scorer.score(["a"], ["b"], rescale_with_baseline="no/such/file"),
        lambda: scorer.signature(sise=1),
        lambda: scorer.stream([], sise=1),
        lambda: scorer.stream("ab"),
        lambda: scorer.matrix([], ["a"]),
        lambda: scorer.matrix(["a"], ["b", 5]),
        lambda: scorer.matrix(["a"], ["b"], sise=1),
        lambda: scorer.select([]),
    ]
    for check in checks:
        with pytest.raises(InputError):
            check()
    assert len(evaluated) == 1


class LengthRatio(evaluate.Metric):
    """Ratio of the number of characters in the predictions to the number in the references."""

    def _info(self):
        features = datasets.Features(dict.fromkeys(PAIRS, datasets.Value("string")))
        texts = {"description": "", "citation": "", "inputs_description": ""}
        return evaluate.MetricInfo(**texts, features=features)

    def _compute(self, predictions, references):
        return {"length_ratio": sum(map(len, predictions)) / sum(map(len, references))}


def test_metrics_can_be_combined_with_third_party_metrics(make, tmp_path):
    ratio = LengthRatio(cache_dir=str(tmp_path))
    combination = evaluate.combine([make(), ratio])
    expected = {**make().compute(**PAIRS), **ratio.compute(**PAIRS)}
    assert_nearly_equal(combination.compute(**PAIRS), expected)
    combination.add_batch(**PAIRS)
    assert_nearly_equal(combination.compute(), expected)
    for prediction, reference in zip(*PAIRS.values(), strict=True):
        combination.add(prediction, reference)
    assert_nearly_equal(combination.compute(), expected)


def test_metrics_have_a_small_pickle_and_a_stable_fingerprint(make, scorer):
    evaluated = make()
    untouched = Hasher.hash(evaluated)
    expected = evaluated.compute(**PAIRS)
    assert Hasher.hash(evaluated) == untouched  # lets datasets reuse its cache
    assert len(pickle.dumps(evaluated)) < 50_000
    scorer.score(**PAIRS)
    twin = pickle_and_unpickle(scorer)
    assert twin.settings == scorer.settings
    assert_nearly_equal(twin.score(**PAIRS), expected)


# Scorers


def test_scores_lie_within_the_bounds_and_identical_texts_score_best(metric, scorer):
    (name,) = scorer.settings.names
    least, largest = scorer.bounds(scorer.settings, name)
    assert all(least <= score <= largest for score in scorer.score(**SEVERAL)["scores"])
    if metric.name in ("infolm", "baryscore", "bertscore"):
        best = scorer.best(scorer.settings, name)
        assert scorer.score(CANDIDATES, CANDIDATES)["scores"] == [best] * len(CANDIDATES)


# BaryScore has BERTScore's encoder and answer_check has MENLI's. XLM-RoBERTa has RoBERTa's layers.
LAYERS = [family for family in MODELS if family != "xlm-roberta"]
FAMILIES = [*itertools.product(["infolm", "bertscore", "menli"], LAYERS)]
FAMILIES += [("baryscore", "bert"), ("answer_check", "bert")]


@pytest.mark.parametrize(("metric", "family"), FAMILIES, indirect=["metric"])
def test_scores_do_not_depend_on_other_pairs_order_batch_size_or_chunks(
    metric, family, tiny_models, tiny_nli, monkeypatch
):
    settings, options = SETTINGS[metric.name][0], {"reuse_memory": 0, "max_length": 15}
    model = tiny_nli(family) if metric.name in WITH_NLI else tiny_models(family)
    scorer = metric.scorer_type()(model_name_or_path=model, **settings)
    if metric.name not in WITH_NLI:
        options["idf"] = IDF.from_corpus([*CANDIDATES, *REFERENCES], scorer.tokenizer)
        options["long_text"] = "window"
    if metric.name == "infolm":
        options |= {"temperature": 0.25, "information_measure": ["kl", "fisher_rao", "l1"]}
    # In InfoLM, ModernBERT runs its own encoder, whose attention depends on the batch.
    gap = 4e-6 if (metric.name, family) == ("infolm", "modernbert") else 0

    def scores(candidates, references, **choices):
        result = scorer.score(candidates, references, **options, **choices)
        return np.array(list(result.scores.values())).T

    def agree(result):
        return np.allclose(result, expected, rtol=gap, atol=gap)

    candidates = [*CANDIDATES, "", "the old man saw a small boat near the river. " * 3, "the cat"]
    references = [*LISTS, ["rain"], ["a boat"], ["the cat", ""]]
    expected = scores(candidates, references)
    assert len(np.unique(expected)) > len(ROWS)
    pairs = zip(candidates, references, strict=True)
    singles = [scores([candidate], [group])[0] for candidate, group in pairs]
    assert agree(singles)
    assert agree(scores(["rain", *candidates[::-1]], [["a dog"], *references[::-1]])[:0:-1])
    assert agree(scores(candidates, references, batch_size=1))
    for name in ("infolm.scorer", "scoring.encoding_scorer"):
        monkeypatch.setattr(f"infolm_metric.{name}.CHUNK_TEXTS", 1)
    assert agree(scores(candidates, references))


@WITH_MODEL
def test_multiple_references_are_scored_separately_and_reduced(scorer, uniform):
    flat = [text for group in LISTS for text in group]
    repeated = [row["prediction"] for row in ROWS for _ in row["references"]]
    flat_scores = iter(scorer.score(repeated, flat, **uniform)["scores"])
    group_scores = [[next(flat_scores) for _ in group] for group in LISTS]
    rules = {"min": min, "max": max, "mean": statistics.fmean}
    for name in typing.get_args(field_types(type(scorer.settings))["multi_reference"]):
        scores = scorer.score(**SEVERAL, multi_reference=name, **uniform)["scores"]
        assert_nearly_equal(scores, [rules[name](group) for group in group_scores])


@WITH_MODEL
@pytest.mark.parametrize(("dtype", "allowed"), [("bfloat16", 0.02), ("float16", 0.002)])
def test_half_precision_scores_are_close_and_named_in_the_signature(scorer, dtype, allowed):
    full, half = scorer.score(**PAIRS), scorer.score(**PAIRS, dtype=dtype)
    assert f"|dtype:{dtype}|" in half["signature"] and half["scores"] != full["scores"]
    assert half["scores"] == pytest.approx(full["scores"], abs=allowed)


def test_a_matrix_equals_pairwise_scores(scorer, uniform):
    candidates = [*CANDIDATES, *REFERENCES[:2], "", "rain"]
    repeated = [text for text in candidates for _ in REFERENCES]
    result = scorer.score(repeated, REFERENCES * len(candidates), **uniform)
    expected = np.reshape(result["scores"], (len(candidates), len(REFERENCES)))
    twin, copies = type(scorer)(scorer.settings), np.equal.outer(candidates, REFERENCES)
    matrix = twin.matrix(candidates, REFERENCES, **uniform)
    assert matrix.dtype == np.float64
    assert scorer.higher_is_better or not matrix[copies].any()
    np.testing.assert_allclose(matrix, expected, rtol=1e-6, atol=1e-6)
    if uniform:  # with IDF, the references are the corpus
        table = IDF.from_corpus(REFERENCES, scorer.tokenizer)
        idf_matrix = twin.matrix(candidates, REFERENCES, idf="references")
        by_table = twin.matrix(candidates, REFERENCES, idf=table)
        np.testing.assert_allclose(idf_matrix, by_table, rtol=1e-6, atol=1e-6)
        assert np.abs(idf_matrix - matrix).max() > 1e-3


def test_select_returns_the_first_candidate_with_the_best_mean(scorer, uniform):
    samples = ["the cat sat on a mat", "a cat sat on the mat", "it was cold", "a cat sat on a mat"]
    values = scorer.matrix(samples, samples, **uniform)
    means = [np.delete(row, index).mean() for index, row in enumerate(values)]
    best = int(np.argmax(means) if scorer.higher_is_better else np.argmin(means))
    for texts in (samples, pyarrow.chunked_array([samples])):  # uniform weights
        assert scorer.select(texts) == samples[best] and type(scorer.select(texts)) is str
    assert scorer.select(["rain fell"] * 3) == "rain fell"
    assert scorer.select(["it was cold"]) == "it was cold"


def test_the_signature_covers_the_settings_that_can_change_scores(scorer, change, no_model):
    signature = scorer.signature()
    names = [part.partition(":")[0] for part in signature.split("|")]
    assert names[0] == "metric" and names[-3:] == ["infolm", "transformers", "torch"]
    assert len(set(names)) == len(names)
    assert scorer.signature(**change) != signature == scorer.signature(scorer.settings)
    if isinstance(scorer.settings, ModelSettings):
        harmless = {"batch_size": 3, "device": "cpu", "reuse_memory": 0}
        assert scorer.signature(**harmless) == signature
        for name, value in {"max_length": 20, "long_text": "error", "dtype": "bfloat16"}.items():
            assert scorer.signature(**{name: value}) != signature


def test_scoring_neither_changes_nor_depends_on_global_state(scorer):
    def state():
        generators = torch.get_rng_state().tolist(), repr(np.random.get_state()), random.getstate()
        precision = torch.get_float32_matmul_precision(), torch.get_default_dtype()
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        exact = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
        return generators, precision, modes, exact

    torch.set_float32_matmul_precision("medium")
    torch.set_default_dtype(torch.float64)
    try:
        initial_state, expected = state(), scorer.score(**PAIRS)["scores"]
        assert state() == initial_state
    finally:
        torch.set_float32_matmul_precision("highest")
        torch.set_default_dtype(torch.float32)
    scorer.unload()
    # The device "meta" simulates a GPU: tensors created there have no data.
    with torch.device("meta"), torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        assert_nearly_equal(scorer.score(**PAIRS)["scores"], expected)
        assert not torch.is_grad_enabled() and torch.get_default_device().type == "meta"


def test_several_threads_can_share_a_scorer(scorer, change):
    expected = [scorer.score(**PAIRS)["scores"], scorer.score(**PAIRS, **change)["scores"]]
    scorer.unload()
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda options: scorer.score(**PAIRS, **options), [{}, change] * 4)
    assert_nearly_equal([result["scores"] for result in results], expected * 4)


@WITH_MODEL
def test_each_category_triggers_a_single_warning_at_the_line_of_the_caller(metric, scorer, make):
    candidates = ["the cat sat", "cat", "", "東京 は 雨 rain", "a cat " * 40]
    references = [["a dog ran", "dog"], ["the dog", ""], [" "], ["\n", "a dog"], ["the cat"]]
    counts = EXPECTED_WARNINGS[metric.name]
    table = IDF.from_corpus(["the cat", "the cat"], scorer.tokenizer)
    options = {"idf": table} if "zero_weight" in counts else {}
    for score in (scorer.score, make().compute):
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            result = score(predictions=candidates, references=references, **options)
        assert result["warnings"].pop("unknown_tokens") > 0
        assert result["warnings"] == counts
        counted = [x for x in records if re.match(r"infolm: (\d|blank|pairs)", str(x.message))]
        assert [record.filename for record in counted] == [__file__] * len(counts)


@WITH_MODEL
def test_every_method_warns_at_the_line_of_the_caller(scorer, make):
    texts = ["the cat sat", "a cat " * 40, "a dog ran"]
    calls = {
        "matrix": lambda: scorer.matrix(texts, texts),
        "select": lambda: scorer.select(texts),
        "stream": lambda: list(scorer.stream([(text, text) for text in texts])),
        "combine": lambda: evaluate.combine([make()]).compute(predictions=texts, references=texts),
    }
    for name, call in calls.items():
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            call()
        files = {record.filename for record in records if "infolm: " in str(record.message)}
        assert files == {__file__}, name


# Caching


def count_layer_calls(call):
    """Count the layers that run during a call."""
    layers = []
    hook = torch.nn.modules.module.register_module_forward_hook(lambda *_: layers.append(1))
    try:
        call()
    finally:
        hook.remove()
    return len(layers)


@WITH_MODEL
def test_repeated_texts_are_encoded_once_unless_caching_is_disabled(scorer):
    expected = scorer.score(**PAIRS)
    results = []
    assert count_layer_calls(lambda: results.append(scorer.score(**PAIRS))) == 0
    assert count_layer_calls(lambda: results.append(scorer.score(**PAIRS, reuse_memory=0))) > 0
    assert count_layer_calls(lambda: results.append(scorer.score(**PAIRS))) > 0
    scorer.unload()
    results.append(scorer.score(**PAIRS))
    assert_nearly_equal(results, [expected] * 4)
