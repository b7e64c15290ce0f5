"""The metrics as torchmetrics (on two ranks: test_ranks.py); what needs no library at hand."""

import pickle

import pytest
import torch
from torchmetrics import MetricCollection

from infolm_metric import MENLI, BaryScore, InfoLM
from infolm_metric.integrations import torchmetrics
from tests.processes import started
from tests.random_pairs import random_pairs

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # of few and short texts

PAIRS = random_pairs(12)
PREDICTIONS = [row["prediction"] for row in PAIRS]
REFERENCES = [row["references"][0] for row in PAIRS]
GROUPS = [list(group) for group in zip(REFERENCES, REFERENCES[::-1], strict=True)]
METRICS = {"InfoLM": InfoLM, "BaryScore": BaryScore, "MENLI": MENLI}


def batches(references, *edges):
    """[predictions, references] between consecutive edges."""
    parts = zip(edges, edges[1:], strict=False)
    return [[PREDICTIONS[start:stop], references[start:stop]] for start, stop in parts]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("references", [REFERENCES, GROUPS], ids=["one", "several"])
def test_batches_together_score_as_compute_does(name, references):
    metric = getattr(torchmetrics, name)(model_name_or_path="bundled")
    evaluated = METRICS[name](model_name_or_path="bundled")
    for epoch in ((0, 5, 5, 12), (0, 4)):  # with an empty batch
        for batch in batches(references, *epoch):
            metric.update(*batch)
        score = metric.compute()
        ((predictions, targets),) = batches(references, 0, epoch[-1])
        expected = evaluated.compute(predictions=predictions, references=targets)
        assert score.dtype == torch.float32 and score.shape == ()
        assert score.item() == pytest.approx(expected[name.lower()], rel=1e-5)
        metric.reset()


def test_a_step_scores_its_batch_and_counts_for_the_epoch():
    """What Lightning logs on a step and on an epoch."""
    metric = torchmetrics.InfoLM(model_name_or_path="bundled")
    evaluated = InfoLM(model_name_or_path="bundled")
    for predictions, references in batches(REFERENCES, 0, 5, 12):
        expected = evaluated.compute(predictions=predictions, references=references)["infolm"]
        assert metric(predictions, references).item() == pytest.approx(expected, rel=1e-5)
    expected = evaluated.compute(predictions=PREDICTIONS, references=REFERENCES)["infolm"]
    assert metric.compute().item() == pytest.approx(expected, rel=1e-5)


def test_copies_and_collections_score_alike():
    names = ["kl_divergence", "l1_distance"]
    metric = torchmetrics.InfoLM(model_name_or_path="bundled", information_measure=names)
    metric.update(PREDICTIONS, REFERENCES)
    score = metric.compute()
    assert list(score) == names
    for copy in (metric.clone(), pickle.loads(pickle.dumps(metric))):
        torch.testing.assert_close(copy.compute(), score)
    members = {name: getattr(torchmetrics, name)(model_name_or_path="bundled") for name in METRICS}
    collection = MetricCollection({name: member.clone() for name, member in members.items()})
    for batch in batches(REFERENCES, 0, 5, 12):
        for member in (collection, *members.values()):
            member.update(*batch)
    expected = {name: member.compute() for name, member in members.items()}
    torch.testing.assert_close(collection.compute(), expected)
    assert not torchmetrics.InfoLM.higher_is_better and torchmetrics.MENLI.higher_is_better


REFUSED = [
    ("unknown setting 'temprature'", lambda: torchmetrics.InfoLM(temprature=2)),
    ("equally long", lambda: torchmetrics.InfoLM().update(["a"], ["b", "c"])),
    ("at least one", lambda: torchmetrics.InfoLM().compute()),
]


@pytest.mark.parametrize(("problem", "call"), REFUSED)
@pytest.mark.filterwarnings("ignore:The ``compute`` method")
def test_what_is_wrong_is_refused(problem, call):
    with pytest.raises((TypeError, ValueError), match=problem):
        call()


@pytest.mark.parametrize(
    ("module", "package"),
    [("lm_eval", "lm-eval"), ("inspect_ai", "inspect-ai"), ("torchmetrics", "torchmetrics")],
)
def test_a_library_that_is_missing_is_named_with_its_remedy(module, package):
    """In a process where the library cannot be imported."""
    program = f"import sys; sys.modules[{module!r}] = None; import infolm_metric.integrations."
    with started("-c", program + module) as process:
        errors = process.communicate()[1]
    assert f"ImportError: this needs {package}, which is not installed: pip" in errors
