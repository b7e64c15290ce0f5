"""One pair has one score, whoever asks; and near-copies are closer than unrelated texts."""

import json

import pytest

from infolm_metric import InfoLM, InfoLMScorer
from infolm_metric.commands.main import main
from space.page.scoring import compare

COUNCIL = (
    "The council approved the new budget on Monday.",
    "On Monday, the city's new budget was passed by the council.",
)
# A reference, and the same with one word added or changed.
NEAR_COPIES = [
    ("The cat sat on the mat.", "The cat sat on the mat today."),
    ("She sold her bicycle to a neighbour.", "She sold her old bicycle to a neighbour."),
    ("The train was late because of the snow.", "The train was late because of the storm."),
    ("He reads the newspaper every morning.", "He reads the newspaper every evening."),
    ("The museum opens at nine.", "The museum usually opens at nine."),
    ("Two engineers repaired the bridge.", "Two engineers quickly repaired the bridge."),
    ("The soup needs more salt.", "The soup needs more pepper."),
    ("A storm damaged the roof of the school.", "A storm damaged the roof of the church."),
    ("My brother plays the violin.", "My younger brother plays the violin."),
    ("The shop closes early on Sundays.", "The shop closes early on Saturdays."),
    ("They planted trees along the road.", "They planted trees along the river."),
    ("The lecture was long and dull.", "The lecture was very long and dull."),
    ("Scientists found water on the moon.", "Scientists found ice on the moon."),
    ("The dog slept under the table.", "The dog slept under the kitchen table."),
    ("Our hotel was close to the beach.", "Our hotel was close to the station."),
    ("The price of bread has doubled.", "The price of bread has nearly doubled."),
    ("He broke his arm while skiing.", "He broke his leg while skiing."),
    ("The judge postponed the trial.", "The judge postponed the trial again."),
    ("Farmers fear a dry summer.", "Farmers fear a dry spring."),
    ("The bus stops in front of the library.", "The bus stops right in front of the library."),
]
UNRELATED = [
    (reference, NEAR_COPIES[(index + 7) % 20][1])
    for index, (reference, _) in enumerate(NEAR_COPIES)
]

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture(scope="module")
def scorer():
    return InfoLMScorer(model_name_or_path="bundled")


@pytest.fixture(scope="module")
def metric():
    return InfoLM(model_name_or_path="bundled")


@pytest.fixture
def command(capsys):
    """A function from arguments to what `infolm score --json` prints."""

    def run(*arguments):
        assert main(["score", "--model", "bundled", "--json", *map(str, arguments)]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def ways(scorer, metric, command):
    """What each way to score makes of one candidate and its reference."""
    return {
        "scorer": lambda candidate, reference: scorer.score([candidate], [reference])["infolm"],
        "evaluate": lambda candidate, reference: metric.compute(
            predictions=[candidate], references=[reference]
        )["infolm"],
        "command": lambda candidate, reference: command(candidate, reference)["infolm"],
        "space": lambda candidate, reference: compare("infolm", candidate, [reference]).score,
    }


def test_one_pair_has_one_score(scorer, metric, command):
    scores = {name: way(*COUNCIL) for name, way in ways(scorer, metric, command).items()}
    assert set(scores.values()) == {scores["scorer"]}
    assert scores["scorer"] == pytest.approx(0.43266, abs=1e-4)  # as the README says


@pytest.mark.parametrize("way", ["scorer", "evaluate", "command", "space"])
def test_near_copies_alone_are_closer_than_unrelated_pairs(scorer, metric, command, way):
    score = ways(scorer, metric, command)[way]
    number = 4 if way in ("command", "space") else 20  # which load the model, or explain
    near = [score(candidate, reference) for reference, candidate in NEAR_COPIES[:number]]
    far = [score(candidate, reference) for reference, candidate in UNRELATED[:number]]
    assert max(near) < min(far)


def test_near_copies_among_thirty_are_closer_than_unrelated_pairs(
    scorer, metric, command, tmp_path
):
    pairs = NEAR_COPIES + UNRELATED[:10]
    columns = {"predictions": [c for _, c in pairs], "references": [r for r, _ in pairs]}
    rows = [{"prediction": candidate, "reference": reference} for reference, candidate in pairs]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = {
        "scorer": scorer.score(**columns)["scores"],
        "evaluate": metric.compute(**columns)["scores"],
        "command": command("--data", tmp_path / "pairs.jsonl")["scores"],
    }
    for scores in found.values():
        assert scores == found["scorer"]
        assert max(scores[:20]) < min(scores[20:])
