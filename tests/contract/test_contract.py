"""What every metric does alike: evaluate's protocol, scores, streams, copies, what is kept."""

import copy
import json
import pickle
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import evaluate
import pytest
import torch
from datasets.fingerprint import Hasher

from infolm_metric import IDF
from infolm_metric.core.inputs import check_pairs
from infolm_metric.core.settings import ModelSettings, field_types
from infolm_metric.metrics import METRICS, Metric
from tests.random_pairs import random_pairs

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")

TOY = Metric(
    "toy", settings="tests.toy:ToySettings", scorer="tests.toy:ToyScorer", evaluate="tests.toy:Toy"
)
SETTINGS = {  # of each metric: such as its small models need, and a change of the scores
    "infolm": ({}, {"temperature": 2.0}),
    "baryscore": ({"layers": 2}, {"layers": 1}),
    "menli": ({}, {"formula": "e-c"}),
    "toy": ({}, {"size": 2}),
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
    """The entry of a metric in the table, with its name."""
    return {**METRICS, "toy": TOY}[request.param]


@pytest.fixture
def chosen(metric, tiny_bert, tiny_nli):
    """The settings by which it reads with a small model."""
    own, _ = SETTINGS[metric.name]
    model = tiny_nli() if metric.name == "menli" else tiny_bert
    return own if metric.name == "toy" else {"model_name_or_path": str(model), **own}


@pytest.fixture
def change(metric):
    """A setting that changes its scores."""
    return SETTINGS[metric.name][1]


@pytest.fixture
def scorer(metric, chosen):
    return metric.scorer_type()(**chosen)


@pytest.fixture
def make(metric, scorer):
    """The class for evaluate, with the settings of the scorer."""
    module, _, name = metric.evaluate.partition(":")
    found = getattr(__import__(module, fromlist=[name]), name)
    values = {each: getattr(scorer.settings, each) for each in field_types(type(scorer.settings))}
    return lambda **settings: found(**{**values, **settings})


@pytest.fixture
def uniform(scorer):
    """Settings by which scores depend on nothing else in the call."""
    return {"idf": False} if "idf" in field_types(type(scorer.settings)) else {}


# Evaluate's protocol


@pytest.mark.parametrize("pairs", [PAIRS, SEVERAL], ids=["strings", "lists"])
def test_pairs_come_by_compute_or_in_batches_or_one_by_one_to_the_same_effect(make, scorer, pairs):
    evaluated = make()
    result = evaluated.compute(**pairs)
    assert result == scorer.score(**pairs) and len(result["scores"]) == len(CANDIDATES)
    evaluated.add_batch(**pairs)
    assert len(evaluated) == len(CANDIDATES)
    assert evaluated.compute() == result and len(evaluated) == 0
    for prediction, reference in zip(*pairs.values(), strict=True):
        evaluated.add(prediction=prediction, reference=reference)
    assert evaluated.compute() == result
    evaluated.add(prediction=CANDIDATES[0], reference=pairs["references"][0])
    rest = {name: column[1:] for name, column in pairs.items()}
    assert evaluated.compute(**rest) == result


def test_a_list_of_one_reference_is_that_reference(make):
    nested = {**PAIRS, "references": [[text] for text in REFERENCES]}
    assert make().compute(**nested) == make().compute(**PAIRS)


def test_a_result_is_plain_and_as_short_as_asked(metric, make):
    result = make().compute(**PAIRS)
    keys = [metric.name, "scores", "higher_is_better", "signature", "warnings"]
    assert [key for key in result if key != "probabilities"] == keys
    assert json.loads(json.dumps(result)) == result
    assert result[metric.name] == pytest.approx(sum(result["scores"]) / len(result["scores"]))
    assert result["higher_is_better"] is metric.scorer_type().higher_is_better
    assert result["signature"].startswith(f"metric:{metric.name}|")
    short = make().compute(**PAIRS, return_scores=False)
    assert short == {key: result[key] for key in keys if key != "scores"}
    assert make().compute(**PAIRS, details=False) == {metric.name: result[metric.name]}


def test_settings_of_the_class_are_defaults_that_a_call_can_change(make, change):
    evaluated = make()
    plain, changed = evaluated.compute(**PAIRS), make(**change).compute(**PAIRS)
    assert plain["scores"] != changed["scores"] and plain["signature"] != changed["signature"]
    assert evaluated.compute(**PAIRS, **change) == changed
    assert evaluated.compute(**PAIRS) == plain


def test_what_is_wrong_is_refused_before_a_model_is_loaded_and_what_was_added_remains(
    make, scorer, no_model
):
    evaluated, wrong = make(), {"predictions": ["a", None], "references": ["b", "c"]}
    evaluated.add(prediction="a", reference="b")
    checks = [
        lambda: evaluated.add(prediction="a", reference=["b"]),
        lambda: evaluated.add_batch(**wrong),
        lambda: evaluated.compute(**wrong),
        lambda: evaluated.compute(sise=1),
        lambda: make(sise=1),
        lambda: scorer.score(**wrong),
        lambda: scorer.score(["a"], ["b"], sise=1),
        lambda: scorer.score(["a"], ["b"], rescale_with_baseline="no/such/file"),
        lambda: scorer.signature(sise=1),
        lambda: scorer.stream([], sise=1),
        lambda: scorer.stream("ab"),
    ]
    for check in checks:
        with pytest.raises((TypeError, ValueError)):
            check()
    assert len(evaluated) == 1


@WITH_MODEL
def test_after_an_error_what_was_added_remains_and_the_arguments_do_not(make, chosen, tmp_path):
    evaluated = make(model_name_or_path=str(tmp_path / "none"))
    evaluated.add(prediction=CANDIDATES[0], reference=REFERENCES[0])
    with pytest.raises(OSError, match="none"):
        evaluated.compute(predictions=["dropped"], references=["dropped"])
    rest = {name: column[1:] for name, column in PAIRS.items()}
    found = evaluated.compute(**rest, model_name_or_path=chosen["model_name_or_path"])
    assert found == make().compute(**PAIRS)


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


def test_it_combines_with_a_metric_of_someone_elses(make, tmp_path):
    (tmp_path / "length_ratio.py").write_text(LENGTH_RATIO)
    ratio = evaluate.load(str(tmp_path / "length_ratio.py"), cache_dir=str(tmp_path / "cache"))
    both = evaluate.combine([make(), ratio])
    expected = {**make().compute(**PAIRS), **ratio.compute(**PAIRS)}
    assert both.compute(**PAIRS) == expected
    both.add_batch(**PAIRS)
    assert both.compute() == expected
    for prediction, reference in zip(*PAIRS.values(), strict=True):
        both.add(prediction, reference)
    assert both.compute() == expected


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]
)
def test_a_copy_has_the_pairs_and_the_settings_but_not_the_model(make, scorer, twin):
    evaluated = make()
    untouched = Hasher.hash(evaluated)
    expected = evaluated.compute(**PAIRS)
    assert Hasher.hash(evaluated) == untouched  # so that datasets finds what it has mapped before
    evaluated.add_batch(**PAIRS)
    assert len(pickle.dumps(evaluated)) < 50_000
    assert twin(evaluated).compute() == evaluated.compute() == expected
    scorer.score(**PAIRS)
    other = twin(scorer)
    assert other.settings == scorer.settings and other.score(**PAIRS) == expected


# Scorers


def test_scores_lie_within_the_bounds_and_a_copy_scores_best(metric, scorer):
    (name,) = scorer.settings.names
    least, largest = scorer.bounds(scorer.settings, name)
    assert all(least <= score <= largest for score in scorer.score(**SEVERAL)["scores"])
    if metric.name in ("infolm", "baryscore"):
        assert scorer.score(CANDIDATES, CANDIDATES)["scores"] == [0.0] * len(CANDIDATES)


def test_a_stream_gives_the_scores_of_a_list(scorer):
    (name,) = scorer.settings.names
    for pairs in (PAIRS, SEVERAL):
        rows = list(scorer.stream(list(zip(*pairs.values(), strict=True))))
        assert [row[name] for row in rows] == scorer.score(**pairs)["scores"]


def test_a_score_has_the_same_bits_in_any_company_order_batch_or_chunk(metric, chosen, uniform):
    scorer = metric.scorer_type()(**{**chosen, **uniform})
    expected = scorer.score(**SEVERAL)["scores"]
    order = random.Random(0).sample(range(len(ROWS)), len(ROWS))
    shuffled = [[column[index] for index in order] for column in SEVERAL.values()]
    kept = {} if metric.name == "toy" else {"reuse_memory": 0}
    batches = [{}] if metric.name == "toy" else [{"batch_size": size} for size in (1, "auto")]
    for batch in batches:
        found = scorer.score(*shuffled, **kept, **batch)["scores"]
        assert [found[order.index(index)] for index in range(len(ROWS))] == expected
    pairs = zip(*SEVERAL.values(), strict=True)
    alone = [scorer.score([one], [group], **kept)["scores"][0] for one, group in pairs]
    assert alone == expected


def test_parts_scored_with_what_all_parts_tell_are_the_whole(scorer):
    settings, whole = scorer.settings, check_pairs(**SEVERAL)
    parts = [whole.part(0, 3), whole.part(3)]
    first, second = (scorer.count(part, settings) for part in parts)
    results = [scorer.score_part(part, settings, first + second) for part in parts]
    expected = scorer.score(**SEVERAL)
    assert [score for result in results for score in result["scores"]] == expected["scores"]
    assert {result.signature for result in results} == {expected.signature}


def test_the_signature_is_that_of_the_scores_and_of_what_can_change_them(scorer, change, no_model):
    usual = scorer.signature()
    names = [part.partition(":")[0] for part in usual.split("|")]
    assert names[0] == "metric" and names[-3:] == ["infolm", "transformers", "torch"]
    assert len(set(names)) == len(names)
    assert scorer.signature(**change) != usual == scorer.signature(scorer.settings)
    if isinstance(scorer.settings, ModelSettings):
        harmless = {"batch_size": 3, "device": "cpu", "tokenize_processes": 2, "reuse_memory": 0}
        assert scorer.signature(**harmless) == usual
        for name, value in {"max_length": 20, "long_text": "error", "dtype": "bfloat16"}.items():
            assert scorer.signature(**{name: value}) != usual


def test_a_score_does_not_change_what_the_caller_set(metric, scorer):
    def state():
        generator = torch.random.get_rng_state().tolist()
        precision = torch.get_float32_matmul_precision()
        return generator, precision, torch.get_default_dtype(), torch.is_grad_enabled()

    before, expected = state(), scorer.score(**PAIRS)["scores"]
    assert state() == before
    kept = {} if metric.name == "toy" else {"reuse_memory": 0}
    # The device "meta" stands for a GPU: what is made there has no numbers.
    with torch.device("meta"), torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        assert scorer.score(**PAIRS, **kept)["scores"] == expected
        assert not torch.is_grad_enabled() and torch.get_default_device().type == "meta"


def test_several_threads_score_with_one_scorer(scorer, change):
    expected = [scorer.score(**PAIRS)["scores"], scorer.score(**PAIRS, **change)["scores"]]
    scorer.unload()
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda more: scorer.score(**PAIRS, **more)["scores"], [{}, change] * 4)
        )
    assert found == expected * 4


@WITH_MODEL
def test_each_kind_is_warned_of_once_at_the_callers_line(scorer, make):
    for score in (scorer.score, make().compute):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = score(predictions=["", ""], references=["a cat sat", "the dog ran"])
        told = [each.filename for each in caught if "2 of 4 texts" in str(each.message)]
        assert result["warnings"]["empty"] == 2 and told == [__file__]


# What is kept


def passes(call):
    """How many layers ran while something was called."""
    counted = []
    hook = torch.nn.modules.module.register_module_forward_hook(lambda *_: counted.append(1))
    try:
        call()
    finally:
        hook.remove()
    return len(counted)


@WITH_MODEL
def test_texts_that_come_again_are_not_read_again_unless_memory_forbids(scorer):
    expected = scorer.score(**PAIRS)
    again = []
    assert passes(lambda: again.append(scorer.score(**PAIRS))) == 0
    assert passes(lambda: again.append(scorer.score(**PAIRS, reuse_memory=0))) > 0
    assert passes(lambda: again.append(scorer.score(**PAIRS))) > 0
    scorer.unload()
    again.append(scorer.score(**PAIRS))
    assert again == [expected] * 4


@pytest.mark.parametrize("metric", ["infolm", "baryscore"], indirect=True)
def test_a_table_of_another_tokenizer_is_refused(scorer, no_model):
    table = IDF.from_corpus(CANDIDATES, scorer.tokenizer)
    other = replace(table, tokenizer="5f2e")
    assert f"|idf:{table}|" in scorer.signature(idf=table)
    with pytest.raises(ValueError, match="idf table belongs to"):
        scorer.score(**PAIRS, idf=other)
