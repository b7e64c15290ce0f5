"""Reading texts: what ends a line, what a cell holds, and what is said about a bad file."""

import gzip
import json
from pathlib import Path

import pytest

from infolm_metric.kernel.lines import check_there
from infolm_metric.kernel.text_files import (
    iterate_pairs,
    iterate_parallel,
    read_documents,
    read_texts,
)

ODD = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh"
"""Every character but the line feed at which str.splitlines splits."""


@pytest.fixture
def file(tmp_path):
    """A function that writes bytes or text to a named file and gives its path."""

    def write(name: str, content: bytes | str) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (f"{ODD}\r\n\n {ODD}", [ODD, "", f" {ODD}"]),
        ("a\nb", ["a", "b"]),
        ("a\nb\n\n", ["a", "b", ""]),
        ("a\r\r\nb\r", ["a\r", "b"]),
        ("\ufeffa\n\ufeffb", ["a", "\ufeffb"]),
        ("\ufeff", []),
        ("", []),
    ],
)
def test_a_line_feed_alone_or_after_a_carriage_return_ends_a_text(file, content, texts):
    assert list(read_texts(file("a.txt", content))) == texts


def test_a_compressed_file_holds_what_it_held(file):
    plain = file("a.txt.gz", gzip.compress(f"{ODD}\nb".encode()))
    table = file("a.csv.GZ", gzip.compress(b"text\nc\n"))
    assert list(read_texts(plain)) == [ODD, "b"]
    assert list(read_documents(table, "text")) == ["c"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f'\ufefftext,n\r\n"{ODD}\n""x"", y",1\r\n\r\n,2\r\nNA,3\r\n'),
        ("a.tsv", f'n\ttext\n1\t"{ODD}\n""x"", y"\n2\t\n3\tNA\n'),
        ("a.jsonl", "\n \n".join(json.dumps({"text": t}) for t in (f'{ODD}\n"x", y', "", "NA"))),
        ("a.NDJSON", json.dumps({"text": [f'{ODD}\n"x", y', "", "NA"]}, ensure_ascii=False)),
    ],
)
def test_a_table_gives_its_cells_as_they_are(file, name, content):
    assert list(read_documents(file(name, content), "text")) == [f'{ODD}\n"x", y', "", "NA"]


def test_a_cell_may_be_long(file):
    text = "word " * 40_000
    assert list(read_documents(file("a.csv", f"text\n{text}\n"), "text")) == [text]


def test_references_may_be_a_text_or_a_list_and_come_from_several_columns(file):
    rows = [
        {"candidate": "a", "x": ["b", "c"], "y": "d"},
        {"candidate": "e", "x": "f", "y": ["g", "h"]},
    ]
    path = file("a.jsonl", "\n".join(map(json.dumps, rows)))
    assert list(iterate_pairs(path, None, ["x", "y"])) == [
        ("a", ["b", "c", "d"]),
        ("e", ["f", "g", "h"]),
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.jsonl", '{"candidate": "a", "reference": "b"}\n{"x": ', "line 2: not valid JSON"),
        ("a.jsonl", "[" * 100_000, "line 1: not valid JSON"),
        ("a.jsonl", '["a", "b"]', "line 1: not a JSON object; write one JSON object per line"),
        ("a.jsonl", '\n{"candidate": 5, "reference": "b"}', "line 2: 'candidate' must be a string"),
        ("a.jsonl", '{"candidate": "a", "reference": null}', "line 1: 'reference' must be a"),
        ("a.jsonl", '{"candidate": "a", "reference": ["b", 1]}', "line 1: 'reference' must be a"),
        ("a.jsonl", '{"candidate": "a", "references": []}', "line 1: 'references' is an empty"),
        ("a.jsonl", r'{"candidate": "\ud800", "reference": "b"}', "line 1: 'candidate' has a lone"),
        ("a.jsonl", '{"text": "a"}', "line 1: none of the columns 'prediction' and 'candidate'; "),
        ("a.jsonl", '{"text": "a"}', "--candidate-column (there are 'text')"),
        ("a.csv", "prediction,candidate,reference\na,b,c", "both of the columns 'prediction' and"),
        ("a.csv", "prediction\na", "line 2: none of the columns 'references' and 'reference'"),
        ("a.csv", "candidate,reference,reference\n", "line 1: more than one column is called 'ref"),
        ("a.csv", "candidate,reference\na,b\nc\n", "line 3: 1 cells where the header has 2"),
        ("a.csv", 'candidate,reference\na,"b\nc\n', "not valid CSV"),
        ("a.tsv", 'candidate\treference\n"a" b\tc\n', "line 2: not valid CSV"),
        ("a.csv", b"candidate,reference\na,\xe9\n", "line 2: not valid UTF-8 (byte 0xe9)"),
        ("a.csv.gz", b"candidate", "Not a gzipped file"),
        ("a.jsonl.gz", gzip.compress(b"candidate", mtime=0)[:-9], "cannot read"),
        ("a.json", "{}", "the name of a table ends in .jsonl, .ndjson, .csv, .tsv"),
    ],
)
def test_a_bad_table_is_refused_by_name_and_line(file, name, content, problem):
    path = file(name, content)
    with pytest.raises((ValueError, TypeError)) as refusal:
        list(iterate_pairs(path))
    assert problem in str(refusal.value)
    assert path in str(refusal.value)


def test_a_named_column_that_is_not_there_is_refused_with_those_that_are(file):
    path = file("a.csv", "candidate,reference\na,b\n")
    with pytest.raises(ValueError, match="line 2: no column 'target'; there are 'candidate', 'ref"):
        list(iterate_pairs(path, None, ["target"]))
    with pytest.raises(ValueError, match="line 2: no column 'text'"):
        list(read_documents(path, "text"))


def test_plain_files_of_different_lengths_are_refused_with_both_counts(file):
    short, long = file("a.txt", "a\n"), file("b.txt", "a\nb\nc\n")
    with pytest.raises(ValueError) as refusal:
        list(iterate_parallel(short, [short, long]))
    assert f"{short} has 1, {long} has 3" in str(refusal.value)


def test_a_table_is_not_taken_for_plain_text(file):
    table, plain = file("a.jsonl", "{}"), file("b.txt", "a")
    with pytest.raises(ValueError, match="a.jsonl is a table, .* --data"):
        list(iterate_parallel(plain, [table]))


def test_a_file_that_is_not_utf_8_is_refused_with_line_and_byte(file):
    path = file("a.txt", "caf\xe9\n".encode() + "caf\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"a.txt, line 2: not valid UTF-8 \(byte 0xe9\); convert"):
        list(read_texts(path))


def test_what_cannot_be_opened_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot read .*nothing.txt: .*; check its name"):
        list(read_texts(str(tmp_path / "nothing.txt")))
    with pytest.raises(ValueError, match="cannot read .*: .*; check its name"):
        list(read_texts(str(tmp_path)))


def test_standard_input_can_be_named_once():
    with pytest.raises(ValueError, match="standard input can be read once"):
        check_there(["-", "-"])
    check_there(["-", str(Path(__file__))])
