"""Several ranks of torch.distributed: two real gloo processes give what one process gives."""

import pickle

import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.core.distributed import distributed_score
from tests.heavy.score_on_ranks import KINDS
from tests.processes import TWO_RANKS, printed
from tests.project_files import ROOT

pytestmark = [
    pytest.mark.xdist_group("ranks"),
    pytest.mark.filterwarnings("ignore:infolm:UserWarning"),  # of few and short texts
]

PREDICTIONS = [
    "the cat sat on the mat",
    "a dog ran in the garden",
    "rain fell for 12 days",
    "it was cold outside",
    "the old cat sat",
    "",
    "the river rose by 3.5 metres and the small dog barked",
]
REFERENCES = [
    "the cat slept on the chair",
    "a small dog barked",
    "the river rose by 3.5 metres",
    "rain fell",
    "the old dog sat",
    "a cat",
    "the dog ran in the cold",
]
UNEVEN = [["the cat slept", "it was cold"]] * 2 + [[text] for text in REFERENCES[2:]]
MADE = "made.baseline"
GROUPS = [[text, other] for text, other in zip(REFERENCES, REFERENCES[::-1], strict=True)]


def shares(*edges, references=REFERENCES):
    """The parts between consecutive edges."""
    parts = zip(edges, edges[1:], strict=False)
    return [[PREDICTIONS[start:stop], references[start:stop]] for start, stop in parts]


ALL = [[PREDICTIONS, REFERENCES]] * 2
SHARE, SAME = {"ranks": "share"}, {"ranks": "same"}
CASES = {
    "a number that does not divide": {"shares": shares(0, 4, 7)},
    "a rank that has none": {"shares": shares(0, 0, 7)},
    "the metric, a main rank alone": {"call": "metric", "shares": shares(0, 7, 7), "ways": SHARE},
    "the metric, added": {"call": "added", "shares": shares(0, 4, 7), "ways": SHARE},
    "without idf": {"shares": shares(0, 3, 7), "settings": {"idf": False}},
    "several references and measures": {
        "shares": shares(0, 2, 7, references=GROUPS),
        "settings": {
            **{"multi_reference": "mean", "idf": "separate", "symmetrize": "jensen"},
            "information_measure": ["kl", "l1"],
        },
    },
    "a baseline for two numbers of references": {  # of which the main rank has the rarer
        "shares": shares(0, 2, 7, references=UNEVEN),
        "settings": {"idf": False},
        "ways": {"rescale_with_baseline": MADE},
    },
    "windows": {"shares": shares(0, 3, 7), "settings": {"max_length": 6, "long_text": "window"}},
    "all pairs on each": {"shares": ALL, "ways": SAME},
    "the metric, all pairs on each": {"call": "metric", "shares": ALL, "ways": SAME},
    "the metric, as in a Trainer": {"call": "metric", "shares": ALL},
    "one pair on each": {"shares": [[PREDICTIONS[:1], REFERENCES[:1]]] * 2, "ways": SAME},
    "baryscore": {
        **{"of": "baryscore", "settings": {"layers": 2}},
        "shares": shares(0, 4, 7, references=GROUPS),
    },
    "menli": {
        **{"of": "menli", "settings": {"formula": ["e", "e-c"], "probabilities": True}},
        "shares": shares(0, 4, 7, references=GROUPS),
    },
    "menli, combined": {  # what is counted for the other metric is every rank's
        **{"of": "menli", "shares": shares(0, 3, 7), "settings": {"combine_with": "infolm"}}
    },
    "a metric without a model": {
        **{"of": "toy", "call": "metric", "settings": {"size": 2}},
        **{"shares": shares(0, 2, 7, references=GROUPS), "ways": SHARE},
    },
}
MAIN_ONLY = {
    f"{call}, for the main rank": {
        **{"call": call, "shares": shares(0, 4, 7)},
        "ways": {"ranks": "share", "gather": "main"},
    }
    for call in ("scorer", "metric")
}
BATCHES = {
    "uneven": {"call": "torchmetrics", "shares": shares(0, 5, 7)},
    "one has none": {"call": "torchmetrics", "shares": shares(0, 7, 7)},
}
MISSING = {"on_rank": {1: {"model_name_or_path": "./no/such/model"}}}
WRONG = {
    "a number among the texts": {"shares": [[["a"], ["b"]], [["a", 5], ["b", "c"]]]},
    "a model that is not there": {"shares": shares(0, 4, 7), **MISSING},
    "a model that is not there, without idf": {
        **{"shares": shares(0, 4, 7), "settings": {"idf": False}, **MISSING}
    },
}
WRONG_ON_ALL = {  # by a word of what is said
    "empty on every rank": {"shares": [[[], []], [[], []]]},
    "those of rank 1 (3 pairs) differ from those of rank 0 (4": {
        **{"shares": shares(0, 4, 7), "ways": SAME}
    },
}
DIFFERENT = {  # by what is said to differ
    "temperature was 1.0 and is 2.0 now": {"on_rank": {1: {"temperature": 2.0}}},
    "idf was references and is no now": {"on_rank": {1: {"idf": False}}},
    "rescaled was None and is package-": {
        **{"call": "metric", "ways": SHARE},
        "ways_on_rank": {1: {"rescale_with_baseline": True}},
    },
    "scores asked for was one and is a list now": {
        "on_rank": {1: {"information_measure": ["fisher_rao"]}}
    },
    "size was 1 and is 2 now": {"of": "toy", "on_rank": {1: {"size": 2}}},
}
# The ranks still understand each other after errors.
LAST = {"afterwards": {"shares": shares(0, 4, 7)}}


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
    different = {name: {"shares": shares(0, 4, 7), **case} for name, case in DIFFERENT.items()}
    cases = {**CASES, **MAIN_ONLY, **BATCHES, **WRONG, **WRONG_ON_ALL, **different, **LAST}
    (folder / "cases.pickle").write_bytes(pickle.dumps(cases))
    program = ROOT / "tests/heavy/score_on_ranks.py"
    environment = {**models, "OMP_NUM_THREADS": "1"}
    printed(*TWO_RANKS, program, "cases.pickle", folder, env=environment, cwd=folder)
    files = [folder / f"rank-{rank}.pickle" for rank in range(2)]
    return folder, [pickle.loads(file.read_bytes()) for file in files]


def alone(case):
    """What one process gives for all the pairs of a case."""
    parts = case["shares"][:1] if case["shares"][0] == case["shares"][1] else case["shares"]
    pairs = ([text for part in parts for text in part[side]] for side in (0, 1))
    _, scorer_type = KINDS[case.get("of", "infolm")]
    baseline = case.get("ways", {}).get("rescale_with_baseline", False)
    scorer = scorer_type(**case.get("settings", {}))
    return scorer.score(*pairs, rescale_with_baseline=baseline).as_dict()


def assert_equal(found, expected):
    """Fail unless the results have equal signatures and, within 1e-6, numbers."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, dict):
            assert_equal(found[name], value)
        else:
            assert found[name] == (
                value if isinstance(value, str) else pytest.approx(value, abs=1e-6, rel=1e-6)
            )


@pytest.mark.parametrize("name", {**CASES, **LAST})
def test_every_rank_gets_what_one_process_gives(outcomes, folder, name):
    expected = alone({**CASES, **LAST}[name])
    for found in outcomes[1]:
        assert_equal(found[name], expected)


@pytest.mark.parametrize("name", MAIN_ONLY)
def test_the_main_rank_alone_gets_the_result(outcomes, folder, name):
    main, other = outcomes[1]
    assert_equal(main[name], alone(MAIN_ONLY[name]))
    assert other[name] is None


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_torchmetrics_score_as_all_pairs_of_all_ranks(outcomes, folder, name):
    shares = BATCHES[name]["shares"]
    first = [[side[:2] for side in share] for share in shares]
    expected = [alone({"shares": epoch})["infolm"] for epoch in (shares, first)]
    for found in outcomes[1]:
        assert found[name] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", WRONG)
def test_an_error_on_one_rank_is_an_error_on_all(outcomes, name):
    waiting, failing = (found[name] for found in outcomes[1])
    assert isinstance(failing, TypeError | OSError) and type(waiting) is RuntimeError
    told = f"rank 1 could not score its part: {type(failing).__name__}: {failing}"
    assert str(waiting) == told


@pytest.mark.parametrize("name", {**WRONG_ON_ALL, **DIFFERENT})
def test_what_ranks_cannot_score_together_is_refused_on_all_with_the_reason(outcomes, name):
    for found in outcomes[1]:
        assert type(found[name]) is ValueError and name in str(found[name])
        if name in DIFFERENT:
            told = str(found[name])
            assert told.startswith(f"rank 1 would score otherwise than rank 0: {name}")
            assert "; give all ranks the same settings" in told


def test_without_ranks_one_process_scores(folder):
    scorer, pairs = InfoLMScorer(), (PREDICTIONS[:2], REFERENCES[:2])
    assert distributed_score(scorer, *pairs) == scorer.score(*pairs)


def test_ranks_that_cannot_talk_are_an_error_and_not_a_partial_score(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="one of 2 processes, but torch.distributed is not init"):
        distributed_score(InfoLMScorer(), ["a"], ["b"])
