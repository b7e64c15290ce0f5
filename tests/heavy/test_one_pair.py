"""One pair has one score, whoever asks; and near-copies are closer than unrelated texts."""

import json
from pathlib import Path

import pytest

from infolm_metric import InfoLM, InfoLMScorer
from infolm_metric.commands.main import main
from space.page.scoring import compare

COUNCIL = (
    "The council approved the new budget on Monday.",
    "On Monday, the city's new budget was passed by the council.",
)
# A reference, and the same with one word added or changed.
LINES = Path(__file__).with_name("near_copies.tsv").read_text(encoding="utf-8").splitlines()
NEAR_COPIES = [tuple(line.split("\t")) for line in LINES]
UNRELATED = [
    (reference, NEAR_COPIES[(index + 7) % 20][1])
    for index, (reference, _) in enumerate(NEAR_COPIES)
]

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture(scope="module")
def scorer():
    return InfoLMScorer(model_name_or_path="bundled")


def test_one_pair_has_one_score(scorer, capsys):
    candidate, reference = COUNCIL
    assert main(["score", "--model", "bundled", "--json", candidate, reference]) == 0
    metric = InfoLM(model_name_or_path="bundled")
    scores = [
        scorer.score([candidate], [reference])["infolm"],
        metric.compute(predictions=[candidate], references=[reference])["infolm"],
        json.loads(capsys.readouterr().out)["infolm"],
        compare("infolm", candidate, [reference]).score,
    ]
    assert len(set(scores)) == 1
    assert scores[0] == pytest.approx(0.43266, abs=1e-4)  # as the README says


def test_near_copies_are_closer_than_unrelated_pairs_alone_and_among_thirty(scorer):
    near, far = (
        [scorer.score([candidate], [reference])["infolm"] for reference, candidate in pairs]
        for pairs in (NEAR_COPIES, UNRELATED)
    )
    assert max(near) < min(far)
    references, candidates = map(list, zip(*NEAR_COPIES, *UNRELATED[:10], strict=True))
    scores = scorer.score(candidates, references)["scores"]
    assert max(scores[:20]) < min(scores[20:])
