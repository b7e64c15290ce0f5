"""Scoring on several ranks of torch.distributed: two gloo processes agree with one process."""

import pickle

import pytest

from infolm_metric import InfoLMScorer, InputError
from infolm_metric.scoring.distributed import distributed_score
from tests.heavy.score_on_ranks import METRIC_TYPES
from tests.model_families import SENTENCES
from tests.nearly_equal import assert_nearly_equal
from tests.processes import TWO_RANKS, printed
from tests.project_files import ROOT

# Texts are few and short.
pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")

PREDICTIONS = [*SENTENCES[:5], "", SENTENCES[5]]
REFERENCES = [*SENTENCES[10:17]]
UNEVEN = [["the cat slept", "it was cold"]] * 2 + [[text] for text in REFERENCES[2:]]
BASELINE = "made.baseline"
GROUPS = [list(group) for group in zip(REFERENCES, REFERENCES[::-1], strict=True)]


def case(*edges, references=REFERENCES, **entries):
    """Return a case in which each rank has the pairs between consecutive edges."""
    parts = zip(edges, edges[1:], strict=False)
    return {"shares": [[PREDICTIONS[i:j], references[i:j]] for i, j in parts], **entries}


ALL = {"shares": [[PREDICTIONS, REFERENCES]] * 2}
ONE = {"shares": [[PREDICTIONS[:1], REFERENCES[:1]]] * 2}
METRIC = {"call": "metric"}
SHARE, SAME = {"options": {"ranks": "share"}}, {"options": {"ranks": "same"}}
MANY = {"multi_reference": "mean", "symmetrize": "jensen", "information_measure": ["kl", "l1"]}
MANY_IDF = {"settings": {**MANY, "idf": "separate"}}
RESCALED = {"settings": {"idf": False}, "options": {"rescale_with_baseline": BASELINE}}
FORMULAS = {"metric": "menli", "settings": {"formula": ["e", "e-c"]}}
TOY = {"metric": "toy", "settings": {"size": 2}}
CASES = {
    "pairs that do not divide evenly": case(0, 4, 7),
    "a rank without pairs": case(0, 0, 7),
    "the metric, all pairs on the main rank": case(0, 7, 7, **METRIC, **SHARE),
    "the metric, with add_batch": case(0, 4, 7, call="added", **SHARE),
    "without idf": case(0, 3, 7, settings={"idf": False}),
    "several references and measures": case(0, 2, 7, references=GROUPS, **MANY_IDF),
    # One of the reference counts occurs only on the main rank.
    "a baseline for two reference counts": case(0, 2, 7, references=UNEVEN, **RESCALED),
    "windows": case(0, 3, 7, settings={"max_length": 6, "long_text": "window"}),
    "all pairs on every rank": {**ALL, **SAME},
    "the metric, all pairs on every rank": {**ALL, **METRIC, **SAME},
    "the metric, as in a Trainer": {**ALL, **METRIC},
    "one pair on every rank": {**ONE, **SAME},
    "baryscore": case(0, 4, 7, references=GROUPS, metric="baryscore", settings={"layers": 2}),
    "bertscore": case(0, 4, 7, metric="bertscore", settings={"layer": 1, "idf": True}),
    "menli": case(0, 4, 7, references=GROUPS, **FORMULAS),
    "answer_check": case(0, 4, 7, references=GROUPS, metric="answer_check", **METRIC, **SHARE),
    # IDF of the combined metric is counted on all ranks.
    "menli, combined": case(0, 3, 7, metric="menli", settings={"combine_with": "infolm"}),
    "a metric without a model": case(0, 2, 7, references=GROUPS, **TOY, **METRIC, **SHARE),
    "after errors": case(0, 4, 7),  # the ranks are still in sync
}
GATHER_ON_MAIN = {"options": {"ranks": "share", "gather": "main"}}
MAIN_ONLY = {
    "the scorer, for the main rank": case(0, 4, 7, **GATHER_ON_MAIN),
    "the metric, for the main rank": case(0, 4, 7, **METRIC, **GATHER_ON_MAIN),
}
BATCHES = {
    "uneven": case(0, 5, 7, call="torchmetrics"),
    "a rank without batches": case(0, 7, 7, call="torchmetrics"),
}
WARNED = {"call": "warnings"}
GATHERED = {
    "all pairs on every rank, as after gathering": {**ALL, **WARNED},
    "different pairs": case(0, 4, 7, **WARNED),
    "all pairs, divided by the ranks": {**ALL, **SAME, **WARNED},
}
MISSING = {"on_rank": {1: {"model_name_or_path": "./no/such/model"}}}
FAILING = {
    "a number among the texts": {"shares": [[["a"], ["b"]], [["a", 5], ["b", "c"]]]},
    "a missing model": case(0, 4, 7, **MISSING),
    "a missing model, without idf": case(0, 4, 7, settings={"idf": False}, **MISSING),
}
MISMATCH = "rank 1 would score differently from rank 0: "
INVALID = {  # by the error message
    "empty on every rank": {"shares": [[[], []], [[], []]]},
    "the pairs on rank 1 (3 in total) differ from the pairs on rank 0 (4": case(0, 4, 7, **SAME),
    f"{MISMATCH}temperature is 2.0 instead of 1.0": case(
        0, 4, 7, on_rank={1: {"temperature": 2.0}}
    ),
    f"{MISMATCH}idf is no instead of references": case(0, 4, 7, on_rank={1: {"idf": False}}),
    f"{MISMATCH}baseline is package-": case(
        0, 4, 7, **METRIC, **SHARE, options_on_rank={1: {"rescale_with_baseline": True}}
    ),
    f"{MISMATCH}requested scores is a list instead of one name": case(
        0, 4, 7, on_rank={1: {"information_measure": ["fisher_rao"]}}
    ),
    f"{MISMATCH}size is 2 instead of 1": case(0, 4, 7, metric="toy", on_rank={1: {"size": 2}}),
}


@pytest.fixture
def folder(outcomes, models, monkeypatch):
    """Working directory with the baseline. Environment variables name the models."""
    for name, value in models.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(outcomes[0])


@pytest.fixture(scope="module")
def models(tiny_bert, tiny_nli):
    return {"INFOLM_MODEL": str(tiny_bert), "INFOLM_NLI_MODEL": str(tiny_nli())}


@pytest.fixture(scope="module")
def outcomes(models, tmp_path_factory):
    """Folder used by the ranks, and each rank's outcomes for all cases."""
    folder = tmp_path_factory.mktemp("ranks")
    scorer = InfoLMScorer(model_name_or_path=models["INFOLM_MODEL"], idf=False)
    scorer.make_baseline([[*PREDICTIONS, *REFERENCES]], 5, 2).save(folder / BASELINE)
    cases = {**MAIN_ONLY, **BATCHES, **GATHERED, **FAILING, **INVALID, **CASES}
    (folder / "cases.pickle").write_bytes(pickle.dumps(cases))
    program = ROOT / "tests/heavy/score_on_ranks.py"
    environment = {**models, "OMP_NUM_THREADS": "1"}
    printed(*TWO_RANKS, program, "cases.pickle", folder, env=environment, cwd=folder)
    files = [folder / f"rank-{rank}.pickle" for rank in range(2)]
    return folder, [pickle.loads(file.read_bytes()) for file in files]


def score_alone(case):
    """Return the result of one process for all pairs of a case."""
    parts = case["shares"][:1] if case["shares"][0] == case["shares"][1] else case["shares"]
    pairs = ([text for part in parts for text in part[side]] for side in (0, 1))
    _, scorer_type = METRIC_TYPES[case.get("metric", "infolm")]
    baseline = case.get("options", {}).get("rescale_with_baseline", False)
    scorer = scorer_type(**case.get("settings", {}))
    return scorer.score(*pairs, rescale_with_baseline=baseline).as_dict()


@pytest.mark.parametrize("name", CASES)
def test_every_rank_gets_the_result_of_one_process(outcomes, folder, name):
    expected = score_alone(CASES[name])
    for results in outcomes[1]:
        assert_nearly_equal(results[name], expected)


@pytest.mark.parametrize("name", MAIN_ONLY)
def test_only_the_main_rank_gets_the_result(outcomes, folder, name):
    main, worker = outcomes[1]
    assert_nearly_equal(main[name], score_alone(MAIN_ONLY[name]))
    assert worker[name] is None


@pytest.mark.parametrize("name", BATCHES)
def test_torchmetrics_batches_get_the_score_of_all_pairs_of_all_ranks(outcomes, folder, name):
    shares = BATCHES[name]["shares"]
    first = [[side[:2] for side in share] for share in shares]
    expected = [score_alone({"shares": epoch})["infolm"] for epoch in (shares, first)]
    for results in outcomes[1]:
        assert results[name] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", GATHERED)
def test_ranks_that_share_identical_pairs_are_warned_to_use_same(outcomes, name):
    for messages in outcomes[1]:
        warned = [message for message in messages[name] if 'use ranks="same"' in message]
        assert len(warned) == ("gathering" in name)


@pytest.mark.parametrize("name", FAILING)
def test_error_on_one_rank_is_raised_on_all(outcomes, name):
    waiting, failing = (results[name] for results in outcomes[1])
    assert isinstance(failing, InputError | OSError) and type(waiting) is RuntimeError
    message = f"rank 1 could not score its part: {type(failing).__name__}: {failing}"
    assert str(waiting) == message


@pytest.mark.parametrize("name", INVALID)
def test_inconsistent_ranks_are_rejected_on_all_with_a_reason(outcomes, name):
    for results in outcomes[1]:
        assert type(results[name]) is InputError and name in str(results[name])
        assert (MISMATCH in name) == ("Use the same settings" in str(results[name]))


def test_distributed_score_works_in_one_process(folder):
    scorer, pairs = InfoLMScorer(), (PREDICTIONS[:2], REFERENCES[:2])
    assert_nearly_equal(distributed_score(scorer, *pairs), scorer.score(*pairs))


def test_uninitialized_process_group_is_an_error(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="2 processes .*, but torch.distributed is not init"):
        distributed_score(InfoLMScorer(), ["a"], ["b"])
