"""Long jobs in separate processes that are killed or interrupted."""

from tests.processes import printed
from tests.project_files import ROOT


def test_job_killed_at_random_moments_writes_identical_bytes(tmp_path):
    assert int(printed(ROOT / "tests/heavy/kill_jobs.py", tmp_path, 2000, 8)) > 0
