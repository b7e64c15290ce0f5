"""Two threads in a separate process, because workers of pytest-xdist have few."""

from tests.processes import printed
from tests.project_files import ROOT

INVARIANCE = """
import torch
from infolm_metric import BaryScorer, BERTScorer, InfoLMScorer, MENLIScorer

torch.set_num_threads(2)
texts = open("tests/sentences.txt").read().splitlines()[:2]
pairs = [*zip(texts, texts[1:] + texts[:1])]
common = {"model_name_or_path": "bundled", "reuse_memory": 0}
scorers = {
    "InfoLM": InfoLMScorer(idf=False, information_measure=["fisher_rao", "kl"], **common),
    "one pass": InfoLMScorer(idf=False, masking="none", **common),
    "BaryScore": BaryScorer(idf=False, **common),
    "BERTScore": BERTScorer(score=["f1", "precision", "recall"], **common),
    "MENLI": MENLIScorer(formula=["e", "e-c"], **common),
}
for name, scorer in scorers.items():
    def scores(pairs, **settings):
        result = scorer.score(*zip(*pairs), **settings)
        return [*zip(*result.scores.values())]
    together = scores(pairs)
    assert together == [scores([pair])[0] for pair in pairs], name
    assert together == scores(pairs[::-1], batch_size=5)[::-1], name
    print(name)
"""


def test_scores_are_bitwise_batch_invariant_with_two_threads():
    names = printed("-c", INVARIANCE, env={"OMP_NUM_THREADS": "2"}, cwd=ROOT).split("\n")
    assert names == ["InfoLM", "one pass", "BaryScore", "BERTScore", "MENLI", ""]
