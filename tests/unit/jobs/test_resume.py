"""Long jobs: what they write, what they survive, what they refuse to go on with."""

import errno
import io
import json
import os
import tracemalloc
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from infolm_metric import InfoLMScorer
from infolm_metric.core.baselines import Baseline, NoBaseline
from infolm_metric.core.files import Source, read_parallel, read_rows
from infolm_metric.core.scorer import Scorer
from infolm_metric.jobs import resume
from infolm_metric.jobs.resume import run_job
from tests.random_pairs import random_pairs, write_lines
from tests.toy import ToyScorer

ROWS = [{"id": f"row {i}", **row} for i, row in enumerate(random_pairs(50))]
OUTPUT = Path("scores.jsonl")
PART, RECORD = Path("scores.jsonl.part"), Path("scores.jsonl.job")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working folder, with the pairs in a table."""
    monkeypatch.chdir(tmp_path)
    write_lines(Path("pairs.jsonl"), ROWS)
    return tmp_path


def table(path="pairs.jsonl"):
    return Source(path, partial(read_rows, path), files=(path,))


def job(scorer=None, source=None, output=OUTPUT, **options):
    """Runs a job in small chunks."""
    return run_job(scorer or ToyScorer(), source or table(), output, chunk=8, **options)


def rows_of(path=OUTPUT):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Killed(BaseException):
    """What stops a job at a certain place, as a signal would."""


@pytest.fixture
def stopped(monkeypatch):
    """A function that runs a job until so many chunks are scored, and stops it in the next."""

    def stop(chunks, problem=None, **options):
        score_part = Scorer.score_part
        calls = []

        def stopping(self, *arguments):
            calls.append(arguments)
            if len(calls) > chunks:
                raise problem or Killed
            return score_part(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(Scorer, "score_part", stopping)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with pytest.raises(type(problem) if problem else Killed):
                    job(**options)
        return [str(each.message) for each in caught]

    return stop


# What is written


@pytest.mark.parametrize(
    "settings",
    [{"idf": "separate"}, {"idf": False, "information_measure": ["l1", "l2"]}],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:infolm")
def test_a_job_writes_what_one_call_gives_beside_the_columns_of_its_input(tiny_bert, settings):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), **settings)
    result = job(scorer)
    sides = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]
    expected = scorer.score(*sides)
    names = list(expected.columns())
    for number, (row, given) in enumerate(zip(rows_of(), ROWS, strict=True), 1):
        assert list(row) == ["pair", *given, *names]
        assert {"pair": number, **given}.items() <= row.items()
    for name, column in expected.columns().items():
        assert [row[name] for row in rows_of()] == pytest.approx(column, abs=1e-6, rel=1e-6)
        assert result.means[name] == pytest.approx(expected.mean(name), abs=1e-6, rel=1e-6)
    assert (result.pairs, result.resumed) == (len(ROWS), 0)
    assert result.signature == expected.signature
    assert result.counts == expected.counts


def test_plain_files_and_odd_values_are_written_as_json():
    Path("a.txt").write_text("caf\xe9\n")
    Path("b.txt").write_text("cat\n")
    read = partial(read_parallel, "a.txt", ["b.txt"])
    job(source=Source("a.txt", read, files=("a.txt", "b.txt")))
    (row,) = rows_of()
    assert row == {"pair": 1, "prediction": "café", "references": ["cat"], "toy": row["toy"]}
    odd = {"prediction": "a", "reference": "a", "n": float("nan"), "s": "\ud800", "p": Path("x")}
    job(source=Source("odd", lambda: iter([("row 1", odd)])), output="odd.jsonl")
    (row,) = rows_of(Path("odd.jsonl"))
    assert (row["n"], row["s"], row["p"], row["toy"]) == (None, "\ud800", "x", 1.0)


@pytest.mark.filterwarnings("ignore:infolm")
def test_rescaled_scores_are_written_and_signed(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    texts = [f"the {a} {b}" for a in ("cat", "dog", "rain") for b in ("sat", "ran", "fell", "is")]
    scorer.make_baseline(texts, 20, 2).save("baseline")
    result = job(scorer, rescale_with_baseline="baseline")
    assert result.means.keys() == {"fisher_rao_distance", "fisher_rao_distance_rescaled"}
    assert "|baseline:file-" in result.signature and result.baseline
    assert job(scorer, rescale_with_baseline="baseline") == replace(result, resumed=len(ROWS))
    with pytest.raises(ValueError, match="baseline was file-.* and is not given now"):
        job(scorer)
    with pytest.raises(NoBaseline):
        job(scorer, output="other.jsonl", rescale_with_baseline=Baseline({}))
    assert not Path("other.jsonl.job").exists()


# What a job survives


@pytest.mark.parametrize("chunks", [0, 1, 3, 6])
@pytest.mark.parametrize("torn", [b"", b'{"pair": '])
def test_a_job_stopped_anywhere_goes_on_to_the_same_bytes(stopped, chunks, torn):
    job(output="whole.jsonl")
    kept = stopped(chunks)
    assert kept == [
        f"infolm: {8 * chunks} of 50 pairs are kept in {PART.resolve()}, from where the same "
        "command goes on"
    ] * bool(chunks)
    with PART.open("ab") as part:
        part.write(torn)  # what a kill leaves after the last whole chunk
    assert not OUTPUT.exists()
    assert job().resumed == 8 * chunks
    assert OUTPUT.read_bytes() == Path("whole.jsonl").read_bytes()
    assert sorted(os.listdir()) == [
        "pairs.jsonl", "scores.jsonl", "scores.jsonl.job", "whole.jsonl", "whole.jsonl.job"
    ]  # fmt: skip


def test_a_job_stopped_between_two_writes_goes_on_to_the_same_bytes(monkeypatch):
    """The part is renamed or the record written, and then the job is killed."""
    job(output="whole.jsonl")
    steps = {name: getattr(resume, name) for name in ("write_text", "put_in_place")}
    for after in range(1, 10):  # the record, 7 chunks, the output
        done = []

        def killing(*arguments, step, done=done, after=after):
            step(*arguments)
            done.append(arguments)
            if len(done) == after:
                raise Killed

        with monkeypatch.context() as patch:
            for name, step in steps.items():
                patch.setattr(resume, name, partial(killing, step=step))
            with pytest.raises(Killed), warnings.catch_warnings(action="ignore"):
                job(restart=after > 5)  # from then on over an older output
        job()
        assert OUTPUT.read_bytes() == Path("whole.jsonl").read_bytes()
        if after < 5:
            OUTPUT.unlink()


@pytest.mark.filterwarnings("ignore:infolm")
def test_a_finished_job_is_answered_without_a_model(tiny_bert, request):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert))
    done = job(scorer)
    scorer.unload()
    request.getfixturevalue("no_model")
    assert job(scorer) == replace(done, resumed=len(ROWS))


def test_a_full_disk_is_a_clear_error_and_what_is_there_is_kept(stopped, monkeypatch):
    job(output="whole.jsonl")
    writes, write = [], io.FileIO.write

    class Full(io.FileIO):
        def write(self, content):
            writes.append(content)
            if len(writes) == 3:
                write(self, content[:9])
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(self, content)

    with monkeypatch.context() as patch:
        patch.setattr(resume, "open", lambda path, *_, **__: Full(path, "a"), raising=False)
        failed = pytest.raises(OSError, match=r"cannot write .*jsonl.part: No space left")
        with failed, pytest.warns(UserWarning, match="16 of 50 pairs are kept"):
            job()
    assert job().resumed == 16
    assert OUTPUT.read_bytes() == Path("whole.jsonl").read_bytes()


def test_a_link_a_mode_and_an_empty_file_stay_as_they_are():
    Path("disk").mkdir()
    OUTPUT.symlink_to("disk/far.jsonl")
    Path("disk/far.jsonl").touch(mode=0o640)
    for resumed in (0, len(ROWS)):
        assert job().resumed == resumed
    assert OUTPUT.is_symlink() and len(rows_of(Path("disk/far.jsonl"))) == len(ROWS)
    assert OUTPUT.stat().st_mode & 0o777 == 0o640
    assert job(restart=True).resumed == 0
    assert OUTPUT.is_symlink() and OUTPUT.stat().st_mode & 0o777 == 0o640


def test_memory_does_not_grow_with_the_number_of_rows():
    def peak(count):
        row = {"prediction": "a cat sat on the mat", "reference": "a cat"}
        source = Source("many", lambda: ((f"row {i}", row) for i in range(count)))
        tracemalloc.start()
        run_job(ToyScorer(), source, f"{count}.jsonl")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(8192) < 1.2 * peak(2048)


# What is refused


def grown():
    write_lines(Path("pairs.jsonl"), [*ROWS, ROWS[0]])


def changed():
    write_lines(Path("pairs.jsonl"), [*ROWS[:-1], {**ROWS[-1], "id": "another"}])


def cut():
    PART.write_bytes(b"")


def other_record():
    RECORD.write_text("{}")


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (None, {"scorer": ToyScorer(size=2)}, "begun otherwise: size was 1 and is 2 now"),
        (grown, {}, "another input: it had 50 rows .* and has 51 now"),
        (changed, {}, "another input: it had 50 rows .* and has 50 now"),
        (other_record, {}, "not the record of a job"),
    ],
)
def test_a_job_of_other_settings_or_another_input_is_refused(
    stopped, finished, change, options, words
):
    job() if finished else stopped(2)
    if change:
        change()
    with pytest.raises(ValueError, match=f"{words}.*--restart"):
        job(**options)
    assert job(**options, restart=True).resumed == 0
    assert job(**options).resumed == len(rows_of())


def test_a_part_that_lost_rows_is_refused(stopped):
    stopped(2)
    cut()
    with pytest.raises(ValueError, match="holds less than was written to it"):
        job()


@pytest.mark.parametrize(
    ("make", "output", "source", "words"),
    [
        (lambda: OUTPUT.write_text("mine\n"), OUTPUT, None, "no job has written it"),
        (lambda: os.mkfifo(OUTPUT), OUTPUT, None, "no job has written it"),
        (None, "pairs.jsonl", None, "it is read, too"),
        (None, "no/scores.jsonl", None, "no folder"),
        (None, OUTPUT, Source("-", lambda: iter(()), files=("-",)), "can be read once"),
        (None, OUTPUT, Source("nothing", lambda: iter(())), "nothing has no rows"),
        (None, OUTPUT, Source("rows", lambda: iter([("row 1", {"prediction": "a"})])), "row 1: no"),
        (
            None,
            OUTPUT,
            Source("r", lambda: iter([("row 1", {**ROWS[0], "toy": 1})])),
            "row 1: there is a column 'toy' already",
        ),
    ],
)
def test_what_cannot_be_a_job_is_refused(make, output, source, words):
    if make:
        make()
    before = OUTPUT.is_file() and OUTPUT.read_text()
    with pytest.raises(ValueError, match=words):
        job(source=source, output=output)
    assert (OUTPUT.is_file() and OUTPUT.read_text()) == before
    assert not RECORD.exists() and not Path(f"{output}.lock").exists()


def test_a_second_writer_is_refused():
    with FileLock("scores.jsonl.lock"), pytest.raises(ValueError, match="another process is at"):
        job()
    assert job().pairs == len(ROWS)
