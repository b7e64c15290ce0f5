"""Reading and writing of files: line ends, table cells, errors, data sets, outputs."""

import codecs
import errno
import gzip
import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric import InputError, tables
from infolm_metric.core import files

# All characters at which str.splitlines splits, except the line feed.
ODD = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh"


@pytest.fixture
def file(tmp_path):
    """Function that writes bytes or text to a named file and returns its path."""

    def write(name: str, content: bytes | str) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


LINES = [
    (f"{ODD}\r\n\n {ODD}", [ODD, "", f" {ODD}"]),
    ("a\nb", ["a", "b"]),
    ("a\r\r\nb\r", ["a\r", "b"]),
    ("\ufeffa\n\ufeffb", ["a", "\ufeffb"]),
    ("\ufeff", []),
    ("", []),
]


@pytest.mark.parametrize(("content", "texts"), LINES)
def test_only_lf_and_crlf_end_a_text(file, content, texts):
    assert list(files.read_texts(file("a.txt", content))) == texts
    assert list(files.read_texts(file("a.txt.gz", gzip.compress(content.encode())))) == texts


TABLES = [
    ("a.csv", f'\ufefftext,n\r\n"{ODD}\n""x"", y",1\r\n\r\n,2\r\nNA,3\r\n'),
    ("a.tsv", f'n\ttext\n1\t"{ODD}\n""x"", y"\n2\t\n3\tNA\n'),
    ("a.jsonl", "\n \n".join(json.dumps({"text": t}) for t in (f'{ODD}\n"x", y', "", "NA"))),
    ("a.NDJSON", json.dumps({"text": [f'{ODD}\n"x", y', "", "NA"]}, ensure_ascii=False)),
]


@pytest.mark.parametrize(("name", "content"), TABLES)
def test_cells_of_a_table_are_read_unchanged(file, name, content):
    compressed = file(f"{name}.GZ", gzip.compress(content.encode()))
    for path in (file(name, content), compressed):
        assert list(tables.read_documents(path, "text")) == [f'{ODD}\n"x", y', "", "NA"]
    with pytest.raises(InputError, match="no column 'target'. .* Available: .*text"):
        list(tables.read_documents(compressed, "target"))


def test_long_cells_are_accepted(file):
    text = "word " * 40_000
    assert list(tables.read_documents(file("a.csv", f"text\n{text}\n"), "text")) == [text]


def test_reference_columns_may_mix_strings_and_lists(file):
    rows = [{"candidate": "a", "x": ["b", "c"], "y": "d"}]
    rows += [{"candidate": "e", "x": "f", "y": ["g", "h"]}]
    path = file("a.jsonl", "\n".join(map(json.dumps, rows)))
    pairs = [("a", ["b", "c", "d"]), ("e", ["f", "g", "h"])]
    assert list(tables.Source(path, lambda: tables.read_rows(path), None, ["x", "y"])) == pairs


MANY_LINES = b'a,b\n"' + b"x\n".rjust(1000) * (files.LONGEST // 999)


BAD_TABLES = [
    ("a.jsonl", '{"candidate": "a", "reference": "b"}\n{"x": ', "line 2: not valid JSON"),
    ("a.jsonl", '["a", "b"]', "line 1: not a JSON object. Write one JSON object per line"),
    ("a.jsonl", '\n{"candidate": 5, "reference": "b"}', "line 2: 'candidate' must be a string"),
    ("a.jsonl", '{"candidate": "a", "reference": ["b", 1]}', "line 1: 'reference' must be a"),
    ("a.jsonl", '{"candidate": "a", "references": []}', "line 1: 'references' is an empty"),
    ("a.jsonl", r'{"candidate": "\ud800", "reference": "b"}', "line 1: 'candidate' must be valid"),
    ("a.jsonl", '{"text": "a"}', "line 1: found none of the columns 'prediction'"),
    ("a.csv", "prediction\na", "reference_columns (available: 'prediction')"),
    ("a.csv", "candidate,reference\na,b\nc\n", "line 3: expected 2 cells"),
    ("a.csv", 'candidate,reference\n"a" b,c\n', "line 2: not valid CSV"),
    ("a.tsv", 'candidate\treference\na\t"b\nc\n', "not valid CSV"),
    ("a.csv", b"candidate,reference\na,\xe9\n", "line 2: not valid UTF-8 (byte 0xe9)"),
    ("a.csv", "prediction,reference\ra,b\r", "line 1: not valid CSV (a carriage return"),
    ("a.csv", "a,a\nb,c", "line 1: duplicate column name 'a'. Rename one column, or add a header"),
    ("a.tsv", "prediction,reference\na,b\n", "Check the header and its separator"),
    ("a.csv", "candidate;reference\na,b\n", "expected 2 cells separated by ';'"),
    ("a.jsonl", '{\n"candidate": "a"}', "jq -c . FILE"),
    ("a.json", "[]", "jq -c '.[]' FILE"),
    ("a.csv", codecs.BOM_UTF16_LE + "a,b\n".encode("utf-16-le"), "export a spreadsheet as UTF-8"),
    ("a.csv.gz", gzip.compress(MANY_LINES, 1, mtime=0), "larger than field limit"),
    ("a.csv.gz", b"candidate", "Not a gzipped file"),
    ("a.parquet", b"no", "cannot read"),
    ("a.json", "{}", "a table must end in .jsonl, .ndjson, .csv, .tsv"),
]


@pytest.mark.parametrize(("name", "content", "problem"), BAD_TABLES)
def test_malformed_tables_are_rejected_with_their_path(file, name, content, problem):
    path = file(name, content)
    with pytest.raises(InputError) as refusal:
        list(tables.Source(path, lambda: tables.read_rows(path)))
    assert problem in str(refusal.value) and path in str(refusal.value)


def test_stdin_and_devices_can_be_read_only_once():
    files.check_exists(["-", __file__, __file__])
    for paths, again in ((["-", "-"], False), (["-"], True), ([os.devnull], True)):
        with pytest.raises(InputError, match="can be read only once"):
            files.check_exists(paths, again)


@pytest.mark.parametrize("header", [["id", "text"], ['"id, or number"', "text"], ["id", "t, u"]])
@pytest.mark.parametrize("separator", ";\t")
def test_csv_cells_may_be_separated_by_semicolons_or_tabs(file, separator, header):
    header = [*header, "n"]
    content = "".join(separator.join(row) + "\n" for row in (header, ("1,5", "a cat", "2")))
    ((where, row),) = tables.read_rows(file("a.csv", content))
    expected = [name.strip('"') for name in header]
    assert row == dict(zip(expected, ("1,5", "a cat", "2"), strict=True))
    assert where.endswith("line 2")


TEXT_LISTS = st.lists(st.text(st.characters(codec="utf-8")), min_size=1)


def parse_cell(cell):
    """Return the references in a cell of CSV or TSV."""
    return tables.parse_references("line 2", tables.Cells(reference=cell))


@given(TEXT_LISTS, st.sampled_from(["", " ", "\n"]))
def test_json_and_python_lists_in_cells_are_parsed(texts, blank):
    assert parse_cell(blank + str(texts) + blank) == texts
    for escaped in (True, False):
        assert parse_cell(json.dumps(texts, ensure_ascii=escaped)) == texts


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=2).map(tuple))
def test_printed_arrays_are_rejected_because_python_would_join_their_texts(texts):
    arrays = [f"[{', '.join(f'np.str_({text!r})' for text in texts)}]"]  # a list in NumPy 2
    arrays += [f"[{blank.join(map(repr, texts))}]" for blank in (" ", "\n ")]
    for array in arrays:
        with pytest.raises(InputError, match="line 2: 'reference' must be a comma-separated list"):
            parse_cell(array)


INVALID_LISTS = [
    ("[]", "empty list"),
    *((f"[{cell}]", "got None") for cell in ("None", "null", '"a", null', "'a', None")),
    ("[NaN]", "got nan"),
    ("[['a', 'b'], ['c']]", "must be a string"),
    ("['a', 5]", "must be a string"),
]


@pytest.mark.parametrize(("cell", "problem"), INVALID_LISTS)
def test_cells_with_other_json_or_python_values_are_rejected(cell, problem):
    with pytest.raises(InputError, match=f"line 2: 'reference' .*{problem}"):
        parse_cell(cell)


TEXT_CELLS = ["[sic] a 'cat'", "[UNK]", "(a cat)", "(5)", "('a cat')", "{curly", "['a", "[" * 9999]
TEXT_CELLS += ["('a', 'b')", "{'a': 1}", "(see '\\d')", "", " ", "a ['cat']", "[np.str_(a)]"]


@pytest.mark.parametrize("cell", TEXT_CELLS)
def test_other_cells_are_read_as_plain_texts(cell, recwarn):
    assert parse_cell(cell) == [cell] and not recwarn


@pytest.mark.parametrize("cell", ["['a', 'b']", "[]", "{'a': 1}", "('a',)"])
def test_candidate_cells_are_never_parsed_as_lists(cell):
    row = tables.Cells(prediction=cell, reference="b")
    assert tables.parse_pair("line 2", row) == (cell, ["b"])


# Data sets


@pytest.fixture
def folder(tmp_path):
    """Folder with a data set of two splits."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "data/test.jsonl").write_text('{"text": "b"}\n{"text": "c"}\n')
    return tmp_path


def test_a_split_of_a_data_set_can_be_read_twice(folder):
    dataset = tables.load_dataset(str(folder / "data"), split="test")
    for _ in range(2):
        rows = list(tables.dataset_rows("d", lambda: dataset))
        assert [row for _, row in rows] == [{"text": "b"}, {"text": "c"}]
        assert rows[0][0] == "d, row 1 (types inferred by `datasets`)"


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_csv_data_sets_have_the_same_rows_as_their_file(tmp_path, ending):
    mark = "," if ending == "csv" else "\t"
    path = tmp_path / f"a.{ending}"
    rows = ["prediction reference", "NA null", " nan", """a "['b',_'c']\""""]
    path.write_text("".join(row.replace(" ", mark).replace("_", " ") + "\n" for row in rows))
    dataset = tables.load_dataset(str(tmp_path))
    pairs = [tables.parse_pair(*row) for row in tables.dataset_rows("d", lambda: dataset)]
    assert pairs == [tables.parse_pair(*row) for row in tables.read_rows(str(path))]
    assert pairs == [("NA", ["null"]), ("", ["nan"]), ("a", ["b", "c"])]


MISSING_SPLITS = [
    ("data", "dev", "dev"),
    ("data", None, "the splits train, test. Pass --split"),
    ("nothing", None, "cannot load the data set"),
]


@pytest.mark.parametrize(("name", "split", "words"), MISSING_SPLITS)
def test_missing_data_sets_and_splits_are_rejected(folder, name, split, words):
    with pytest.raises((InputError, OSError), match=words):
        tables.load_dataset(str(folder / name), split=split)


# Writing


PROBLEMS = [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_a_failed_write_leaves_only_the_previous_file(tmp_path, monkeypatch, problem):
    def fail(_):
        raise problem

    path = tmp_path / "scores.json"
    path.write_text("older")
    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(type(problem)) as error:
        files.write_text(path, "newer")
    if isinstance(problem, OSError):
        assert f"cannot write {path}: No space left" in str(error.value)
    assert path.read_text() == "older" and os.listdir(tmp_path) == ["scores.json"]


def test_overwriting_a_link_preserves_it_and_the_mode_of_its_target(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("older")
    target.chmod(0o600)
    link.symlink_to(target)
    files.write_text(link, "text")
    assert link.is_symlink() and target.read_text() == "text"
    assert target.stat().st_mode & 0o777 == 0o600
    assert len(os.listdir(tmp_path)) == 2


OUTPUTS = [
    *((name, "not a regular file") for name in (".", "pipe", os.devnull)),
    ("no/file.txt", "no folder 'no'"),
    ("dangling", "no folder"),
    *((name, "it is part of the input") for name in ("input.txt", "same.txt", "data/new.txt")),
    ("new.txt", None),
]


@pytest.mark.parametrize(("output", "words"), OUTPUTS)
def test_unwritable_outputs_are_rejected(tmp_path, monkeypatch, output, words):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    os.mkfifo("pipe")
    Path("input.txt").touch()
    Path("same.txt").hardlink_to("input.txt")
    Path("dangling").symlink_to("/nonexistent/folder/file")
    with pytest.raises(InputError, match=words) if words else nullcontext():
        files.check_writable(output, ["-", "input.txt", "data"])
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(InputError, match="permission denied|cannot write"):
        files.check_writable(output, [])
