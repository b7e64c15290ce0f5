"""Processes forked after scoring can score, although OpenMP threads do not survive a fork."""

import os
import signal

import pytest

from tests.processes import started

PROGRAM = """
import multiprocessing, sys, warnings
import datasets, torch
import infolm_metric

warnings.simplefilter("ignore")
torch.set_num_threads(2)
scorer = getattr(infolm_metric, sys.argv[1])(model_name_or_path="bundled")
scorer.score(["A cat sat on the mat."], ["The dog ran away."])


def score(number):
    texts = [f"Bird number {number} sang in the tree."], [f"Rain fell on house number {number}."]
    result = scorer.score(*texts)
    return result.scores[scorer.settings.names[0]][0]


with multiprocessing.get_context("fork").Pool(2) as pool:
    by_pool = pool.map(score, range(4))
rows = datasets.Dataset.from_dict({"number": list(range(4, 8))})
rows = rows.map(lambda row: {"score": score(row["number"])}, num_proc=2)
for number, value in enumerate([*by_pool, *rows["score"]]):
    assert abs(value - score(number)) < 1e-5, (number, value)
assert torch.get_num_threads() == 2
"""


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="the system has no fork")
@pytest.mark.parametrize("name", ["InfoLMScorer", "BaryScorer", "MENLIScorer"])
def test_forked_processes_score_new_texts_after_the_parent_has_scored(name, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {"OMP_NUM_THREADS": "2"}
    options = {"env": environment, "start_new_session": True}
    with started(tmp_path / "program.py", name, **options) as process:
        try:
            output, errors = process.communicate(timeout=180)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output + errors
