"""Processes forked after scoring can score, although OpenMP threads do not survive a fork."""

import os
import signal

import pytest

from tests.processes import started

PROGRAM = """
import multiprocessing, warnings
import torch
from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer

warnings.simplefilter("ignore")
torch.set_num_threads(2)
scorers = [kind(model_name_or_path="bundled") for kind in (InfoLMScorer, BaryScorer, MENLIScorer)]
for scorer in scorers:
    scorer.score(["A cat sat on the mat."], ["The dog ran away."])


def score(number):
    texts = [f"Bird number {number} sang in the tree."], [f"Rain fell on house number {number}."]
    results = [scorer.score(*texts) for scorer in scorers]
    return [[*result.scores.values()][0][0] for result in results]


with multiprocessing.get_context("fork").Pool(2) as pool:
    by_pool = pool.map(score, range(4))
for number, values in enumerate(by_pool):
    for value, expected in zip(values, score(number), strict=True):
        assert abs(value - expected) < 1e-5, (number, value)
assert torch.get_num_threads() == 2
"""


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="the system has no fork")
def test_forked_processes_score_new_texts_after_the_parent_has_scored(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    options = {"env": {"OMP_NUM_THREADS": "2"}, "start_new_session": True}
    with started(tmp_path / "program.py", **options) as process:
        try:
            output, errors = process.communicate(timeout=180)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output + errors
