"""Output files of commands: formats by extension, and outputs of jobs."""

from pathlib import Path

import pytest

from tests.random_pairs import write_lines

TOY = ("score", "--metric", "toy")
ENDINGS = ("", ".txt", ".json", ".jsonl", ".csv", ".parquet", ".csv.gz", ".XLSX", ".idf")
REPORT = ".txt .json"
# Commands with their inputs, and the extensions that each writes. "" is always possible.
FORMATS = {
    "score data.jsonl": ".txt .json .jsonl .ndjson .csv .tsv",
    "score data.jsonl -b": ".txt .jsonl .ndjson .csv .tsv",
    "score data.jsonl --per-pair": ".txt .jsonl .ndjson .csv .tsv",
    "score data.jsonl --json": ".json",
    "score a b --explain": ".txt",
    "compare sys.txt ref2.txt -r ref.txt": REPORT,
    "correlate data.jsonl": REPORT,
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


def test_a_report_is_json_on_request_or_if_its_name_ends_in_json(infolm_output):
    command = ("compare", "sys.txt", "ref2.txt", "-r", "ref.txt", "--metric", "toy")
    shown = infolm_output(*command, "--json")
    for words in (("-o", "report.json"), ("--json", "-o", "report.txt")):
        assert infolm_output(*command, *words) == ""
        assert Path(words[-1]).read_text() == shown


@pytest.mark.parametrize("name", ["job.jsonl", "job.csv"])
def test_the_output_of_a_job_is_not_replaced_by_another_run(infolm_error, name):
    write_lines(Path("lists.jsonl"), [{"candidates": ["a"]}])
    Path(f"{name}.job").write_text("{}")
    command = ("select", "lists.jsonl") if name == "job.jsonl" else ("score", "a", "b")
    assert "it belongs to a job" in infolm_error(*command, "--metric", "toy", "-o", name)
