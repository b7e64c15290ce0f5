"""Several ranks of torch.distributed: two real gloo processes give what one process gives."""

import pickle

import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.core.distributed import distributed_score
from tests.heavy.score_on_ranks import KINDS
from tests.model_families import SENTENCES
from tests.nearly_equal import assert_nearly_equal
from tests.processes import TWO_RANKS, printed
from tests.project_files import ROOT

pytestmark = [
    pytest.mark.xdist_group("ranks"),
    pytest.mark.filterwarnings("ignore:infolm:UserWarning"),  # of few and short texts
]

PREDICTIONS = [*SENTENCES[:5], "", SENTENCES[5]]
REFERENCES = [*SENTENCES[10:17]]
UNEVEN = [["the cat slept", "it was cold"]] * 2 + [[text] for text in REFERENCES[2:]]
MADE = "made.baseline"
GROUPS = [list(group) for group in zip(REFERENCES, REFERENCES[::-1], strict=True)]


def case(*edges, references=REFERENCES, **entries):
    """A case in which each rank has the pairs between consecutive edges."""
    parts = zip(edges, edges[1:], strict=False)
    return {"shares": [[PREDICTIONS[i:j], references[i:j]] for i, j in parts], **entries}


ALL = {"shares": [[PREDICTIONS, REFERENCES]] * 2}
ONE = {"shares": [[PREDICTIONS[:1], REFERENCES[:1]]] * 2}
METRIC, SHARE, SAME = {"call": "metric"}, {"ways": {"ranks": "share"}}, {"ways": {"ranks": "same"}}
MANY = {"multi_reference": "mean", "symmetrize": "jensen", "information_measure": ["kl", "l1"]}
CASES = {
    "a number that does not divide": case(0, 4, 7),
    "a rank that has none": case(0, 0, 7),
    "the metric, a main rank alone": case(0, 7, 7, **METRIC, **SHARE),
    "the metric, added": case(0, 4, 7, call="added", **SHARE),
    "without idf": case(0, 3, 7, settings={"idf": False}),
    "several references and measures": case(
        0, 2, 7, references=GROUPS, settings={**MANY, "idf": "separate"}
    ),
    "a baseline for two numbers of references": case(  # of which the main rank has the rarer
        *(0, 2, 7), references=UNEVEN, settings={"idf": False}, ways={"rescale_with_baseline": MADE}
    ),
    "windows": case(0, 3, 7, settings={"max_length": 6, "long_text": "window"}),
    "all pairs on each": {**ALL, **SAME},
    "the metric, all pairs on each": {**ALL, **METRIC, **SAME},
    "the metric, as in a Trainer": {**ALL, **METRIC},
    "one pair on each": {**ONE, **SAME},
    "baryscore": case(0, 4, 7, references=GROUPS, of="baryscore", settings={"layers": 2}),
    "menli": case(
        *(0, 4, 7),
        references=GROUPS,
        of="menli",
        settings={"formula": ["e", "e-c"], "probabilities": True},
    ),
    # What is counted for the other metric is every rank's.
    "menli, combined": case(0, 3, 7, of="menli", settings={"combine_with": "infolm"}),
    "a metric without a model": case(
        0, 2, 7, references=GROUPS, of="toy", settings={"size": 2}, **METRIC, **SHARE
    ),
    "afterwards": case(0, 4, 7),  # the ranks still understand each other after errors
}
GATHERED = {"ways": {"ranks": "share", "gather": "main"}}
MAIN_ONLY = {
    "the scorer, for the main rank": case(0, 4, 7, **GATHERED),
    "the metric, for the main rank": case(0, 4, 7, **METRIC, **GATHERED),
}
BATCHES = {
    "uneven": case(0, 5, 7, call="torchmetrics"),
    "one has none": case(0, 7, 7, call="torchmetrics"),
}
MISSING = {"on_rank": {1: {"model_name_or_path": "./no/such/model"}}}
WRONG = {
    "a number among the texts": {"shares": [[["a"], ["b"]], [["a", 5], ["b", "c"]]]},
    "a model that is not there": case(0, 4, 7, **MISSING),
    "a model that is not there, without idf": case(0, 4, 7, settings={"idf": False}, **MISSING),
}
OTHERWISE = "rank 1 would score differently from rank 0: "
REFUSED = {  # by what is said
    "empty on every rank": {"shares": [[[], []], [[], []]]},
    "the 3 pairs of rank 1 differ from the 4 pairs of rank 0": case(0, 4, 7, **SAME),
    f"{OTHERWISE}temperature is 2.0 instead of 1.0": case(
        0, 4, 7, on_rank={1: {"temperature": 2.0}}
    ),
    f"{OTHERWISE}idf is no instead of references": case(0, 4, 7, on_rank={1: {"idf": False}}),
    f"{OTHERWISE}rescaled is package-": case(
        0, 4, 7, **METRIC, **SHARE, ways_on_rank={1: {"rescale_with_baseline": True}}
    ),
    f"{OTHERWISE}scores asked for is a list instead of one": case(
        0, 4, 7, on_rank={1: {"information_measure": ["fisher_rao"]}}
    ),
    f"{OTHERWISE}size is 2 instead of 1": case(0, 4, 7, of="toy", on_rank={1: {"size": 2}}),
}


@pytest.fixture
def folder(outcomes, models, monkeypatch):
    """The working folder, where the baseline lies; the environment names the models."""
    for name, value in models.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(outcomes[0])


@pytest.fixture(scope="module")
def models(tiny_bert, tiny_nli):
    return {"INFOLM_MODEL": str(tiny_bert), "INFOLM_NLI_MODEL": str(tiny_nli())}


@pytest.fixture(scope="module")
def outcomes(models, tmp_path_factory):
    """The folder of the ranks, and what every case gave on each."""
    folder = tmp_path_factory.mktemp("ranks")
    scorer = InfoLMScorer(model_name_or_path=models["INFOLM_MODEL"], idf=False)
    scorer.make_baseline([*PREDICTIONS, *REFERENCES], 5, 2).save(folder / MADE)
    cases = {**MAIN_ONLY, **BATCHES, **WRONG, **REFUSED, **CASES}
    (folder / "cases.pickle").write_bytes(pickle.dumps(cases))
    program = ROOT / "tests/heavy/score_on_ranks.py"
    environment = {**models, "OMP_NUM_THREADS": "1"}
    printed(*TWO_RANKS, program, "cases.pickle", folder, env=environment, cwd=folder)
    files = [folder / f"rank-{rank}.pickle" for rank in range(2)]
    return folder, [pickle.loads(file.read_bytes()) for file in files]


def score_alone(case):
    """What one process gives for all the pairs of a case."""
    parts = case["shares"][:1] if case["shares"][0] == case["shares"][1] else case["shares"]
    pairs = ([text for part in parts for text in part[side]] for side in (0, 1))
    _, scorer_type = KINDS[case.get("of", "infolm")]
    baseline = case.get("ways", {}).get("rescale_with_baseline", False)
    scorer = scorer_type(**case.get("settings", {}))
    return scorer.score(*pairs, rescale_with_baseline=baseline).as_dict()


@pytest.mark.parametrize("name", CASES)
def test_every_rank_gets_what_one_process_gives(outcomes, folder, name):
    expected = score_alone(CASES[name])
    for results in outcomes[1]:
        assert_nearly_equal(results[name], expected)


@pytest.mark.parametrize("name", MAIN_ONLY)
def test_the_main_rank_alone_gets_the_result(outcomes, folder, name):
    main, worker = outcomes[1]
    assert_nearly_equal(main[name], score_alone(MAIN_ONLY[name]))
    assert worker[name] is None


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_torchmetrics_score_as_all_pairs_of_all_ranks(outcomes, folder, name):
    shares = BATCHES[name]["shares"]
    first = [[side[:2] for side in share] for share in shares]
    expected = [score_alone({"shares": epoch})["infolm"] for epoch in (shares, first)]
    for results in outcomes[1]:
        assert results[name] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", WRONG)
def test_an_error_on_one_rank_is_an_error_on_all(outcomes, name):
    waiting, failing = (results[name] for results in outcomes[1])
    assert isinstance(failing, TypeError | OSError) and type(waiting) is RuntimeError
    message = f"rank 1 could not score its part: {type(failing).__name__}: {failing}"
    assert str(waiting) == message


@pytest.mark.parametrize("name", REFUSED)
def test_what_ranks_cannot_score_together_is_refused_on_all_with_the_reason(outcomes, name):
    for results in outcomes[1]:
        assert type(results[name]) is ValueError and name in str(results[name])
        assert (OTHERWISE in name) == ("give all ranks the same settings" in str(results[name]))


def test_without_ranks_one_process_scores(folder):
    scorer, pairs = InfoLMScorer(), (PREDICTIONS[:2], REFERENCES[:2])
    assert_nearly_equal(distributed_score(scorer, *pairs), scorer.score(*pairs))


def test_ranks_that_cannot_talk_are_an_error_and_not_a_partial_score(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="2 processes .*, but torch.distributed is not init"):
        distributed_score(InfoLMScorer(), ["a"], ["b"])
