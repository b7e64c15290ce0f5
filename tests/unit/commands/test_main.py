"""The command line: what it prints, what it refuses, and how it exits."""

import io
import json
import os
import re
import sys
from pathlib import Path

import evaluate
import numpy as np
import pandas as pd
import pytest

from infolm_metric.commands.main import main
from infolm_metric.commands.options import setting_options
from infolm_metric.infolm.scorer import InfoLMPasses, InfoLMScorer
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.baselines import Baseline
from infolm_metric.kernel.idf.table import IDF
from tests.project_files import ROOT

CANDIDATES = ["the cat sat on the mat", "a dog ran in the garden", "rain fell for 12 days"]
REFERENCES = ["the cat slept on the chair", "a small dog barked", "the river rose by 3.5 metres"]
SECOND = ["the old cat sat", "the dog ran", "it was cold outside"]
FILES = ("-c", "sys.txt", "-r", "ref.txt")


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    """The scorer whose results the command line must show, to the last bit.

    It keeps nothing, like a new process: a distribution from another call's batches differs in
    its last bits.
    """
    return InfoLMScorer(model_name_or_path=str(tiny_bert), reuse_memory=0)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working folder, with the texts above in plain files."""
    monkeypatch.chdir(tmp_path)
    for name, texts in (("sys", CANDIDATES), ("ref", REFERENCES), ("ref2", SECOND)):
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    return tmp_path


@pytest.fixture
def infolm(capsys, tiny_bert):
    """A function that runs `infolm` here: (exit code, standard output, standard error).

    The model of `score`, `idf` and `baseline` is the tiny one if no other is named.
    """

    def run(*arguments: object) -> tuple[int, str, str]:
        given = [str(argument) for argument in arguments]
        if given[:1] in (["score"], ["idf"], ["baseline"]) and "--model" not in given:
            given[1:1] = ["--model", str(tiny_bert)]
        code = main(given)
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def score(infolm):
    """A function that runs `infolm score --json` and gives the object it prints."""

    def run(*arguments: object) -> dict:
        code, output, errors = infolm("score", "--json", *arguments)
        assert code == 0, errors
        return json.loads(output)

    return run


# Ways to give texts


def test_texts_as_arguments_score_as_in_python(score, scorer):
    expected = scorer.score([CANDIDATES[0]], [[REFERENCES[0], SECOND[0]]]).as_dict()
    assert score(CANDIDATES[0], REFERENCES[0], SECOND[0]) == expected


def test_a_text_may_start_with_a_dash_after_two_dashes(score, scorer):
    assert score("--", "- the cat", "--dog") == scorer.score(["- the cat"], ["--dog"]).as_dict()


def test_plain_files_score_as_in_python(score, scorer):
    assert score(*FILES) == scorer.score(CANDIDATES, REFERENCES).as_dict()


def test_several_reference_files_give_several_references_each(score, scorer):
    groups = [list(group) for group in zip(REFERENCES, SECOND, strict=True)]
    expected = scorer.score(CANDIDATES, groups, multi_reference="mean").as_dict()
    assert score(*FILES, "-r", "ref2.txt", "--multi-reference", "mean") == expected


def test_a_line_may_hold_what_unicode_counts_as_a_line_end(score, scorer):
    texts = ["the cat\u2028sat", "", "a dog\u0085ran"]
    Path("odd.txt").write_text("\r\n".join(texts), encoding="utf-8", newline="")
    with pytest.warns(UserWarning, match="without a token"):
        expected = scorer.score(texts, REFERENCES).as_dict()
    assert score("-c", "odd.txt", "-r", "ref.txt") == expected


def test_json_lines_score_as_in_python(score, scorer):
    rows = [
        {"prediction": CANDIDATES[0], "references": [REFERENCES[0], SECOND[0]]},
        {"prediction": CANDIDATES[1], "references": REFERENCES[1]},
    ]
    Path("data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    groups = [[REFERENCES[0], SECOND[0]], [REFERENCES[1]]]
    assert score("--data", "data.jsonl") == scorer.score(CANDIDATES[:2], groups).as_dict()


def test_csv_scores_as_in_python(score, scorer):
    Path("data.csv").write_text('id,candidate,reference\n1,"a, ""b""",NA\n2,,5\n')
    with pytest.warns(UserWarning, match="lone mask"):
        expected = scorer.score(['a, "b"', ""], ["NA", "5"]).as_dict()
    assert score("--data", "data.csv") == expected


GROUP = ["the cat sat", 'it\'s "a cat" 😀']


@pytest.mark.parametrize("write", [str, json.dumps, lambda texts: str(np.array(texts, object))])
@pytest.mark.parametrize("where", ["data.csv", "data.tsv", "folder"])
def test_a_cell_that_holds_a_list_is_several_references(score, scorer, write, where):
    rows = [[CANDIDATES[0], write(GROUP)], [CANDIDATES[1], "[sic] the 'dog' ran"]]
    table = pd.DataFrame(rows, columns=["prediction", "references"])
    Path("folder").mkdir()
    file = "folder/data.csv" if where == "folder" else where
    table.to_csv(file, index=False, sep="\t" if where.endswith("tsv") else ",")
    expected = scorer.score(CANDIDATES[:2], [GROUP, ["[sic] the 'dog' ran"]]).as_dict()
    assert score("--dataset" if where == "folder" else "--data", where) == expected


def test_a_string_of_json_lines_is_one_reference_whatever_it_looks_like(score, scorer):
    Path("data.jsonl").write_text(json.dumps({"prediction": "a", "reference": str(GROUP)}))
    with pytest.warns(UserWarning):
        expected = scorer.score(["a"], [str(GROUP)]).as_dict()
    assert score("data.jsonl") == expected


def test_a_list_of_candidates_in_a_cell_is_refused_with_its_line(infolm):
    Path("data.csv").write_text("prediction,reference\na,b\n\"['a', 'b']\",c\n")
    code, _, errors = infolm("score", "data.csv")
    assert code == 2 and "data.csv, line 3: 'prediction' holds a list" in errors


def test_the_semicolons_of_a_spreadsheet_and_tabs_separate_cells_too(score, infolm):
    expected = score("-c", "sys.txt", "-r", "ref.txt")
    for separator in ";\t":
        rows = [("id, group", "prediction", "reference")][separator == ";" :]
        rows = rows or [("id", "prediction", "reference")]
        rows += [("1,5", *row) for row in zip(CANDIDATES, REFERENCES, strict=True)]
        lines = (separator.join(row) + "\n" for row in rows)
        Path("data.csv").write_text("".join(lines).replace("id, group", "id"))
        assert score("data.csv") == expected
    Path("data.csv").write_text("prediction,reference\na; b,c; d\n")
    assert score("data.csv")["scores"] == score("a; b", "c; d")["scores"]
    Path("data.csv").write_text("prediction|reference\na|b\n")
    assert "'prediction|reference'" in infolm("score", "data.csv")[2]


def test_columns_can_be_named(score, scorer):
    Path("data.tsv").write_text("out\ta\tb\nthe cat\ta cat\tthe dog\n")
    columns = ("--candidate-column", "out", "--reference-column", "a", "--reference-column", "b")
    expected = scorer.score(["the cat"], [["a cat", "the dog"]]).as_dict()
    assert score("--data", "data.tsv", *columns) == expected


def test_standard_input_is_plain_text_or_json_lines(score, scorer, monkeypatch):
    def type_in(lines: list[str]) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))

    expected = scorer.score(CANDIDATES, REFERENCES).as_dict()
    type_in(CANDIDATES)
    assert score("-c", "-", "-r", "ref.txt") == expected
    rows = zip(CANDIDATES, REFERENCES, strict=True)
    type_in([json.dumps({"candidate": text, "reference": other}) for text, other in rows])
    assert score("--data", "-") == expected


def test_a_lone_dash_is_a_table_on_standard_input(score, monkeypatch):
    rows = [{"candidate": "the cat", "reference": "a cat"}]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    expected = score("the cat", "a cat")
    for arguments in (["-"], ["--data", "-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert score(*arguments)["scores"] == expected["scores"]


# Settings


def test_every_setting_but_return_scores_has_an_option():
    own = [entry for entry in setting_options(Settings) if "dest" in entry.keywords]
    names = {entry.keywords["dest"] for entry in own}
    fields = set(Settings.choices())
    assert names <= {*fields, "quiet"}
    assert fields - names <= {"return_scores", "reuse_memory"}


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (["-m", "l1"], {"information_measure": "l1"}),
        (["-m", "kl", "--measure", "l1"], {"information_measure": ["kl", "l1"]}),
        (["-m", "alpha", "--alpha", "-0.5"], {"information_measure": "alpha", "alpha": -0.5}),
        (
            ["-m", "ab", "--alpha", "2", "--beta", "1e-3", "--symmetrize", "none"],
            {"information_measure": "ab", "alpha": 2.0, "beta": 1e-3, "symmetrize": "none"},
        ),
        (["-t", "0.25", "--idf", "none"], {"temperature": 0.25, "idf": False}),
        (["--temperature", "2", "--idf", "separate"], {"temperature": 2.0, "idf": "separate"}),
        (
            ["--max-length", "6", "--long-text", "window", "--batch-size", "3"],
            {"max_length": 6, "long_text": "window", "batch_size": 3},
        ),
        (["--batch-size", "auto"], {"batch_size": "auto"}),
        (["--dtype", "bfloat16", "--device", "cpu"], {"dtype": "bfloat16", "device": "cpu"}),
        (["--masks-per-pass", "4"], {"masks_per_pass": 4}),
    ],
)
def test_an_option_does_what_its_setting_does(score, scorer, arguments, settings):
    expected = scorer.score(CANDIDATES, REFERENCES, **settings).as_dict()
    assert score(*FILES, *arguments) == expected


def test_without_a_model_option_the_environment_names_it(tiny_bert, capsys, monkeypatch):
    monkeypatch.setenv("INFOLM_MODEL", str(tiny_bert))
    assert main(["score", "a cat", "the cat"]) == 0
    assert f"model:{tiny_bert.name}@" in capsys.readouterr().out


# What is printed


def test_one_pair_is_shown_in_two_lines(infolm, scorer):
    code, output, _ = infolm("score", "the cat sat", "the dog ran")
    result = scorer.score(["the cat sat"], ["the dog ran"])
    assert code == 0
    assert output.splitlines() == [
        f"fisher_rao_distance: {result.mean('fisher_rao_distance'):.6g} "
        "(lower is better; 0 = the same distribution, largest 1)",
        f"signature: {result.signature}",
    ]


def test_the_summary_tells_pairs_directions_and_bounds(infolm, scorer):
    _, output, _ = infolm("score", *FILES, "-m", "l2", "-m", "kl")
    result = scorer.score(CANDIDATES, REFERENCES, information_measure=["l2", "kl"])
    assert output.splitlines() == [
        f"l2_distance: {result.mean('l2_distance'):.6g} "
        "(mean of 3 pairs; lower is better; 0 = the same distribution, largest 1.41421)",
        f"kl_divergence: {result.mean('kl_divergence'):.6g} "
        "(mean of 3 pairs; lower is better; 0 = the same distribution, no largest value)",
        f"signature: {result.signature}",
    ]


def test_per_pair_prints_a_table_and_then_the_summary(infolm, scorer):
    arguments = ("-m", "l1", "-m", "linf")
    _, output, _ = infolm("score", *FILES, *arguments, "--per-pair")
    result = scorer.score(CANDIDATES, REFERENCES, information_measure=["l1", "linf"])
    columns = result.scores.values()
    rows = [line.split("\t") for line in output.splitlines() if not line.startswith("#")]
    assert rows[0] == ["pair", "l1_distance", "l_infinity_distance"]
    assert [row[0] for row in rows[1:]] == ["1", "2", "3"]
    shown = [[float(cell) for cell in row[1:]] for row in rows[1:]]
    assert shown == [pytest.approx(row, rel=1e-5) for row in zip(*columns, strict=True)]
    _, summary, _ = infolm("score", *FILES, *arguments)
    assert output.endswith("".join(f"# {line}\n" for line in summary.splitlines()))


def test_warnings_go_to_standard_error(infolm):
    code, output, errors = infolm("score", "the cat " * 50, "the cat", "--json")
    assert code == 0
    assert json.loads(output)
    warning, _ = [line for line in errors.splitlines() if "warning" in line]
    assert warning.startswith("infolm: warning: 1 of 2 texts longer than 40 tokens")
    assert "long_text='window'" in warning


def test_output_goes_to_a_file(infolm):
    code, output, _ = infolm("score", *FILES, "--json", "-o", "scores.json")
    assert (code, output) == (0, "")
    _, printed, _ = infolm("score", *FILES, "--json", "-o", "-")
    assert Path("scores.json").read_text() == printed


WRITERS = [
    ("score", *FILES),
    ("idf", "ref.txt"),
    ("baseline", "corpus.txt", "--pairs", "20", "--references", "1"),
]
"""Commands with -o, without its file."""


@pytest.fixture
def corpus() -> None:
    Path("corpus.txt").write_text("".join(f"text number {number}\n" for number in range(40)))


@pytest.mark.parametrize(
    ("command", "suffix"), [*((command, "") for command in WRITERS), (WRITERS[0], ".jsonl")]
)
@pytest.mark.parametrize("names", [1, 2])
def test_a_file_that_is_there_keeps_its_mode_and_its_links(infolm, corpus, command, suffix, names):
    file, link, other = (Path(f"{name}{suffix}") for name in ("file", "link", "other"))
    file.touch()
    file.chmod(0o600)
    link.symlink_to(file)
    if names == 2:
        other.hardlink_to(file)
    code, _, errors = infolm(*command, "-o", link)
    assert code == 0, errors
    assert link.is_symlink() and file.stat().st_size
    assert (file.stat().st_mode & 0o777, file.stat().st_nlink) == (0o600, names)
    assert names == 1 or other.samefile(file)


def test_a_job_begun_anew_keeps_the_mode_of_its_file(infolm):
    job = ("score", *FILES, "-o", "scores.jsonl")
    infolm(*job)
    Path("scores.jsonl").chmod(0o640)
    assert infolm(*job, "--restart")[0] == 0
    assert Path("scores.jsonl").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("command", WRITERS)
def test_an_open_file_is_added_to_and_a_pipe_is_written_into(infolm, corpus, command):
    infolm(*command, "-o", "plain")
    expected = Path("plain").read_text()
    with open("log", "w+") as log:
        print("HEADER", file=log, flush=True)
        code, _, errors = infolm(*command, "-o", f"/dev/fd/{log.fileno()}")
        assert code == 0, errors
        print("FOOTER", file=log)
    assert Path("log").read_text() == f"HEADER\n{expected}FOOTER\n"
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert infolm(*command, "-o", "pipe")[0] == 0
    assert os.read(reader, 1 << 16).decode() == expected and Path("pipe").is_fifo()
    os.close(reader)


def test_an_output_that_cannot_be_written_is_refused_before_the_work(infolm, monkeypatch):
    Path("there.txt").write_text("kept")
    for closed, output in ((".", "new.txt"), ("there.txt", "there.txt")):
        # Whoever may write anywhere, as root does, cannot be kept out of a folder.
        monkeypatch.setattr("os.access", lambda path, mode, closed=closed: str(path) != closed)
        for command in (("score", *FILES), ("idf", "ref.txt"), ("baseline", "ref.txt")):
            code, printed, errors = infolm(*command, "-o", output)
            assert (code, printed) == (2, "")
            assert f"cannot write {output}: permission denied; name a file in" in errors


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "-c", "-", "-r", "ref.txt"),
        ("score", "--data", "-"),
        ("score", "--data", "-", "--json"),
        ("score", "--dataset", "no_such_data_set"),
        ("score", "--dataset", "no_such_data_set", "-o", "scores.jsonl"),
        ("compare", "sys.txt", "-", "-r", "ref.txt"),
        ("correlate", "-"),
    ],
)
def test_settings_are_checked_before_the_input_is_read(infolm, monkeypatch, arguments):
    monkeypatch.setattr("sys.stdin", None)
    code, _, errors = infolm(*arguments, "-t", "-1")
    assert code == 2 and "temperature must be > 0, got -1.0" in errors


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", *FILES, "-o", "ref.txt"),
        ("score", *FILES, "-r", "ref2.txt", "-o", "ref2.txt"),
        ("score", "a", "b", "--idf", "table.idf", "-o", "table.idf"),
        ("score", "a", "b", "--rescale-with-baseline", "table.idf", "-o", "table.idf"),
        ("idf", "ref.txt", "-o", "./ref.txt"),
        ("baseline", "ref2.txt", "ref.txt", "-o", "ref.txt"),
        ("attack", "data.jsonl", "-o", "data.jsonl"),
        ("robustness", "data.jsonl", "-o", "data.jsonl"),
        ("correlate", "data.jsonl", "-o", "data.jsonl"),
        ("compare", "sys.txt", "ref2.txt", "-r", "ref.txt", "-o", "ref2.txt"),
    ],
)
def test_no_command_writes_over_what_it_reads(infolm, arguments):
    for name in ("table.idf", "data.jsonl"):
        Path(name).write_text("kept")
    before = {file: file.read_bytes() for file in Path().iterdir()}
    code, printed, errors = infolm(*arguments)
    assert (code, printed) == (2, ""), errors
    assert f"cannot write {arguments[-1]}: it is read, too, and would be lost" in errors
    assert {file: file.read_bytes() for file in Path().iterdir()} == before


@pytest.mark.parametrize("command", ["idf", "baseline"])
def test_what_is_read_again_later_does_not_go_to_standard_output(infolm, command):
    code, _, errors = infolm(command, "ref.txt", "-o", "-")
    assert code == 2 and "name a file with -o" in errors
    assert not Path("-").exists()


def test_help_says_what_an_argument_without_a_flag_is(infolm):
    shown = " ".join(infolm("score", "--help")[1].split())
    assert "without a flag are texts, the candidate first, unless there is only one" in shown
    assert "always" not in shown


def test_nothing_recommends_a_package_that_no_index_has():
    for file in [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "infolm_metric").rglob("*.py"),
    ]:
        assert not re.search(r"pip install \S?infolm", file.read_text()), file


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to score; give texts as arguments, -c FILE and -r FILE, or --data FILE"),
        (["a cat"], "got one text; give the candidate, then at least one reference"),
        (["--rescale-with-baseline", "a cat", "a dog"], "took 'a cat' for its file; put it after"),
        (["a cat", "a dog", *FILES], "give either texts as arguments, -c FILE and"),
        (["--data", "data.csv", "-r", "ref.txt"], "give either texts as arguments, -c FILE and"),
        (["-c", "sys.txt"], "give both files: -c FILE with the candidates, -r FILE with"),
        (["-r", "sys.txt"], "give both files: -c FILE with the candidates, -r FILE with"),
        (["sys.txt", "ref.txt"], "'sys.txt' is a file, and texts are expected here; give files"),
        (["a", "b", "--candidate-column", "x"], "--candidate-column and --reference-column need"),
        (["-c", "no.txt", "-r", "ref.txt"], "cannot read no.txt: there is no such file; check its"),
        (["-c", "sys.txt", "-r", "short.txt"], "sys.txt has 3, short.txt has 1"),
        (["-c", "sys.txt", "-r", "latin.txt"], "latin.txt, line 2: not valid UTF-8 (byte 0xe9)"),
        (["-c", "bad.jsonl", "-r", "ref.txt"], "error: bad.jsonl is a table"),
        (["-c", "-", "-r", "-"], "standard input can be read once"),
        (["--data", "bad.jsonl"], "bad.jsonl, line 2: not valid JSON"),
        (["--data", "bad.jsonl", "--candidate-column", "x"], "bad.jsonl, line 1: no column 'x'"),
        (["--data", "sys.txt"], "sys.txt: the name of a table ends in .jsonl, .ndjson, .csv, .tsv"),
        (["--data", "no.csv"], "cannot read no.csv: No such file or directory"),
        (["-c", "empty.txt", "-r", "empty.txt"], "empty.txt has no rows; give one row for each"),
        (["--data", "empty.csv"], "empty.csv has no rows; give one row for each pair"),
        (["--data", "head.csv"], "head.csv has no rows; give one row for each pair"),
        ([*FILES, "-o", "no/scores"], "cannot write no/scores: no folder 'no'"),
        ([*FILES, "-o", "."], "cannot write .: it is a folder"),
        (["a\udcff", "b"], "predictions[0] has a lone surrogate"),
        (["a", "b", "-m", "fisher"], "unknown information_measure 'fisher'; did you mean"),
        (["a", "b", "-m", "alpha"], "alpha_divergence needs alpha: any number but 0 and 1"),
        (
            ["a", "b", "-m", "kl", "--interpolation", "1"],
            "interpolation=1 needs a measure with a largest value",
        ),
        (["a", "b", "-t", "0"], "temperature must be > 0, got 0.0"),
        (["a", "b", "-t", "nan"], "temperature must be finite"),
        (["a", "b", "--idf", "no.idf"], "there is no file 'no.idf'"),
        (["a", "b", "--idf", "sys.txt"], "'sys.txt' is not an idf table, or a damaged one"),
        (["a", "b", "--symmetrize", "jefreys"], "did you mean 'jeffreys'?"),
        (["a", "b", "--multi-reference", "max"], "unknown multi_reference 'max'"),
        (["a", "b", "--long-text", "cut"], "unknown long_text 'cut'"),
        (["a", "b", "--max-length", "2"], "max_length must be at least 3"),
        (["a", "b", "--max-length", "99"], "max_length must be at most 40"),
        (["a", "b", "--batch-size", "big"], "batch_size must be 'auto' or a whole number, got"),
        (["a", "b", "--batch-size", "0"], "batch_size must be at least 1, got 0"),
        (["a", "b", "--dtype", "int8"], "unknown dtype 'int8'"),
        (["a", "b", "--device", "abacus"], "device must be a torch device"),
        (["a", "b", "--processes", "0"], "tokenize_processes must be at least 1"),
        (["the cat " * 50, "b", "--long-text", "error"], "more than max_length=40"),
    ],
)
def test_wrong_input_is_refused_with_exit_code_2(infolm, arguments, message):
    Path("short.txt").write_text("a\n")
    Path("latin.txt").write_bytes("a\ncafé\nb\n".encode("latin-1"))
    Path("empty.txt").touch()
    Path("empty.csv").touch()
    Path("head.csv").write_text("candidate,reference\n")
    Path("bad.jsonl").write_text('{"candidate": "a", "reference": "b"}\n{"candidate": ')
    Path("data.csv").write_text("candidate,reference\na,b\n")
    code, output, errors = infolm("score", *arguments)
    assert (code, output) == (2, "")
    assert errors.startswith("infolm score: error: ")
    assert message in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["scores"],
        ["score", "--alpha", "x", "a", "b"],
        ["score", "--temp", "1", "a", "b"],
        ["idf", "corpus.txt"],
    ],
)
def test_arguments_that_cannot_be_parsed_give_the_usage_and_exit_code_2(infolm, arguments):
    code, output, errors = infolm(*arguments)
    assert (code, output) == (2, "")
    assert errors.startswith("usage: infolm")


def test_a_model_that_is_not_there_gives_exit_code_1(infolm):
    code, output, errors = infolm("score", "--model", "no/such/model", "a", "b")
    assert (code, output) == (1, "")
    assert "cannot load the model 'no/such/model'" in errors
    assert "model_name_or_path='bundled'" in errors
    assert "Traceback" not in errors


def test_verbose_shows_where_an_error_arose(infolm):
    code, _, errors = infolm("score", "--model", "no/such/model", "a", "b", "--verbose")
    assert code == 1
    assert "Traceback" in errors


def test_a_model_without_a_head_gives_exit_code_2(infolm, tiny_models):
    code, _, errors = infolm("score", "--model", tiny_models("bert-without-head"), "a", "b")
    assert code == 2
    assert "masked-LM head is missing" in errors


# infolm idf


def test_a_table_holds_the_counts_of_its_files(infolm, tiny_bert):
    from transformers import AutoTokenizer

    Path("more.csv").write_text("id,summary\n1,NA\n2,\n")
    code, output, _ = infolm(
        "idf", "ref.txt", "more.csv", "--column", "summary", "-o", "table.json"
    )
    table = IDF.load("table.json")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    assert code == 0
    assert table == IDF.from_corpus([*REFERENCES, "NA", ""], tokenizer)
    assert output.splitlines() == [
        "documents: 5",
        f"distinct tokens: {(table.document_frequency > 0).sum()}",
        f"fingerprint: {table.fingerprint}",
    ]


def test_a_table_of_the_references_weighs_as_the_references_do(infolm, score):
    infolm("idf", "ref.txt", "-o", "table.json")
    by_table, by_references = score(*FILES, "--idf", "table.json"), score(*FILES)
    assert by_table["scores"] == by_references["scores"]
    assert IDF.load("table.json").fingerprint in by_table["signature"]
    assert score(*FILES, "--idf", "none")["scores"] != by_table["scores"]


@pytest.mark.parametrize(
    ("options", "kept"), [((), 38), (("--max-length", 6), 4), (("--long-text", "window"), 60)]
)
def test_documents_are_cut_as_texts_are(infolm, options, kept):
    Path("long.txt").write_text("the " * (kept - 1) + "cat " + "dog " * (100 - kept))
    infolm("idf", "long.txt", "-o", "table.json", *options)
    counted = IDF.load("table.json").document_frequency.sum()
    assert counted == (3 if "window" in options else 2)


def test_a_changed_corpus_is_counted_anew(infolm):
    infolm("idf", "ref.txt", "-o", "table.json")
    Path("ref.txt").write_text("the cat\u2028sat\n\n")
    infolm("idf", "ref.txt", "-o", "table.json")
    assert IDF.load("table.json").documents == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.txt", "-o", "table"], "cannot read no.txt: there is no such file"),
        (["ref.txt", "-o", "no/table"], "cannot write no/table: no folder 'no'"),
        (["empty.txt", "-o", "table"], "corpus is empty"),
        (["data.csv", "-o", "table"], "data.csv, line 2: no column 'text'; there are 'summary'"),
        (["latin.txt", "-o", "table"], "latin.txt, line 1: not valid UTF-8"),
    ],
)
def test_a_bad_corpus_is_refused_and_leaves_no_table(infolm, arguments, message):
    Path("empty.txt").touch()
    Path("data.csv").write_text("summary\na\n")
    Path("latin.txt").write_bytes("café".encode("latin-1"))
    code, output, errors = infolm("idf", *arguments)
    assert (code, output) == (2, "")
    assert message in errors
    assert not Path("table").exists()


# infolm register


def test_after_register_evaluate_finds_the_metric(infolm, tiny_bert):
    code, output, _ = infolm("register")
    assert code == 0
    assert Path(output.splitlines()[0]).is_file()
    assert 'evaluate.load("infolm")' in output
    metric = evaluate.load("infolm", model_name_or_path=str(tiny_bert))
    assert metric.compute(predictions=["a cat"], references=["a cat"])["infolm"] == 0


# What a score means


def lines_of(output):
    """The lines of a summary but the signature."""
    return [line for line in output.splitlines() if not line.startswith("signature")]


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        (("The cat sat on the mat.", "The cat sat on the mat."), "a copy"),
        (
            ("The cat sat on the mat.", "The cat sat on a mat."),
            "far closer than unrelated texts; close does not mean correct",
        ),
        (
            ("Farmers fear a dry summer.", "The bus stops here."),
            "hardly closer than unrelated texts",
        ),
        (
            ("Heavy rain is expected.", "Two plus two is four."),
            "about as far as unrelated texts",
        ),
        (("yes", "no"), "not to be judged: the model had too little that it can read"),
        (
            ("\u6771\u4eac\u306f\u96e8 \U0001f642 \U0001f680", "a dog"),
            "not to be judged: the model had too little that it can read",
        ),
        (
            ("Der Hund schläft auf dem Sofa.", "Die Regierung erhöht morgen die Steuern."),
            "not to be judged: the model had too little that it can read",
        ),
    ],
)
def test_the_summary_says_how_close_texts_are_in_words(infolm, texts, verdict):
    code, output, _ = infolm("score", "--model", "bundled", *texts)
    score, light = lines_of(output)
    assert code == 0 and score.startswith("fisher_rao_distance: ")
    bundled = Baseline.load(ROOT / "infolm_metric/bundled/infolm_baseline.json")
    signature = InfoLMScorer(model_name_or_path="bundled").signature(idf=False)
    spread = bundled.spread(signature, "uniform", 1)
    low, high = spread.deciles[0], spread.deciles[-1]
    told = f"unrelated texts: {spread.mean:.3f}, eight in ten between {low:.3f} and {high:.3f} ("
    assert light.startswith(told)
    assert light.endswith(f"this pair is {verdict}")


def test_a_job_says_what_its_mean_means_when_it_is_finished_and_when_asked_again(infolm, tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"prediction": "A cat.", "reference": "The cat."}\n' * 2)
    job = ("score", tmp_path / "pairs.jsonl", "--model", "bundled", "-o", tmp_path / "s.jsonl")
    first, again = (lines_of(infolm(*job, "--idf", "none")[1]) for _ in range(2))
    assert first == again
    assert first[1].startswith("unrelated texts: 0.652, eight in ten between ")
    assert "; the mean is " in first[1]
    code = ("for i in range(9): print(x[i])", "x[i], x[j] = x[j], x[i]")
    for (prediction, reference), told in ((("yes", "no"), "of one"), (code, "seem to be another")):
        file = tmp_path / f"{len(reference)}.jsonl"
        file.write_text(json.dumps({"prediction": prediction, "reference": reference}))
        words = ("score", file, "--model", "bundled", "-o", file.with_suffix(".out.jsonl"))
        for _ in range(2):
            _, printed, warned = infolm(*words, "--idf", "none")
            assert "is not to be judged" in lines_of(printed)[1]
            assert f"2 of 2 texts {told}" in warned
    other = ("--restart", "--temperature", 3)
    assert len(lines_of(infolm(*job, "--idf", "none", *other)[1])) == 1


def test_the_scores_are_rescaled_if_asked(infolm, scorer, tmp_path):
    texts = ("the cat sat", "the cat sat")
    lines = lines_of(infolm("score", *texts, "--model", "bundled", "--rescale-with-baseline")[1])
    assert lines[-1] == "fisher_rao_distance rescaled: 1 (1 = a copy, 0 = unrelated texts)"
    (tmp_path / "corpus.txt").write_text("\n".join(f"the cat {i} sat {i * i}" for i in range(50)))
    model = ("--model", scorer.settings.model_name_or_path)
    made = infolm("baseline", tmp_path / "corpus.txt", "--pairs", 50, "-o", tmp_path / "b", *model)
    assert made[0] == 0, made[2]
    assert "fisher_rao_distance, uniform weights: " in made[1]
    asked = ("--rescale-with-baseline", tmp_path / "b", "--per-pair")
    table = infolm("score", *texts, *asked)[1].splitlines()
    assert table[0] == "pair\tfisher_rao_distance\tfisher_rao_distance rescaled"
    assert table[1] == "1\t0\t1"
    code, _, errors = infolm("score", *texts, "-t", 2, *asked)
    assert code == 2 and "temperature was 1.0 and is 2.0 now" in errors


def test_a_corpus_too_small_for_a_baseline_is_refused(infolm, tmp_path):
    (tmp_path / "corpus.txt").write_text("a\nb\na\n")
    code, _, errors = infolm("baseline", tmp_path / "corpus.txt", "-o", tmp_path / "b")
    assert code == 2 and "the corpus has 2 distinct texts; a baseline needs at least 40" in errors


def test_nothing_is_scored_that_was_not_asked_for(infolm, tmp_path, monkeypatch):
    """The sentence that says what a score means is known without other scores."""
    texts = [f"the cat {number} sat {number * number}" for number in range(50)]
    (tmp_path / "a.txt").write_text("\n".join(texts))
    (tmp_path / "b.txt").write_text("\n".join(reversed(texts)))
    scored = []
    own = InfoLMPasses.score
    monkeypatch.setattr(
        InfoLMPasses,
        "score",
        lambda self, pairs, *more: (scored.append(len(pairs)), own(self, pairs, *more))[1],
    )
    files = ("-c", tmp_path / "a.txt", "-r", tmp_path / "b.txt", "--model", "bundled")
    assert "(500 pairs of the package); the mean is " in infolm("score", *files)[1]
    assert scored == [50]
