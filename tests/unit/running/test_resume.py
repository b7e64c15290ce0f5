"""Long jobs: what they write, what they survive, what they refuse to go on with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import datasets
import pyarrow
import pytest
from pyarrow import parquet

from infolm_metric import IDF, InfoLMScorer
from infolm_metric.commands.main import main
from infolm_metric.kernel.results import mean
from infolm_metric.running.files import PairSource, from_dataset, from_parallel, from_table
from infolm_metric.running.resume import run_job
from tests.project_files import ROOT
from tests.random_pairs import random_pairs, write_lines

ROWS = random_pairs(50)
MEASURE = "fisher_rao_distance"


@pytest.fixture
def scorer(tiny_bert):
    return InfoLMScorer(model_name_or_path=str(tiny_bert))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working folder, with the pairs in a table."""
    monkeypatch.chdir(tmp_path)
    write_lines(Path("pairs.jsonl"), ROWS)
    return tmp_path


@pytest.fixture
def infolm(capsys, tiny_bert):
    """A function that runs `infolm score` here: (exit code, standard output, standard error)."""

    def run(*arguments):
        code = main(["score", "--model", str(tiny_bert), *map(str, arguments)])
        return (code, *capsys.readouterr())

    return run


def rows_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def job(scorer, source="pairs.jsonl", output="scores.jsonl", chunk=8, **options):
    """Runs a job in small chunks, quietly."""
    source = from_table(source) if isinstance(source, str) else source
    return run_job(scorer, source, output, chunk=chunk, progress=False, **options)


def columns(rows=ROWS):
    return [row["prediction"] for row in rows], [row["references"] for row in rows]


# What is written


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"idf": False},
        {"idf": "separate", "multi_reference": "mean"},
        {"information_measure": ["l1", "l2"], "similarity": True},
    ],
    ids=str,
)
def test_a_job_writes_what_one_call_gives(scorer, tiny_bert, settings):
    chosen = InfoLMScorer(model_name_or_path=str(tiny_bert), **settings)
    result = job(chosen)
    expected = scorer.score(*columns(), **settings)
    rows = rows_of("scores.jsonl")
    assert [row["pair"] for row in rows] == list(range(1, len(ROWS) + 1))
    for name, column in expected.columns().items():
        assert [row[name] for row in rows] == pytest.approx(column, abs=1e-6, rel=1e-6)
        assert result.means[name] == pytest.approx(mean(column), abs=1e-6, rel=1e-6)
    similar = {"l1_distance_similarity", "l2_distance_similarity"}
    assert similar.intersection(rows[0]) == (similar if "similarity" in settings else set())
    assert (result.pairs, result.resumed) == (len(ROWS), 0)
    assert result.signature == expected.signature


def test_the_command_writes_rows_and_prints_the_summary(infolm, scorer):
    code, output, errors = infolm("pairs.jsonl", "-o", "scores.jsonl")
    expected = scorer.score(*columns())
    assert (code, errors) == (0, "")
    assert output.splitlines() == [
        f"{MEASURE}: {expected.mean(MEASURE):.6g} "
        f"(mean of {len(ROWS)} pairs; lower is better; 0 = the same distribution, largest 1)",
        f"signature: {expected.signature}",
    ]
    assert len(rows_of("scores.jsonl")) == len(ROWS)
    again = infolm("pairs.jsonl", "-o", "scores.jsonl")
    assert again == (0, output, f"infolm: {len(ROWS)} pairs were there already\n")


def test_a_table_as_the_only_argument_is_scored(infolm):
    assert infolm("pairs.jsonl") == infolm("--data", "pairs.jsonl")


def test_the_bar_shows_rate_and_time_left(infolm):
    code, _, errors = infolm("pairs.jsonl", "-o", "scores.jsonl", "--verbose")
    assert code == 0
    assert "50/50" in errors and "pair/s" in errors


def test_a_warning_counts_the_texts_of_all_chunks(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    write_lines(Path("long.jsonl"), [{"prediction": "the cat " * 30, "reference": "a"}] * 20)
    with pytest.warns(UserWarning, match="infolm: 20 of 40 texts longer than 40 tokens") as caught:
        job(scorer, "long.jsonl")
    assert len(caught) == 1


# Where pairs come from


def plain_files():
    predictions, references = columns()
    first = [group[0] for group in references]
    for name, texts in (("sys.txt", predictions), ("ref.txt", first), ("more.txt", first[::-1])):
        Path(name).write_text("".join(f"{text}\n" for text in texts))
    return from_parallel("sys.txt", ["ref.txt", "more.txt"])


def parquet_file():
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), "pairs.parquet", row_group_size=7)
    return from_table("pairs.parquet")


def data_folder():
    Path("data").mkdir(exist_ok=True)
    write_lines(Path("data/test.jsonl"), ROWS)


def saved_folder():
    datasets.Dataset.from_list(ROWS).save_to_disk("saved")
    return from_dataset("saved")


@pytest.mark.parametrize("streaming", [False, True])
def test_a_folder_of_data_files_is_a_data_set(scorer, streaming):
    data_folder()
    source = from_dataset("data", split="test", streaming=streaming)
    assert list(source.read()) == list(from_table("pairs.jsonl").read())
    assert list(source.read()) == list(source.read())


@pytest.mark.parametrize("make", [parquet_file, saved_folder])
def test_other_sources_give_the_same_file(scorer, make):
    job(scorer)
    job(scorer, make(), "others.jsonl")
    assert Path("others.jsonl").read_bytes() == Path("scores.jsonl").read_bytes()


def test_parallel_files_are_read_pair_by_pair(scorer):
    result = job(scorer, plain_files())
    references = [list(group) for group in zip(*(rows for rows in _references()), strict=True)]
    expected = scorer.score(columns()[0], references)
    assert result.means[MEASURE] == pytest.approx(expected.mean(MEASURE), abs=1e-6, rel=1e-6)


def _references():
    first = [group[0] for group in columns()[1]]
    return first, first[::-1]


def test_the_command_reads_data_sets_and_parquet(infolm):
    data_folder()
    parquet_file()
    expected = infolm("pairs.jsonl", "-o", "scores.jsonl")
    assert expected[0] == 0
    options = {
        "parquet": ["pairs.parquet"],
        "dataset": ["--dataset", "data", "--split", "test"],
        "streamed": ["--dataset", "data", "--split", "test", "--streaming"],
    }
    for name, arguments in options.items():
        assert infolm(*arguments, "-o", f"{name}.jsonl")[:2] == expected[:2]
        assert Path(f"{name}.jsonl").read_bytes() == Path("scores.jsonl").read_bytes()
    assert infolm("--dataset", "data", "--split", "test")[:2] == infolm("pairs.jsonl")[:2]


# What a job survives


@pytest.mark.parametrize(("metric", "rows"), [("infolm", 700), ("toy", 20_000)])
def test_a_job_killed_at_random_moments_writes_the_same_bytes(tiny_bert, folder, metric, rows):
    model = ["--model", tiny_bert] if metric == "infolm" else []
    command = [sys.executable, ROOT / "tests/integration/kill_jobs.py", "--kills", "4"]
    result = subprocess.run(
        [*command, "--rows", str(rows), folder, "--metric", metric, *model],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    kills = json.loads(result.stdout)
    assert any(kill["killed"] for kill in kills) and all(kill["same"] for kill in kills)


class Killed(BaseException):
    """What stops a job at a certain pair, as a signal would."""


def stopping_after(count):
    """The pairs of the table, of which more than `count` cannot be read."""
    source = from_table("pairs.jsonl")

    def read():
        for number, pair in enumerate(source.read()):
            if number == count:
                raise Killed
            yield pair

    return PairSource("the pairs", read)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 40, 49])
def test_a_job_stopped_anywhere_goes_on_to_the_same_bytes(tiny_bert, count):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    job(scorer)
    with pytest.raises(Killed):
        job(scorer, stopping_after(count), "stopped.jsonl")
    assert job(scorer, output="stopped.jsonl").resumed == count // 8 * 8
    assert Path("stopped.jsonl").read_bytes() == Path("scores.jsonl").read_bytes()
    assert Path("stopped.jsonl.job").read_bytes() == Path("scores.jsonl.job").read_bytes()


@pytest.mark.parametrize(
    ("suffix", "lost", "added"),
    [
        ("", 1, b""),
        ("", 900, b""),
        ("", 0, b'{"pair": 51, "fish'),
        (".job", 1, b""),
        (".job", 20, b"\0\0\0"),
        (".job", 300, b'{"pair'),
    ],
)
def test_torn_ends_of_either_file_are_made_good(scorer, suffix, lost, added):
    job(scorer)
    whole = [Path(name).read_bytes() for name in ("scores.jsonl", "scores.jsonl.job")]
    torn = Path(f"scores.jsonl{suffix}")
    content = torn.read_bytes()
    torn.write_bytes(content[: len(content) - lost] + added)
    job(scorer)
    assert [Path(name).read_bytes() for name in ("scores.jsonl", "scores.jsonl.job")] == whole


def test_a_full_disk_is_a_clear_error_and_what_was_written_is_kept(tiny_bert):
    """A limit on the size of files stops writing in the midst of a chunk, as a full disk does."""
    resource = pytest.importorskip("resource", reason="this system has no limits on files")
    assert resource
    write_lines(Path("many.jsonl"), random_pairs(600))
    program = f"""
import resource, sys
from infolm_metric.commands.main import main
import infolm_metric.running.resume
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
arguments = ["score", "--model", {str(tiny_bert)!r}, "--idf", "none", "many.jsonl", "-o"]
code = main([*arguments, "scores.jsonl"])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept = open("scores.jsonl", "rb").read()
assert main([*arguments, "scores.jsonl"]) == main([*arguments, "whole.jsonl"]) == 0
whole = open("whole.jsonl", "rb").read()
assert open("scores.jsonl", "rb").read() == whole and whole.startswith(kept)
print(code, kept.count(b"\\n"), file=sys.stderr)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert (
        "error: cannot write scores.jsonl after pair 256: File too large; what was written is"
        in (result.stderr)
    )
    assert "infolm: 256 pairs were there already" in result.stderr
    assert result.stderr.splitlines()[-1] == "1 256"


def test_a_wrong_row_is_a_clear_error_and_what_is_before_it_is_kept(infolm, scorer):
    lines = Path("pairs.jsonl").read_text().splitlines(keepends=True)
    Path("pairs.jsonl").write_text("".join([*lines[:30], '{"prediction": 5}\n', *lines[31:]]))
    code, output, errors = infolm("pairs.jsonl", "-o", "scores.jsonl", "--idf", "none")
    assert (code, output) == (2, "")
    assert "pairs.jsonl, line 31: 'prediction' must be a string, got 5" in errors
    assert [row["pair"] for row in rows_of("scores.jsonl")] == list(range(1, 31))
    Path("pairs.jsonl").write_text("".join(lines))
    assert infolm("pairs.jsonl", "-o", "scores.jsonl", "--idf", "none")[0] == 0
    assert infolm("pairs.jsonl", "-o", "whole.jsonl", "--idf", "none")[0] == 0
    assert Path("scores.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def test_where_references_are_counted_a_wrong_row_is_found_before_any_is_scored(infolm):
    with Path("pairs.jsonl").open("a") as table:
        table.write("{\n")
    code, _, errors = infolm("pairs.jsonl", "-o", "scores.jsonl")
    assert code == 2
    assert "pairs.jsonl, line 51: not valid JSON" in errors
    assert not Path("scores.jsonl").exists()


def test_rows_that_were_added_are_scored_and_nothing_else(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    write_lines(Path("part.jsonl"), ROWS[:21])
    assert job(scorer, "part.jsonl").pairs == 21
    write_lines(Path("part.jsonl"), ROWS)
    assert job(scorer, "part.jsonl").resumed == 16
    job(scorer, output="whole.jsonl")
    assert Path("scores.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


# What is refused


def test_other_settings_are_refused_with_what_is_different(infolm):
    assert infolm("pairs.jsonl", "-o", "scores.jsonl", "--idf", "none")[0] == 0
    before = Path("scores.jsonl").read_bytes()
    options = ("--idf", "none", "-t", "2", "-m", "l1")
    code, _, errors = infolm("pairs.jsonl", "-o", "scores.jsonl", *options)
    assert code == 2
    assert "measure was fisher_rao_distance and is l1_distance now" in errors
    assert "temperature was 1.0 and is 2.0 now" in errors
    assert "begin anew with --restart" in errors
    assert Path("scores.jsonl").read_bytes() == before
    assert infolm("pairs.jsonl", "-o", "scores.jsonl", *options, "--restart")[0] == 0
    assert set(rows_of("scores.jsonl")[0]) == {"pair", "l1_distance"}


@pytest.mark.parametrize("idf", [False, "references"])
def test_another_input_is_refused(tiny_bert, idf):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=idf)
    job(scorer)
    before = Path("scores.jsonl").read_bytes()
    write_lines(Path("pairs.jsonl"), [*ROWS[:5], *ROWS[6:], ROWS[5]])
    with pytest.raises(ValueError, match="scores.jsonl was begun with another input"):
        job(scorer)
    assert Path("scores.jsonl").read_bytes() == before


def test_a_table_that_was_changed_is_refused(scorer):
    job(scorer)
    table = Path("scores.jsonl.references.idf")
    assert IDF.load(table).documents == sum(len(group) for group in columns()[1])
    (IDF.load(table) + IDF.load(table)).save(table)
    with pytest.raises(ValueError, match="idf tables that scores.jsonl was begun with are not th"):
        job(scorer)


def test_a_file_that_no_job_wrote_is_left_alone(infolm):
    Path("scores.jsonl").write_text("mine\n")
    code, _, errors = infolm("pairs.jsonl", "-o", "scores.jsonl")
    assert code == 2 and "scores.jsonl exists, and there is no job to go on with" in errors
    assert Path("scores.jsonl").read_text() == "mine\n"


def test_two_processes_do_not_work_on_one_job(scorer):
    source = from_table("pairs.jsonl")

    def read():
        with pytest.raises(ValueError, match="another process is at work on scores.jsonl"):
            job(scorer)
        return source.read()

    assert job(scorer, PairSource("pairs.jsonl", read)).pairs == len(ROWS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "-", "-o", "s.jsonl"], "standard input cannot; write it to a file first"),
        (["no.jsonl", "-o", "s.jsonl"], "or a file that is there: 'no.jsonl' is none"),
        (["--data", "no.jsonl", "-o", "s.jsonl"], "there is no such file"),
        (["pairs.jsonl", "-o", "no/s.jsonl"], "cannot write no/s.jsonl: no folder 'no'"),
        (["pairs.jsonl", "-o", "s.txt", "--restart"], "--restart needs an output whose name ends"),
        (["empty.jsonl", "-o", "s.jsonl"], "empty.jsonl has no rows"),
        (["empty.jsonl", "-o", "s.jsonl", "--idf", "none"], "empty.jsonl has no rows"),
        (["pairs.jsonl", "--split", "test"], "--split needs --dataset NAME"),
        (["pairs.jsonl", "--streaming"], "--streaming needs --dataset NAME"),
        (["--dataset", "two", "-o", "s.jsonl"], "has the splits train, test; give one with --spl"),
        (["--dataset", "two", "--split", "dev", "-o", "s.jsonl"], "cannot load the data set 'two'"),
        (["pairs.jsonl", "--json", "--per-pair"], "--json holds each pair's scores already"),
        (["broken.parquet"], "cannot read broken.parquet after row 0"),
    ],
)
def test_what_makes_no_job_is_refused(infolm, arguments, message):
    Path("empty.jsonl").touch()
    Path("broken.parquet").write_bytes(b"PAR1")
    Path("two").mkdir()
    for split in ("train", "test"):
        write_lines(Path(f"two/{split}.jsonl"), ROWS[:2])
    code, output, errors = infolm(*arguments)
    assert (code, output) == (2, ""), errors
    assert message in errors
    assert not Path("s.jsonl").exists()
