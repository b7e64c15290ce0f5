"""Long jobs: what they write, what they survive, what they refuse to go on with."""

import errno
import json
import os
import warnings
from dataclasses import replace
from pathlib import Path

import datasets
import pyarrow
import pytest
from filelock import FileLock
from pyarrow import parquet

from infolm_metric import IDF, InfoLMScorer
from infolm_metric.commands.main import main
from infolm_metric.kernel import checkpoints, text_files
from infolm_metric.kernel.baselines import NoBaseline
from infolm_metric.kernel.results import Result, mean
from infolm_metric.running.files import PairSource, from_dataset, from_parallel, from_table, load
from infolm_metric.running.resume import run_job
from infolm_metric.running.totals import RunningMean
from tests.job_files import job_files
from tests.random_pairs import random_pairs, write_lines
from tests.toy import Overlap, ToyScorer

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
        {"information_measure": ["l1", "l2"]},
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
    assert (result.pairs, result.resumed) == (len(ROWS), 0)
    assert result.signature == expected.signature


def test_the_command_writes_rows_and_prints_the_summary(infolm, scorer):
    code, output, errors = infolm("pairs.jsonl", "-o", "scores.jsonl")
    expected = scorer.score(*columns())
    assert code == 0 and all("of one token" in line for line in errors.splitlines())
    score, signature = output.splitlines()
    assert score == (
        f"{MEASURE}: {expected.mean(MEASURE):.6g} "
        f"(mean of {len(ROWS)} pairs; lower is better; 0 = the same distribution, largest 1)"
    )
    assert signature == f"signature: {expected.signature}"
    assert len(rows_of("scores.jsonl")) == len(ROWS)
    again = infolm("pairs.jsonl", "-o", "scores.jsonl")
    assert again == (0, output, errors + f"infolm: {len(ROWS)} pairs were there already\n")


def test_a_table_as_the_only_argument_is_scored(infolm):
    assert infolm("pairs.jsonl") == infolm("--data", "pairs.jsonl")


def test_the_bar_shows_rate_and_time_left(infolm, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    code, _, errors = infolm("pairs.jsonl", "-o", "scores.jsonl")
    assert code == 0
    assert "50/50" in errors and "pair/s" in errors


def test_a_warning_counts_the_texts_of_all_chunks(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    write_lines(Path("long.jsonl"), [{"prediction": "the cat " * 30, "reference": "a cat"}] * 20)
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
    return from_dataset("saved", load("saved"))


@pytest.mark.parametrize("streaming", [False, True])
def test_a_folder_of_data_files_is_a_data_set(scorer, streaming):
    data_folder()
    source = from_dataset("data", load("data", split="test", streaming=streaming))
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


def test_a_job_stopped_anywhere_goes_on_to_the_same_bytes(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    job(scorer)
    for count in (0, 1, 7, 8, 9, 40, 49):
        output = f"stopped-{count}.jsonl"
        with pytest.raises(Killed):
            job(scorer, stopping_after(count), output)
        assert not Path(output).exists()
        assert job(scorer, output=output).resumed == count // 8 * 8
        assert job_files(output) == job_files("scores.jsonl")


def test_an_input_that_is_empty_when_a_job_goes_on_is_refused(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    with pytest.raises(Killed):
        job(scorer, stopping_after(0), "stopped.jsonl")
    with pytest.raises(ValueError, match="nothing has no rows; give one row for each pair"):
        job(scorer, PairSource("nothing", lambda: iter(())), "stopped.jsonl")


OUTPUT, FIRST, THIRD, LAST = (
    "scores.jsonl",
    *(f"scores.jsonl.shards/{first:012}.rows" for first in (1, 17, 49)),
)


def edit(path, old, new):
    """Change one place in a file."""
    content = Path(path).read_bytes()
    assert old in content
    Path(path).write_bytes(content.replace(old, new, 1))


@pytest.mark.parametrize(
    ("edits", "messages", "scored"),
    [
        ({OUTPUT: (b'17, "toy": 0', b'17, "toy": 9')}, ["pairs 17 to 24 of scores.jsonl were"], []),
        ({OUTPUT: (b'"pair": 50', b'"pair": 51')}, ["pairs 49 to 50 of scores.jsonl were"], []),
        ({OUTPUT: (b'{"pair": 2,', b"\n{")}, ["pairs 1 to 50 of scores.jsonl were"], []),
        ({THIRD: (b'"toy": 0', b'"toy": 9')}, ["17 to 24 of scores.jsonl.shards were"], [8]),
        ({FIRST: (b"1", b"2")}, ["1 to 8 of scores.jsonl.shards were"], [8]),
        ({LAST: (b'"pair": 50', b'"pair": 51')}, ["49 to 50 of scores.jsonl.shards were"], [2]),
        (
            {FIRST: (b'"toy": 0', b'"toy": 9'), THIRD: (b"}", b""), OUTPUT: (b"40", b"41")},
            [
                "pairs 1 to 8, 17 to 24 of scores.jsonl.shards were changed since they were "
                "written; they are scored again",
                "pairs 33 to 40 of scores.jsonl were changed since they were written; they are "
                "written again",
            ],
            [8, 8],
        ),
        (
            {file: (b'17, "toy": 0', b'17, "toy": 9') for file in (OUTPUT, THIRD)},
            ["pairs 17 to 24 of scores.jsonl.shards were"],
            [8],
        ),
    ],
)
def test_rows_that_were_changed_are_named_and_made_good(monkeypatch, edits, messages, scored):
    job(ToyScorer())
    whole = job_files(OUTPUT)
    for path, (old, new) in edits.items():
        edit(path, old, new)
    scorer, sizes, score = ToyScorer(), [], Overlap.score

    def counted(self, pairs, *given):
        sizes.append(len(pairs))
        return score(self, pairs, *given)

    monkeypatch.setattr(Overlap, "score", counted)
    with pytest.warns(UserWarning) as caught:
        result = job(scorer)
    for warning, expected in zip(caught, messages, strict=True):
        assert expected in str(warning.message)
    assert (sizes, result.resumed) == (scored, len(ROWS) - sum(scored))
    assert job_files(OUTPUT) == whole
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert job(scorer).resumed == len(ROWS)


@pytest.mark.parametrize("change", [None, b"", b'{"pair": 1', b"more"])
def test_an_output_that_is_not_whole_is_joined_again(change):
    job(ToyScorer())
    whole = job_files(OUTPUT)
    if change is None:
        Path(OUTPUT).unlink()
    else:
        Path(OUTPUT).write_bytes(whole[""] + change if change == b"more" else change)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert job(ToyScorer()).resumed == len(ROWS)
    torn = [str(one.message) for one in caught]
    assert ["pairs 1 to 8 of scores.jsonl" in message for message in torn] == (
        [True] if change == b'{"pair": 1' else []
    )
    assert job_files(OUTPUT) == whole


def test_an_output_that_is_a_link_is_written_where_it_leads():
    Path("disk").mkdir()
    Path(OUTPUT).symlink_to("disk/far.jsonl")
    for resumed in (0, len(ROWS)):
        assert job(ToyScorer()).resumed == resumed
    assert Path(OUTPUT).is_symlink() and len(rows_of("disk/far.jsonl")) == len(ROWS)
    assert Path("disk/far.jsonl.shards/job.json").exists()


def test_a_shard_that_is_missing_is_scored_again():
    job(ToyScorer())
    whole = job_files(OUTPUT)
    Path(THIRD).unlink()
    assert job(ToyScorer()).resumed == len(ROWS) - 8
    assert job_files(OUTPUT) == whole


def test_a_finished_job_is_answered_without_a_model(tiny_bert, monkeypatch):
    """Only the tokenizer is opened, and the files are hashed for the signature."""
    done = job(InfoLMScorer(model_name_or_path=str(tiny_bert)))
    monkeypatch.setattr(checkpoints, "load_weights", None)  # called, it would fail
    asked = InfoLMScorer(model_name_or_path=str(tiny_bert))
    again = job(asked)
    assert again == replace(done, resumed=len(ROWS))
    assert asked.inner.distributions._loaded is None


def told(errors):
    """What is on standard error but the warning that some of the texts are of one token."""
    return "".join(line for line in errors.splitlines(True) if "of one token" not in line)


def test_an_interrupted_job_says_what_is_kept(infolm, monkeypatch):
    read, interrupted = text_files.iterate_pairs, []

    def interrupting(*given):
        for number, pair in enumerate(read(*given)):
            if number == 300 and not interrupted:
                interrupted.append(number)
                raise KeyboardInterrupt
            yield pair

    write_lines(Path("pairs.jsonl"), random_pairs(310))
    monkeypatch.setattr(text_files, "iterate_pairs", interrupting)
    monkeypatch.setattr(PairSource, "count", lambda self: None)
    options = ("pairs.jsonl", "-o", "scores.jsonl", "--idf", "none")
    code, output, errors = infolm(*options)
    assert (code, output) == (130, "")
    assert told(errors) == (
        "infolm: interrupted; 256 pairs are kept in scores.jsonl.shards, from where the same "
        "command goes on\n"
    )
    code, _, errors = infolm(*options)
    assert (code, told(errors)) == (0, "infolm: 256 pairs were there already\n")


def test_a_wrong_row_is_a_clear_error_and_what_is_before_it_is_kept(infolm):
    write_lines(Path("pairs.jsonl"), random_pairs(310))
    lines = Path("pairs.jsonl").read_text().splitlines(keepends=True)
    Path("pairs.jsonl").write_text("".join([*lines[:300], '{"prediction": 5}\n', *lines[301:]]))
    code, output, errors = infolm("pairs.jsonl", "-o", "scores.jsonl", "--idf", "none")
    assert (code, output) == (2, "")
    assert "pairs.jsonl, line 301: 'prediction' must be a string, got 5" in errors
    assert "; 256 pairs are kept in scores.jsonl.shards, from where the same command goe" in errors
    assert not Path("scores.jsonl").exists()
    Path("pairs.jsonl").write_text("".join(lines))
    code, _, errors = infolm("pairs.jsonl", "-o", "scores.jsonl", "--idf", "none")
    assert (code, told(errors)) == (0, "infolm: 256 pairs were there already\n")
    assert infolm("pairs.jsonl", "-o", "whole.jsonl", "--idf", "none")[0] == 0
    assert job_files("scores.jsonl") == job_files("whole.jsonl")


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
    assert job_files("scores.jsonl") == job_files("whole.jsonl")


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
    with pytest.raises(ValueError, match="scores.jsonl.shards was begun with another input"):
        job(scorer)
    assert Path("scores.jsonl").read_bytes() == before


@pytest.mark.parametrize("rows", [49, 48, 3])
def test_a_smaller_input_is_refused(rows):
    job(ToyScorer())
    before = job_files(OUTPUT)
    write_lines(Path("pairs.jsonl"), ROWS[:rows])
    with pytest.raises(
        ValueError, match="scores.jsonl.shards was begun with another input: pairs "
    ):
        job(ToyScorer())
    assert job_files(OUTPUT) == before


def test_another_size_of_chunks_is_refused():
    job(ToyScorer())
    with pytest.raises(ValueError, match="pairs in a chunk was 8 and is 9 now"):
        job(ToyScorer(), chunk=9)


@pytest.mark.parametrize("damaged", [False, True])
def test_a_table_that_was_changed_is_refused(scorer, damaged):
    job(scorer)
    table = Path("scores.jsonl.shards/references.idf")
    assert IDF.load(table).documents == sum(len(group) for group in columns()[1])
    (IDF.load(table) + IDF.load(table)).save(table)
    if damaged:
        edit(table, b'"documents": 1', b'"documents": 9')
    with pytest.raises(ValueError, match="idf tables of scores.jsonl.shards are not those of it"):
        job(scorer)


@pytest.mark.parametrize("content", ["", "[]", '{"format": "another"}', "[" * 100_000])
def test_a_folder_of_something_else_is_left_alone(content):
    Path("scores.jsonl.shards").mkdir()
    Path("scores.jsonl.shards/job.json").write_text(content)
    with pytest.raises(ValueError, match="job.json is not a job that this release can take up"):
        job(ToyScorer())
    assert Path("scores.jsonl.shards/job.json").read_text() == content
    assert job(ToyScorer(), restart=True).pairs == len(ROWS)


def test_a_file_that_no_job_wrote_is_left_alone(infolm):
    Path("scores.jsonl").write_text("mine\n")
    code, _, errors = infolm("pairs.jsonl", "-o", "scores.jsonl")
    assert code == 2 and "scores.jsonl exists, and there is no job to go on with" in errors
    assert Path("scores.jsonl").read_text() == "mine\n"
    assert not Path("scores.jsonl.shards").exists()


def test_two_writers_do_not_work_on_one_job():
    source = from_table("pairs.jsonl")

    def read():
        with pytest.raises(ValueError, match="another process is at work in scores.jsonl.shards"):
            job(ToyScorer())
        return source.read()

    assert job(ToyScorer(), PairSource("pairs.jsonl", read)).pairs == len(ROWS)


@pytest.mark.parametrize("began", [False, True])
def test_a_folder_that_cannot_be_written_to_is_named_with_the_remedy(folder, began):
    if began:
        job(ToyScorer())
    root = hasattr(os, "geteuid") and not os.geteuid()  # whom no folder refuses
    folder.chmod(0o555)
    if began:
        Path("scores.jsonl.shards").chmod(0o555)
        Path("scores.jsonl.shards/lock").chmod(0o444)
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises(OSError, match="cannot make and lock scores.jsonl.shards: Permission d"):
            job(ToyScorer())
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


def test_a_disk_without_locks_is_named_with_the_remedy(monkeypatch):
    def acquire(self, **given):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(FileLock, "acquire", acquire)
    with pytest.raises(OSError, match="No locks available; name an output in a folder that you"):
        job(ToyScorer())


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
        (
            ["pairs.jsonl", "--json", "-o", "s.jsonl", "--restart"],
            "for each pair; leave --json out",
        ),
        (["pairs.jsonl", "--per-pair", "--restart"], "--restart writes a row for each pair; leave"),
        (["pairs.jsonl", "--engine", "ray", "-o", "s.jsonl", "--restart"], "not for --engine ray"),
        (["pairs.jsonl", "--engine", "ray", "--json"], "--engine ray writes a row for each pair"),
        (["pairs.jsonl", "--engine", "ray", "--per-pair"], "leave --per-pair out"),
        (
            ["--data", "no.jsonl", "--engine", "ray", "--workers", "0"],
            "--workers must be at least 1",
        ),
        (
            ["pairs.jsonl", "-o", "s.csv"],
            "cannot write s.csv: name a file that ends in .jsonl for a",
        ),
        (["pairs.jsonl", "-o", "s.CSV", "--per-pair"], "cannot write s.CSV"),
        (["pairs.jsonl", "-o", "s.tsv"], "in .tsv with --per-pair"),
        (["pairs.jsonl", "-o", "s.json"], "in .json with --json"),
        (["pairs.jsonl", "-o", "s.tsv", "--json"], "in .json with --json"),
        (["pairs.jsonl", "-o", "s.parquet"], "cannot write s.parquet"),
        (["pairs.jsonl", "-o", "s.jsonl.gz"], "cannot write s.jsonl.gz"),
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


def test_a_table_of_pairs_goes_to_a_tsv(infolm):
    assert infolm("pairs.jsonl", "--per-pair", "-o", "scores.tsv")[0] == 0
    assert Path("scores.tsv").read_text().startswith("pair\t")


def test_the_mean_of_the_largest_numbers_is_finite(monkeypatch):
    def score(inner, pairs, settings, statistics):
        scores = {name: [1.5e308] * len(pairs) for name in settings.names}
        return Result("toy", scores, inner.signature(settings), higher_is_better=True)

    monkeypatch.setattr(Overlap, "score", score)
    assert set(job(ToyScorer()).means.values()) == {1.5e308}


def test_a_mean_is_that_of_all_values_together():
    for values in ([0.1, 0.2, 0.4], [5e-324], [1.7e308] * 3, [-1e308, 1e308, 3.0], [0.3] * 7):
        column = RunningMean()
        column.add(values[:1])
        column.add(values[1:])
        assert column.value == pytest.approx(mean(values), rel=1e-12)
        assert min(values) <= column.value <= max(values)


# Inputs are kept, and read whole


@pytest.mark.parametrize("more", [[], ["--restart"]])
@pytest.mark.parametrize(
    "arguments",
    [
        ["pairs.jsonl", "-o", "pairs.jsonl"],
        ["pairs.jsonl", "-o", "link.jsonl"],
        ["-c", "link.txt", "-r", "link.jsonl", "-o", "pairs.jsonl"],
        ["--dataset", "data", "-o", "data/train.jsonl"],
    ],
)
def test_a_job_does_not_write_over_its_input(infolm, arguments, more):
    Path("link.jsonl").symlink_to("pairs.jsonl")
    Path("link.txt").symlink_to("pairs.jsonl")
    Path("data").mkdir()
    write_lines(Path("data/train.jsonl"), ROWS)
    before = [Path(path).read_bytes() for path in ("pairs.jsonl", "data/train.jsonl")]
    code, output, errors = infolm(*arguments, *more)
    assert (code, output) == (2, "")
    assert "it is read, too, and would be lost; name another file" in errors
    assert [Path(path).read_bytes() for path in ("pairs.jsonl", "data/train.jsonl")] == before


def test_a_job_in_python_does_not_write_over_its_input():
    for options in ({}, {"restart": True}):
        with pytest.raises(ValueError, match="cannot write pairs.jsonl: it is read, too"):
            job(ToyScorer(), output="pairs.jsonl", **options)
    assert len(rows_of("pairs.jsonl")) == len(ROWS)


def test_a_job_does_not_replace_a_pipe():
    os.mkfifo("scores.jsonl")
    with pytest.raises(ValueError, match="cannot write scores.jsonl: what is there is a device"):
        job(ToyScorer(), output="scores.jsonl")
    assert Path("scores.jsonl").is_fifo() and not Path("scores.jsonl.shards").exists()


def test_a_job_beside_its_data_goes_on():
    Path("data").mkdir()
    write_lines(Path("data/train.jsonl"), ROWS)
    job(ToyScorer(), from_dataset("data", load("data")), "data/scores.jsonl")
    assert job(
        ToyScorer(), from_dataset("data", load("data", split="train")), "data/scores.jsonl"
    ).resumed


def test_what_a_job_wrote_among_the_data_is_named():
    Path("data").mkdir()
    write_lines(Path("data/rows.jsonl"), ROWS)
    job(ToyScorer(), from_dataset("data", load("data")), "data/scores.jsonl")
    with pytest.raises(OSError, match="holds data/scores.jsonl.shards, which a job wrote: move"):
        from_dataset("data", load("data"))


def test_a_job_refuses_a_pipe_which_can_be_read_only_once(infolm):
    os.mkfifo("pipe")
    Path("sys.txt").write_text("a cat\n")
    for files in (("-c", "sys.txt", "-r", "pipe"), ("-c", "pipe", "-r", "sys.txt")):
        code, _, errors = infolm(*files, "-o", "scores.jsonl")
        assert code == 2 and "read again, and pipe cannot; write it to a file first" in errors
    code, _, errors = infolm("-c", "pipe", "-r", "pipe")
    assert code == 2 and "pipe is given twice, and it is no file that can be read again" in errors


@pytest.mark.parametrize("again", [lambda pairs: pairs, lambda pairs: (pair for pair in pairs)])
def test_a_source_that_gives_its_pairs_once_is_refused(again):
    pairs = iter([(row["prediction"], row["references"]) for row in ROWS])
    with pytest.raises(ValueError, match="two is not read from its first pair again; `read` must"):
        job(ToyScorer(), PairSource("two", lambda: again(pairs)))


@pytest.mark.parametrize("chunk", [0, -1, 2.5, float("nan")])
def test_a_chunk_is_a_whole_number(chunk):
    with pytest.raises((TypeError, ValueError), match="chunk must be"):
        job(ToyScorer(), chunk=chunk)


@pytest.mark.parametrize("idf", ["none", "references", "separate"])
def test_a_baseline_for_fewer_references_is_refused_before_a_pair_is_scored(
    infolm, tiny_bert, monkeypatch, idf
):
    spoiled = [{**row, "references": ["a cat"] * (1 + (i == 40))} for i, row in enumerate(ROWS)]
    write_lines(Path("pairs.jsonl"), spoiled)
    _baseline_of_one_reference(tiny_bert)
    options = ("--idf", idf, "--rescale-with-baseline", "one.baseline", "-o", "scores.jsonl")
    monkeypatch.setattr("infolm_metric.running.resume.score_part", None)
    code, _, errors = infolm("pairs.jsonl", *options)
    assert code == 2
    assert "the file's baseline is for up to 1 references, and a pair has 2; make one" in errors
    assert not list(Path("scores.jsonl.shards").glob("*.rows"))


def test_where_a_baseline_does_not_fit_nothing_is_said_of_going_on(tiny_bert):
    pairs = [("a cat", ["a dog"] * (1 + (i == 9))) for i in range(12)]
    baseline = _baseline_of_one_reference(tiny_bert)
    options = {"idf": False, "rescale_with_baseline": baseline}
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), **options)
    with pytest.raises(NoBaseline) as refusal:
        job(scorer, PairSource("twelve", lambda: iter(pairs)))
    assert "goes on" not in str(refusal.value)


def _baseline_of_one_reference(model):
    """The path of a baseline for the tiny model's default settings."""
    texts = [f"the {number} cats" for number in range(50)]
    write_lines(Path("corpus.jsonl"), [{"text": text} for text in texts])
    options = ["--model", str(model), "--pairs", "20", "--references", "1", "-o", "one.baseline"]
    assert main(["baseline", "corpus.jsonl", *options]) == 0
    return "one.baseline"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["saved", "--split", "test"], "--split test is not for 'saved', which save_to_disk wrote"),
        (["saved", "--dataset-config", "x"], "--dataset-config x is not for 'saved'"),
        (["saved", "--dataset-revision", "x", "--streaming"], "--dataset-revision x is not for"),
        (["splits", "--dataset-config", "x"], "'splits', which save_to_disk wrote"),
        (["splits"], "has the splits train, test; give one with --split"),
    ],
)
def test_what_a_saved_data_set_has_not_is_refused(infolm, flags, message):
    one = datasets.Dataset.from_list(ROWS)
    one.save_to_disk("saved")
    datasets.DatasetDict({"train": one, "test": one}).save_to_disk("splits")
    for output in ((), ("-o", "scores.jsonl")):
        code, _, errors = infolm("--dataset", *flags, *output)
        assert code == 2 and message in errors
