"""Several ranks of torch.distributed: two real gloo processes give what one process gives."""

import json
import os
import subprocess
import sys

import pytest

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer
from infolm_metric.core.distributed import distributed_score
from tests.project_files import ROOT
from tests.toy import ToyScorer

pytestmark = pytest.mark.xdist_group("ranks")

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
MADE = "the fixture's"
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
    "the metric, added": {
        **{"call": "metric", "shares": shares(0, 4, 7), "ways": SHARE, "add_batch": True}
    },
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
    call: {"call": call, "shares": shares(0, 4, 7), "ways": {"ranks": "share", "gather": "main"}}
    for call in ("scorer", "metric")
}
APART = {"metric, as in a Trainer": {"call": "metric", "shares": ALL}}
MISSING = {"model_name_or_path": "./no/such/model"}
WRONG = {
    "a number among the texts": {"shares": [[["a"], ["b"]], [["a", 5], ["b", "c"]]]},
    "a model that is not there": {"shares": shares(0, 4, 7), "on_rank": {"1": MISSING}},
    "a model that is not there, without idf": {
        "shares": shares(0, 4, 7),
        "settings": {"idf": False},
        "on_rank": {"1": MISSING},
    },
}
WRONG_ON_ALL = {
    "no pairs at all": {"shares": [[[], []], [[], []]]},
    "not the same": {"shares": shares(0, 4, 7), "ways": {"ranks": "same"}},
}
DIFFERENT = {  # by what is said to differ
    "temperature was 1.0 and is 2.0 now": {"on_rank": {"1": {"temperature": 2.0}}},
    "idf was references and is no now": {"on_rank": {"1": {"idf": False}}},
    "rescaled was None and is package-": {
        "call": "metric",
        "ways": SHARE,
        "arguments_on_rank": {"1": {"rescale_with_baseline": True}},
    },
    "scores asked for was one and is a list now": {
        "on_rank": {"1": {"information_measure": ["fisher_rao"]}}
    },
    "size was 1 and is 2 now": {"of": "toy", "on_rank": {"1": {"size": 2}}},
}


@pytest.fixture(scope="module")
def filled(tiny_bert, tiny_nli, tmp_path_factory):
    """A function that puts a baseline, and the folders of MENLI's models, into a case."""
    file = tmp_path_factory.mktemp("baseline") / "made.baseline"
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    scorer.make_baseline([*PREDICTIONS, *REFERENCES], 5, 2).save(file)

    def fill(case):
        if case.get("ways", {}).get("rescale_with_baseline") == MADE:
            case = {**case, "ways": {"rescale_with_baseline": str(file)}}
        if case.get("of") != "menli":
            return case
        settings = {"model_name_or_path": str(tiny_nli()), **case.get("settings", {})}
        return {**case, "settings": settings}

    return fill


@pytest.fixture(scope="module")
def outcomes(tiny_bert, filled, tmp_path_factory):
    """What every case gave: [rank][case]."""
    folder = tmp_path_factory.mktemp("ranks")
    different = {name: {"shares": shares(0, 4, 7), **case} for name, case in DIFFERENT.items()}
    # The ranks still understand each other after errors.
    last = {"afterwards": {"shares": shares(0, 4, 7)}}
    every = {**CASES, **MAIN_ONLY, **APART, **WRONG, **WRONG_ON_ALL, **different, **last}
    cases = {name: {"call": "scorer", **filled(case)} for name, case in every.items()}
    (folder / "cases.json").write_text(json.dumps(cases))
    result = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", ROOT / "tests/heavy/score_on_ranks.py"),
            *(tiny_bert, folder / "cases.json", folder),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(2)]


def alone(case, model):
    """What one process gives for all the pairs of a case."""
    parts = case["shares"][:1] if case["shares"][0] == case["shares"][1] else case["shares"]
    predictions, references = ([x for part in parts for x in part[side]] for side in (0, 1))
    settings = dict(case.get("settings", {}))
    if settings.get("combine_with"):
        settings["combine_with"] = InfoLMScorer(model_name_or_path=str(model)).settings
    if case.get("of") == "toy":
        return ToyScorer(**settings).score(predictions, references).as_dict()
    kinds = {"baryscore": BaryScorer, "menli": MENLIScorer}
    kind = kinds.get(case.get("of"), InfoLMScorer)
    scorer = kind(**{"model_name_or_path": str(model), **settings})
    baseline = case.get("ways", {}).get("rescale_with_baseline", False)
    return scorer.score(predictions, references, rescale_with_baseline=baseline).as_dict()


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


@pytest.mark.filterwarnings("ignore:infolm:UserWarning")
@pytest.mark.parametrize("name", [*CASES, "afterwards"])
def test_every_rank_gets_what_one_process_gives(outcomes, filled, tiny_bert, name):
    expected = alone(filled(CASES.get(name) or {"shares": shares(0, 4, 7)}), tiny_bert)
    for found in outcomes:
        assert_equal(found[name], expected)


@pytest.mark.filterwarnings("ignore:infolm:UserWarning")
@pytest.mark.parametrize("name", MAIN_ONLY)
def test_the_main_rank_alone_gets_the_result(outcomes, tiny_bert, name):
    main, other = outcomes
    assert_equal(main[name], alone(MAIN_ONLY[name], tiny_bert))
    assert other[name] is None


@pytest.mark.filterwarnings("ignore:infolm:UserWarning")
def test_ranks_that_all_compute_the_same_count_nothing_twice(outcomes, tiny_bert):
    (name,) = APART
    for found in outcomes:
        assert_equal(found[name], alone({"shares": ALL}, tiny_bert))


@pytest.mark.parametrize("name", WRONG)
def test_an_error_on_one_rank_is_an_error_on_all(outcomes, name):
    waiting, failing = (found[name] for found in outcomes)
    assert failing["error"] in ("TypeError", "OSError")
    assert waiting["error"] == "RuntimeError"
    assert waiting["message"] == (
        f"rank 1 could not score its part: {failing['error']}: {failing['message']}"
    )


def test_what_no_rank_can_score_is_refused_on_all(outcomes):
    for found in outcomes:
        assert found["no pairs at all"]["error"] == "ValueError"
        assert "empty on every rank" in found["no pairs at all"]["message"]
        assert (
            "those of rank 1 (3 pairs) differ from those of rank 0 (4"
            in (found["not the same"]["message"])
        )


@pytest.mark.parametrize("name", DIFFERENT)
def test_ranks_that_would_score_otherwise_are_refused_on_all_with_the_difference(outcomes, name):
    for found in outcomes:
        assert found[name]["error"] == "ValueError"
        assert found[name]["message"].startswith(
            f"rank 1 would score otherwise than rank 0: {name}"
        )
        assert "; give all ranks the same settings" in found[name]["message"]


def test_without_ranks_one_process_scores(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert))
    result = distributed_score(scorer, PREDICTIONS[:2], REFERENCES[:2])
    assert result == scorer.score(PREDICTIONS[:2], REFERENCES[:2])


def test_ranks_that_cannot_talk_are_an_error_and_not_a_partial_score(tiny_bert, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="one of 2 processes, but torch.distributed is not init"):
        distributed_score(InfoLMScorer(model_name_or_path=str(tiny_bert)), ["a"], ["b"])
