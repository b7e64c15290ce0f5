"""Several ranks of torch.distributed: two real gloo processes give what one process gives."""

import json
import os
import subprocess
import sys

import pytest

from infolm_metric import BaryScorer, InfoLM, InfoLMScorer, MENLIScorer
from infolm_metric.kernel.ranks import distributed_score
from infolm_metric.kernel.rescaling import make_baseline
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
BOTH_MEASURES = {"information_measure": ["kl", "l1"], "symmetrize": "jensen"}
GOOD = {
    "a number that does not divide": {"shares": shares(0, 4, 7)},
    "a rank that has none": {"shares": shares(0, 0, 7)},
    "a main rank alone": {"shares": shares(0, 7, 7)},
    "without idf": {"shares": shares(0, 3, 7), "settings": {"idf": False}},
    "each side's idf": {"shares": shares(0, 5, 7), "settings": {"idf": "separate"}},
    "several references": {
        "shares": shares(0, 2, 7, references=GROUPS),
        "settings": {"multi_reference": "mean", "idf": "separate"},
    },
    "a baseline for two numbers of references": {  # of which the main rank has the rarer
        "shares": shares(0, 2, 7, references=UNEVEN),
        "settings": {"idf": False, "rescale_with_baseline": MADE},
    },
    "several measures": {"shares": shares(0, 3, 7), "settings": BOTH_MEASURES},
    "measures and sides": {
        "shares": shares(0, 3, 7),
        "settings": {**BOTH_MEASURES, "idf": "separate"},
    },
    "windows": {"shares": shares(0, 3, 7), "settings": {"max_length": 6, "long_text": "window"}},
    "all pairs on each": {"shares": ALL, "ways": {"ranks": "same"}},
    "one pair on each": {
        "shares": [[PREDICTIONS[:1], REFERENCES[:1]]] * 2,
        "ways": {"ranks": "same"},
    },
}
CASES = {
    **{f"scorer, {name}": {"call": "scorer", **case} for name, case in GOOD.items()},
    **{
        f"metric, {name}": {"call": "metric", "ways": {"ranks": "share"}, **case}
        for name, case in GOOD.items()
        if name in ("a rank that has none", "several references", "all pairs on each")
    },
    "metric, added": {
        "call": "metric",
        "shares": shares(0, 4, 7),
        "ways": {"ranks": "share"},
        "add_batch": True,
    },
    **{
        f"baryscore, {name}": {"of": "baryscore", "settings": {"layers": 2}, **case}
        for name, case in {
            "scorer": {"call": "scorer", "shares": shares(0, 4, 7, references=GROUPS)},
            "metric": {"call": "metric", "shares": shares(0, 4, 7), "ways": {"ranks": "share"}},
            "all pairs on each": {"call": "metric", "shares": ALL, "ways": {"ranks": "same"}},
        }.items()
    },
    **{
        f"menli, {name}": {"of": "menli", **case}
        for name, case in {
            "scorer": {
                "call": "scorer",
                "shares": shares(0, 4, 7, references=GROUPS),
                "settings": {"formula": ["e", "e-c"], "probabilities": True},
            },
            "combined": {  # what is counted for the other metric is every rank's
                "call": "scorer",
                "shares": shares(0, 3, 7),
                "settings": {"combine_with": "infolm"},
            },
            "metric": {"call": "metric", "shares": shares(0, 4, 7), "ways": {"ranks": "share"}},
            "all pairs on each": {"call": "metric", "shares": ALL, "ways": {"ranks": "same"}},
        }.items()
    },
    **{
        f"toy, {name}": {"of": "toy", "settings": {"size": 2}, **case}
        for name, case in {
            "scorer": {"call": "scorer", "shares": shares(0, 4, 7)},
            "metric": {"call": "metric", "shares": shares(0, 4, 7), "ways": {"ranks": "share"}},
            "all pairs on each": {"call": "metric", "shares": ALL, "ways": {"ranks": "same"}},
            "several references": {"call": "scorer", "shares": shares(0, 2, 7, references=GROUPS)},
        }.items()
    },
}
MAIN_ONLY = {
    call: {
        "call": call,
        "shares": shares(0, 4, 7),
        "ways": {"ranks": "share", "gather": "main"},
    }
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
DIFFERENCES = {
    "temperature was 1.0 and is 2.0 now": {"on_rank": {"1": {"temperature": 2.0}}},
    "idf was references and is no now": {"on_rank": {"1": {"idf": False}}},
    "rescaled was False and is package-": {"on_rank": {"1": {"rescale_with_baseline": True}}},
    "scores asked for was one and is a list now": {
        "on_rank": {"1": {"information_measure": ["fisher_rao"]}}
    },
    "size was 1 and is 2 now": {"of": "toy", "on_rank": {"1": {"size": 2}}},
}
DIFFERENT = {
    f"{call}, {difference}": {
        "call": call,
        "shares": shares(0, 4, 7),
        "ways": {"ranks": "share"},
        "difference": difference,
        **case,
    }
    for difference, case in DIFFERENCES.items()
    for call in ("scorer", "metric")
}


@pytest.fixture(scope="module")
def filled(tiny_bert, tiny_nli, tmp_path_factory):
    """A function that puts a baseline, and the folders of MENLI's models, into a case."""
    file = tmp_path_factory.mktemp("baseline") / "made.baseline"
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    make_baseline(scorer.inner, scorer.settings, [*PREDICTIONS, *REFERENCES], 5, 2).save(file)

    def fill(case):
        if case.get("settings", {}).get("rescale_with_baseline") == MADE:
            case = {**case, "settings": {**case["settings"], "rescale_with_baseline": str(file)}}
        if case.get("of") != "menli":
            return case
        settings = {"model_name_or_path": str(tiny_nli()), **case.get("settings", {})}
        return {**case, "settings": settings}

    return fill


@pytest.fixture(scope="module")
def outcomes(tiny_bert, filled, tmp_path_factory):
    """What every case gave: [rank][case]."""
    folder = tmp_path_factory.mktemp("ranks")
    calls = {**WRONG, **WRONG_ON_ALL}
    cases = {
        **{name: filled(case) for name, case in CASES.items()},
        **MAIN_ONLY,
        **APART,
        **{name: {"call": "scorer", **case} for name, case in calls.items()},
        **DIFFERENT,
        # The ranks still understand each other after errors.
        "afterwards": {"call": "scorer", "shares": shares(0, 4, 7)},
    }
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
    return scorer.score(predictions, references).as_dict()


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


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].get("of") == "toy"])
def test_ranks_obey_the_direction_of_the_metric(outcomes, name):
    for found in outcomes:
        assert found[name]["higher_is_better"] is True
        assert len(found[name]["scores"]) == len(PREDICTIONS)
        assert found["afterwards"]["higher_is_better"] is False


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
            f"rank 1 would score otherwise than rank 0: {DIFFERENT[name]['difference']}"
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


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"ranks": "shares"}, "unknown ranks 'shares'; did you mean 'share'"),
        ({"ranks": "same", "gather": "first"}, "unknown gather 'first'; known: 'all', 'main'"),
        ({"gather": "main"}, "gather='main' needs ranks="),
    ],
)
def test_unknown_ways_are_refused(arguments, problem):
    with pytest.raises(ValueError, match=problem):
        InfoLM().compute(predictions=["a"], references=["b"], **arguments)
