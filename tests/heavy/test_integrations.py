"""The torchmetrics integration, and the other integrations without their libraries."""

import asyncio
import importlib.util
import io
import math
import pickle
import runpy
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torchmetrics import MetricCollection
from torchmetrics.wrappers import Running

from infolm_metric import MENLI, BaryScore, BERTScore, InfoLM, InputError
from infolm_metric.integrations import torchmetrics
from tests.random_pairs import random_pairs

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # texts are few and short

PAIRS = random_pairs(12)
PREDICTIONS = [row["prediction"] for row in PAIRS]
REFERENCES = [row["references"][0] for row in PAIRS]
GROUPS = [list(group) for group in zip(REFERENCES, REFERENCES[::-1], strict=True)]
METRICS = {"InfoLM": InfoLM, "BaryScore": BaryScore, "BERTScore": BERTScore, "MENLI": MENLI}


def batches(references, *edges):
    """Return [predictions, references] between consecutive edges."""
    parts = zip(edges, edges[1:], strict=False)
    return [[PREDICTIONS[start:stop], references[start:stop]] for start, stop in parts]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("references", [REFERENCES, GROUPS], ids=["one", "several"])
def test_batches_get_the_score_of_compute(name, references):
    metric = getattr(torchmetrics, name)(model_name_or_path="bundled")
    expected_metric = METRICS[name](model_name_or_path="bundled")
    for epoch in ((0, 5, 5, 12), (0, 4)):  # with an empty batch
        for batch in batches(references, *epoch):
            metric.update(*batch)
        score = metric.compute()
        ((predictions, targets),) = batches(references, 0, epoch[-1])
        expected = expected_metric.compute(predictions=predictions, references=targets)
        assert score.dtype == torch.float32 and score.shape == ()
        assert score.item() == pytest.approx(expected[name.lower()], rel=1e-5)
        metric.reset()


def test_forward_scores_the_batch_and_adds_it_to_the_epoch():
    """Check both scores that Lightning logs: the score of a step and the score of an epoch."""
    metric = torchmetrics.InfoLM(model_name_or_path="bundled")
    expected_metric = InfoLM(model_name_or_path="bundled")
    for predictions, references in batches(REFERENCES, 0, 5, 12):
        expected = expected_metric.compute(predictions=predictions, references=references)["infolm"]
        assert metric(predictions, references).item() == pytest.approx(expected, rel=1e-5)
    expected = expected_metric.compute(predictions=PREDICTIONS, references=REFERENCES)["infolm"]
    assert metric.compute().item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("measures", ["l1_distance", ["l1_distance"]])
def test_an_empty_batch_scores_nan_and_is_not_stored(measures):
    metric, expected = make_metric(information_measure=measures), make_metric(0, 5).pairs
    for batch in batches(REFERENCES, 0, 0, 5, 5):
        score = metric(*batch)
        scores = {"l1_distance": score} if isinstance(measures, str) else score
        assert list(scores) == ["l1_distance"] and scores["l1_distance"].dtype == torch.float32
        assert bool(scores["l1_distance"].isnan()) == (not batch[0])
    torch.testing.assert_close(metric.pairs, expected)
    metric.reset()
    metric.update([], [])
    assert metric.pairs == []


def test_a_batch_that_cannot_be_scored_is_not_stored(tmp_path):
    invalid = [(make_metric(), (["a"], [None])), (make_metric(), (["a"], []))]
    invalid.append((torchmetrics.InfoLM(str(tmp_path)), (["a"], ["b"])))  # without a model
    for metric, batch in invalid:
        with pytest.raises((InputError, OSError)):
            metric(*batch)
        assert metric.pairs == []


def test_copies_get_the_same_scores():
    names = ["kl_divergence", "l1_distance"]
    metric = torchmetrics.InfoLM(model_name_or_path="bundled", information_measure=names)
    metric.update(PREDICTIONS, REFERENCES)
    score = metric.compute()
    assert list(score) == names
    for copy in (metric.clone(), pickle.loads(pickle.dumps(metric))):
        torch.testing.assert_close(copy.compute(), score)
    assert not torchmetrics.InfoLM.higher_is_better and torchmetrics.MENLI.higher_is_better


def make_metric(*edges, references=REFERENCES, **settings):
    """Return a metric updated with a batch of pairs between consecutive edges."""
    metric = torchmetrics.InfoLM("bundled", idf=False, masking="none", **settings)
    for batch in batches(references, *edges):
        metric.update(*batch)
    return metric


@pytest.mark.parametrize("references", [REFERENCES, GROUPS], ids=["one", "several"])
def test_merged_metric_scores_the_pairs_of_both(references):
    expected = make_metric(0, 12, references=references).compute()
    for as_dictionary in (False, True):
        metric = make_metric(0, 5, references=references)
        other = make_metric(5, 8, 12, references=references)
        metric.merge_state(other.metric_state if as_dictionary else other)
        torch.testing.assert_close(metric.compute(), expected)
        other.reset()
        torch.testing.assert_close(metric.compute(), expected)


def test_checkpoint_of_a_persistent_metric_contains_its_pairs():
    metric = make_metric(0, 5)
    assert not metric.state_dict()
    metric.persistent(True)
    torch.save(metric.state_dict(), file := io.BytesIO())
    file.seek(0)
    checkpoint = torch.load(file, weights_only=True)
    resumed = [make_metric(0, 2), make_metric()]
    for other in resumed:
        other.load_state_dict(checkpoint)
        other.update(*batches(REFERENCES, 5, 12)[0])
        torch.testing.assert_close(other.compute(), make_metric(0, 12).compute())
    resumed[0].reset()
    assert len(checkpoint["pairs"]) == 1


def test_running_window_scores_the_last_batches():
    running = Running(make_metric(), window=2)
    for call in (running.update, running, running.update):
        for batch in batches(REFERENCES, 0, 5, 8, 12):
            call(*batch)
        torch.testing.assert_close(running.compute(), make_metric(5, 12).compute())
        call([], [])
        torch.testing.assert_close(running.compute(), make_metric(8, 12).compute())
    running.reset()
    running.update(*batches(REFERENCES, 0, 5)[0])
    torch.testing.assert_close(running.compute(), make_metric(0, 5).compute())


def test_moving_converting_and_syncing_keep_the_pairs():
    metric, expected = make_metric(0, 5), make_metric(0, 5).compute()
    for change in (
        lambda: metric.to("cpu"),
        lambda: metric.set_dtype(torch.bfloat16),
        lambda: metric.sync(distributed_available=lambda: True),
    ):
        change()
        torch.testing.assert_close(metric.compute(), expected)


def test_metrics_of_a_collection_share_texts_but_not_settings():
    names = ("l1_distance", "kl_divergence")
    members = {name: make_metric(information_measure=name) for name in names}
    collection = MetricCollection(members)
    for edges in ((0, 3, 6, 12), (2, 4)):
        for batch in batches(REFERENCES, *edges):
            collection.update(*batch)
        ends = edges[0], edges[-1]
        expected = {name: make_metric(*ends, information_measure=name).compute() for name in names}
        torch.testing.assert_close(collection.compute(), expected)
        collection.reset()


def test_first_argument_is_the_model():
    assert torchmetrics.MENLI("bundled").scorer.settings.model_name_or_path == "bundled"
    assert torchmetrics.InfoLM("some-one/model").process_group is None


def test_warnings_point_at_the_caller_of_torchmetrics():
    metric, batch = make_metric(), (["", "A cat."], ["A dog.", "A cow."])
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        metric(*batch)
        metric.compute()
    files = [record.filename for record in records if "infolm: " in str(record.message)]
    assert len(files) >= 2 and set(files) == {__file__}


INVALID = [
    (InputError, "unknown setting 'temprature'", lambda make: make(temprature=2)),
    (InputError, "have the same length", lambda make: make().update(["a"], ["b", "c"])),
    (InputError, "at least one", lambda make: make().compute()),
    (TypeError, "model_name_or_path", lambda make: make("bundled", model_name_or_path="bundled")),
    (TypeError, "positional", lambda make: make("bundled", None)),
    (NotImplementedError, "compute", lambda make: make("bundled").plot()),
]


@pytest.mark.parametrize(("error", "problem", "call"), INVALID)
@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_invalid_calls_are_rejected(error, problem, call):
    with pytest.raises(error, match=problem):
        call(torchmetrics.InfoLM)


# Integrations with stubs of the libraries


@pytest.fixture
def import_with_stubs(monkeypatch):
    """Function that imports an integration with stubs of the modules that it needs."""
    names = []

    def load(name, **stubs):
        for stub, contents in stubs.items():
            module = ModuleType(stub.replace("__", "."))
            vars(module).update(contents)
            monkeypatch.setitem(sys.modules, module.__name__, module)
        names.append(f"infolm_metric.integrations.{name}")
        sys.modules.pop(names[-1], None)
        return importlib.import_module(names[-1])

    yield load
    for name in names:
        sys.modules.pop(name)


@pytest.fixture
def document_metrics(import_with_stubs):
    """Functions that lm-eval calls per document, by metric, and per task, by ("task", metric)."""
    functions = {}

    def register(name):
        return lambda function: functions.setdefault(name, function)

    registry = {"register_aggregation": lambda name: register(("task", name))}
    registry["register_metric"] = lambda metric, **options: register(metric)
    import_with_stubs("lm_eval", lm_eval={}, lm_eval__api={}, lm_eval__api__registry=registry)
    return functions


def test_lm_eval_item_has_references_output_and_settings(document_metrics):
    pair = {"predictions": ["A cat."], "idf": False}
    for references, group in ((["a"], ["a"]), ([["a", "b"]], ["a", "b"]), (["a", "b"], ["a", "b"])):
        item = document_metrics["infolm"](references=references, **pair)
        assert item == (group, "A cat.", {"idf": False})


INVALID_DOCUMENTS = [  # InputError, because lm-eval catches TypeError
    ({"references": [3.0]}, "3.0"),
    ({"references": [["a", 3]]}, "3"),
    ({"predictions": [None]}, "None"),
    ({"predictions": ["a", "b"]}, "one output"),
]


@pytest.mark.parametrize(("change", "problem"), INVALID_DOCUMENTS)
def test_lm_eval_rejects_the_first_invalid_document(document_metrics, change, problem):
    with pytest.raises(InputError, match=problem):
        document_metrics["infolm"](**{"references": ["a"], "predictions": ["b"], **change})


@pytest.mark.parametrize("missing", [None, [], [None], [""], [[]], [[" ", None]]])
def test_lm_eval_leaves_out_documents_without_references(document_metrics, missing):
    settings = {"model_name_or_path": "bundled", "idf": False, "masking": "none"}
    collect, score = document_metrics["infolm"], document_metrics["task", "infolm"]
    groups = (["The cat."], missing, [["A dog.", None]], ["None"])
    items = [collect(references=x, predictions=["A cat."], **settings) for x in groups]
    metric = InfoLM(**settings)
    expected = metric.compute(predictions=["A cat."] * 2, references=["The cat.", "A dog."])
    with pytest.warns(UserWarning, match="1 document without a reference"):
        assert score(items[:3]) == pytest.approx(expected["infolm"], abs=1e-6)
    assert math.isnan(score(items[1:2]))
    with pytest.warns(UserWarning, match="2 documents .* with 'None'"):
        score(items)


@pytest.mark.parametrize("targets", [[""], [" "], [], [None]])
def test_inspect_rejects_idf_and_gives_nan_without_a_target(import_with_stubs, targets):
    scorers = dict.fromkeys(("Scorer", "Target", "mean", "stderr"), lambda *_: None)
    scorers |= {"Score": SimpleNamespace, "scorer": lambda metrics: lambda function: function}
    stubs = {"inspect_ai": {}, "inspect_ai__solver": {"TaskState": None}}
    module = import_with_stubs("inspect_ai", inspect_ai__scorer=scorers, **stubs)
    with pytest.raises(InputError, match="Pass idf=False"):
        module.infolm(idf=True)
    score = module.menli(model_name_or_path="bundled")
    output = SimpleNamespace(completion="A cat.")
    state = SimpleNamespace(output=output, sample_id="sample 7")
    with ThreadPoolExecutor() as pool:  # browser tests leave an event loop running in this thread
        groups = (targets, [*targets, "The cat."])
        unscored, scored = pool.map(lambda group: asyncio.run(score(state, group)), groups)
    assert math.isnan(unscored.value) and unscored.answer == "A cat."
    assert "sample 7" in unscored.explanation
    assert 0 <= scored.value <= 1


@pytest.mark.parametrize("module", ["lm_eval", "inspect_ai", "mlflow", "torchmetrics"])
def test_error_on_a_missing_library_says_how_to_install_it(module, monkeypatch):
    package = module.replace("_", "-")
    integration = importlib.util.find_spec(f"infolm_metric.integrations.{module}")
    monkeypatch.setitem(sys.modules, module, None)  # importing it fails
    with pytest.raises(ImportError, match=f"{package} is not installed. Run: pip"):
        runpy.run_path(integration.origin)
