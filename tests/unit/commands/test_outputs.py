"""Output files of commands: formats by extension, and existing files of other kinds of runs."""

import json
from pathlib import Path

import pytest

from tests.random_pairs import write_lines

TOY = ("score", "--metric", "toy")
FILES = ("-c", "sys.txt", "-r", "ref.txt")
ENDINGS = ("", ".txt", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".md", ".parquet", ".csv.gz")
ENDINGS += (".XLSX", ".idf", ".baseline", ".v1.2")
REPORT = ".txt .md .json"
# Commands with their inputs, and the extensions that each writes. "" is always possible.
FORMATS = {
    "score data.jsonl": ".txt .json .jsonl .ndjson .csv .tsv",
    "score data.jsonl -b": ".txt .jsonl .ndjson .csv .tsv",
    "score data.jsonl --per-pair": ".txt .jsonl .ndjson .csv .tsv",
    "score data.jsonl --json": ".json",
    "score a b --explain": ".txt",
    "compare sys.txt ref2.txt -r ref.txt": REPORT,
    "compare sys.txt ref2.txt -r ref.txt --json": ".json",
    "compare sys.txt ref2.txt -r ref.txt --markdown": ".txt .md",
    "correlate data.jsonl": REPORT,
    "correlate data.jsonl --json": ".json",
    "estimate data.jsonl": REPORT,
    "robustness data.jsonl": REPORT,
    "attack data.jsonl": ".jsonl .ndjson",
    "select data.jsonl": ".jsonl .ndjson",
    "idf ref.txt": ".idf .json",
    "baseline ref.txt": ".baseline .json",
}
WRONG = [
    (command, ending)
    for command, endings in FORMATS.items()
    for ending in ENDINGS
    if ending not in ("", *endings.split())
]


@pytest.mark.parametrize(("command", "ending"), WRONG)
def test_other_extensions_are_rejected_before_a_file_is_opened(infolm_error, command, ending):
    errors = infolm_error(*command.replace("data", "no").split(), "-o", f"out{ending}")
    assert f"cannot write out{ending}" in errors and "its name must end in ." in errors
    assert not Path(f"out{ending}").exists()


@pytest.mark.parametrize("ending", sorted(set(ENDINGS) - {".parquet"}))
def test_ray_writes_only_folders_of_parquet(infolm_error, ending):
    errors = infolm_error(*TOY, "no.jsonl", "--engine", "ray", "-o", f"out{ending}")
    assert f"cannot write out{ending} with --engine ray: its name must end in .parquet." in errors


EXCLUSIVE = ["-b --json", "-b --per-pair", "-b --explain", "--json --per-pair", "--json --explain"]
EXCLUSIVE += ["--per-pair --explain", "--json --engine=ray", "--explain --engine=ray"]


@pytest.mark.parametrize("flags", EXCLUSIVE)
def test_only_one_form_of_output_is_printed(infolm_error, flags):
    errors = infolm_error(*TOY, "no.jsonl", *flags.split())
    assert "not allowed with argument" in errors or "cannot be combined with" in errors


@pytest.mark.parametrize("flag", ["--json", "--markdown"])
def test_the_extension_of_a_report_selects_its_format(infolm_output, flag):
    name = {"--json": "report.json", "--markdown": "report.md"}[flag]
    command = ("compare", "sys.txt", "ref2.txt", "-r", "ref.txt", "--metric", "toy")
    shown = infolm_output(*command, flag)
    for flags in ((), (flag,)):
        assert infolm_output(*command, *flags, "-o", name) == ""
        assert Path(name).read_text() == shown


OTHER_KINDS = [
    "score data.jsonl --metric toy -o scores.csv",
    "score data.jsonl --metric toy -o scores.json",
    "compare sys.txt ref2.txt -r ref.txt --metric toy -o compare.json",
    "select lists.jsonl --metric toy -o selected.jsonl",
    "attack data.jsonl -o attacked.jsonl",
    "idf ref.txt -o idf.json",
    "score data.jsonl --metric toy -o job.jsonl",
]


def test_a_file_is_replaced_only_by_the_same_kind_of_run(infolm, infolm_error):
    row = {"prediction": "the cat sat", "reference": "It was 5 years old.", "fluency": 1}
    write_lines(Path("data.jsonl"), [row, row])
    write_lines(Path("lists.jsonl"), [{"candidates": ["a"]}])
    runs = [command.split() for command in OTHER_KINDS]
    for run in runs:
        for _ in range(2):
            code, _, errors = infolm(*run)
            assert code == 0, errors
    for *run, name in runs:
        for *_, other in runs:
            if name != other and Path(name).suffix == Path(other).suffix:
                before = Path(other).read_bytes()
                errors = infolm_error(*run, other)
                assert "another kind of run" in errors or "not written by a job" in errors
                assert Path(other).read_bytes() == before
    Path("job.jsonl").write_text("something else\n")
    assert "is not the file that the job has written" in infolm_error(*runs[-1])


def test_an_unfinished_job_is_not_replaced(infolm_error):
    write_lines(Path("lists.jsonl"), [{"candidates": ["a"]}])
    Path("job.jsonl.job").write_text(json.dumps({}))
    Path("job.jsonl.part").touch()
    errors = infolm_error("select", "lists.jsonl", "--metric", "toy", "-o", "job.jsonl")
    assert "belongs to another kind of run" in errors
