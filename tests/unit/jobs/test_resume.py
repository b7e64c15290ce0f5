"""Long jobs: output, resuming after interruptions and damage, and invalid jobs."""

import errno
import gc
import itertools
import json
import math
import os
import re
import tracemalloc
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from filelock import FileLock
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from infolm_metric import InfoLMScorer, InputError
from infolm_metric.core import files
from infolm_metric.core.baselines import Baseline, BaselineNotFoundError
from infolm_metric.jobs import resume
from infolm_metric.jobs.resume import run_job
from infolm_metric.scoring.scorer import Run
from infolm_metric.tables import Source, read_parallel, read_rows
from tests.random_pairs import random_pairs, write_lines
from tests.toy import ToyScorer

ROWS = [{"id": f"row {i}", **row} for i, row in enumerate(random_pairs(50))]
SIDES = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]
OUTPUT = Path("scores.jsonl")
PART, RECORD = Path("scores.jsonl.part"), Path("scores.jsonl.job")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Working directory with the pairs in a table."""
    monkeypatch.chdir(tmp_path)
    write_lines(Path("pairs.jsonl"), ROWS)
    return tmp_path


def table(path="pairs.jsonl"):
    return Source(path, partial(read_rows, path), files=(path,))


def job(scorer=None, source=None, output=OUTPUT, **options):
    """Run a job in small chunks."""
    return run_job(scorer or ToyScorer(), source or table(), output, **{"chunk": 8, **options})


def read_output(path=OUTPUT):
    return [json.loads(line) for line in path.read_text().splitlines()]


def contents():
    """Return the contents of the files of the job."""
    return {file: file.read_bytes() for file in (OUTPUT, PART, RECORD) if file.is_file()}


class Interruption(BaseException):
    """Interruption of a job at a certain step, as by a signal."""


# Output


def test_job_writes_the_scores_of_one_call_and_the_input_columns():
    result = job()
    expected = ToyScorer().score(*SIDES)
    for number, row in enumerate(read_output()):
        scored = {"pair": number + 1, **ROWS[number], "toy": expected["scores"][number]}
        assert [*row.items()] == [*scored.items()]
    assert result.means == {"toy": pytest.approx(expected["toy"])}
    assert (result.pairs, result.resumed) == (len(ROWS), 0)
    assert result.signature == expected.signature
    assert result.counts == expected.counts


def test_plain_files_and_unusual_values_are_written_as_json():
    Path("a.txt").write_text("caf\xe9\n")
    Path("b.txt").write_text("cat\n")
    read = partial(read_parallel, "a.txt", ["b.txt"])
    job(source=Source("a.txt", read, files=("a.txt", "b.txt")))
    (row,) = read_output()
    assert row == {"pair": 1, "prediction": "café", "references": ["cat"], "toy": row["toy"]}
    odd = {"prediction": "a", "reference": "a", "n": math.nan, "s": "\ud800", "p": Path("x")}
    objects = [object() for _ in range(9)]  # at different addresses
    source = Source("odd", lambda: iter([("row 1", {**odd, "o": objects.pop()})]))
    for resumed in (0, 1):
        assert job(source=source, output="odd.jsonl").resumed == resumed
    (row,) = read_output(Path("odd.jsonl"))
    assert (row["n"], row["s"], row["p"], row["toy"]) == (None, "\ud800", "x", 1.0)


@pytest.mark.filterwarnings("ignore:infolm")
def test_rescaled_scores_are_written_and_recorded_in_the_signature(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    texts = [f"the {a} {b}" for a in ("cat", "dog", "rain") for b in ("sat", "ran", "fell", "is")]
    scorer.make_baseline([texts], 20, 2).save("baseline")
    result = job(scorer, rescale_with_baseline="baseline")
    assert result.means.keys() == {"infolm", "infolm_rescaled"}
    assert "|baseline:file-" in result.signature and result.baseline
    assert job(scorer, rescale_with_baseline="baseline") == replace(result, resumed=len(ROWS))
    with pytest.raises(InputError, match="baseline is unset instead of file-"):
        job(scorer)
    with pytest.raises(BaselineNotFoundError):
        job(scorer, output="other.jsonl", rescale_with_baseline=Baseline({}))
    assert not Path("other.jsonl.job").exists()


# Resuming


def rows_source(rows):
    return Source("rows", lambda: ((f"row {i}", row) for i, row in enumerate(rows)))


CHANGED_JOBS = [  # changes to a job that was started, and a part of the error message
    ({"scorer": ToyScorer(size=2)}, "the signature differs .*: size is 2 instead of 1"),
    ({"source": rows_source([*ROWS, ROWS[0]])}, "then: 50 .* now: 51"),
    ({"source": rows_source([*ROWS[:-1], {**ROWS[-1], "id": ""}])}, "then: 50 .* now: 50"),
]


class Jobs(RuleBasedStateMachine):
    """State machine that interrupts, damages and resumes a job. The output must not change."""

    def __init__(self, monkeypatch, expected, result):
        super().__init__()
        self.monkeypatch, self.expected, self.result = monkeypatch, expected, result
        self.least_rows = 0  # lower bound on the rows kept, as reported to the user
        for file in (OUTPUT, PART, RECORD):
            file.unlink(missing_ok=True)

    @property
    def part_is_short(self):
        """Whether the part file is shorter than its record says."""
        return PART.exists() and PART.stat().st_size < json.loads(RECORD.read_text())["size"]

    @precondition(lambda self: not self.part_is_short)
    @rule(
        step=st.integers(1, 45),
        early=st.booleans(),
        restart=st.booleans(),
        problem=st.sampled_from([Interruption(), OSError(errno.ENOSPC, "No space left on device")]),
    )
    def stop(self, step, early, restart, problem):
        """Interrupt the job before or after any scoring, writing, renaming or syncing step."""
        steps = itertools.count(1)

        def interrupt(function):
            def wrapper(*arguments, **options):
                number = next(steps)
                if number == step and early:
                    raise problem
                value = function(*arguments, **options)
                if number == step:
                    raise problem
                return value

            return wrapper

        places = [(Run, "score"), (files, "write_text"), (files, "put_in_place")]
        with self.monkeypatch.context() as patch, warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            for place, name in (*places, (os, "fsync")):
                patch.setattr(place, name, interrupt(getattr(place, name)))
            try:
                job(restart=restart)
            except (Interruption, OSError) as error:
                assert isinstance(error, Interruption) or "No space left on device" in str(error)
            else:
                assert next(steps) <= step  # no interruption is swallowed
        pattern = r"(\d+) of 50 pairs are saved in \S+\.part. Run .* without restart=True"
        messages = [str(record.message) for record in records]
        counts = re.findall(pattern, str(messages))
        assert len(counts) == str(messages).count("are saved")
        self.least_rows = int(counts[0]) if counts else 0 if restart else self.least_rows

    @precondition(lambda self: PART.exists() and not self.part_is_short)
    @rule(tail=st.binary(min_size=1, max_size=20))
    def append_partial_chunk(self, tail):
        with PART.open("ab") as part:  # a partial chunk, as left by a kill
            part.write(tail)

    @precondition(lambda self: PART.exists())
    @rule(fraction=st.floats(0, 1, exclude_max=True))
    def truncate_part(self, fraction):
        os.truncate(PART, int(fraction * PART.stat().st_size))

    @precondition(lambda self: OUTPUT.exists() and not PART.exists())
    @rule()
    def move_output_away(self):
        OUTPUT.unlink()
        self.least_rows = 0

    @precondition(lambda self: RECORD.exists() and (PART.exists() or OUTPUT.exists()))
    @rule(attempt=st.sampled_from(CHANGED_JOBS))
    def try_changed_job(self, attempt):
        files = contents()
        with pytest.raises(InputError, match=f"{attempt[1]}.*restart=True"):
            job(**attempt[0])
        assert contents() == files

    @precondition(lambda self: RECORD.exists() and (PART.exists() or OUTPUT.exists()))
    @rule(fraction=st.sampled_from([0, 0.5, 0.9, None]))
    def damage_record(self, fraction):
        record = RECORD.read_bytes()
        old = record.replace(b'"sums"', b'"columns"')  # as in version 0.3.0
        RECORD.write_bytes(old if fraction is None else record[: int(fraction * len(record))])
        with pytest.raises(InputError, match="not a job record.*restart=True"):
            job()
        RECORD.write_bytes(record)

    @rule(restart=st.booleans())
    def finish(self, restart):
        if self.part_is_short and not restart:
            with pytest.raises(InputError, match="was truncated.*restart=True"):
                job()
            return
        result = job(restart=restart)
        assert result.resumed in ({0} if restart else {*range(self.least_rows, 50, 8), 50})
        assert replace(result, resumed=0) == self.result
        assert OUTPUT.read_bytes() == self.expected
        assert sorted(os.listdir()) == ["pairs.jsonl", "scores.jsonl", "scores.jsonl.job"]
        self.least_rows = len(ROWS)

    def teardown(self):
        for restart in {False, self.part_is_short}:
            self.finish(restart)


def test_interrupted_or_damaged_job_resumes_to_identical_bytes(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)  # saves time. No test depends on it
    result = job()
    run_state_machine_as_test(
        partial(Jobs, monkeypatch, OUTPUT.read_bytes(), result),
        settings=settings(max_examples=20, stateful_step_count=12, derandomize=True),
    )


@pytest.mark.filterwarnings("ignore:infolm")
def test_finished_job_needs_no_model(tiny_bert, request):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert))
    result = job(scorer)
    scorer.unload()
    request.getfixturevalue("no_model")
    assert job(scorer) == replace(result, resumed=len(ROWS))


@pytest.mark.parametrize("idf", [False, "separate"])
@pytest.mark.filterwarnings("ignore:infolm")
def test_input_is_read_twice_and_once_more_for_a_finished_job(tiny_bert, monkeypatch, idf):
    monkeypatch.setattr(resume, "COUNTED_PAIRS", 7)
    read = Mock(wraps=partial(read_rows, "pairs.jsonl"))
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=idf)
    for expected in (2, 3):
        result = job(scorer, Source("pairs", read))
        assert read.call_count == expected
    assert result.signature == scorer.score(*SIDES).signature


def test_memory_does_not_grow_with_the_number_of_rows():
    def make_rows(count):
        for number in range(count):
            if number % 512 == 0:  # otherwise the peak depends on the timing of the collector
                gc.collect()
            yield f"row {number}", {"prediction": "a cat sat on the mat", "reference": "a cat"}

    def peak(count):
        tracemalloc.start()
        source = Source("many", lambda: make_rows(count))
        run_job(ToyScorer(), source, f"{count}.jsonl")
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    gc.freeze()  # collecting the objects of the libraries would take seconds
    try:
        peak(2048)  # one-time allocations are not counted
        growth = peak(6144) - peak(2048)
    finally:
        gc.unfreeze()
    assert growth < 16 * (6144 - 2048)  # an object kept per row takes at least 16 bytes


# Invalid jobs


INVALID = [
    (lambda: OUTPUT.write_text("1"), {}, "was not written by a job.*restart=True"),
    (lambda: os.mkfifo(OUTPUT), {}, "not a regular file"),
    (None, {"chunk": 0}, "chunk must be at least 1, got 0"),
    (None, {"output": "no/scores.jsonl"}, "no folder"),
    (None, {"source": rows_source([])}, "rows has no rows"),
    (None, {"source": rows_source([{"prediction": "a"}])}, "found none of"),
    (None, {"source": rows_source([{**ROWS[0], "toy": 1}])}, "row 0: column 'toy' already exists"),
]


@pytest.mark.parametrize(("make", "options", "words"), INVALID)
def test_invalid_jobs_are_rejected(make, options, words):
    if make:
        make()
    files = contents()
    with pytest.raises(InputError, match=words):
        job(**options)
    assert contents() == files
    assert not Path("scores.jsonl.lock").exists()


def test_output_that_is_locked_is_rejected():
    with FileLock("scores.jsonl.lock"), pytest.raises(InputError, match="another job is writing"):
        job()
    assert job().pairs == len(ROWS)
