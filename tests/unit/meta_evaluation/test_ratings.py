"""Reading rows with human scores, and errors that name the row or the column."""

import json
import math

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric import InputError
from infolm_metric.meta_evaluation import read_ratings
from infolm_metric.meta_evaluation.ratings import parse_score
from tests.random_pairs import write_lines

HUMAN = {("A", "1"): 1.0, ("A", "2"): 2.0, ("B", "1"): 3.0, ("B", "2"): 5.0}
PERSON = {"system": "human", "id": "1", "prediction": None, "is_human": True}


# Dotted columns, and one with a plain name.
CSV = """system,id,prediction,reference,human.fluency,metrics.bleu,speed
A,1,text A1,reference 1,1.0,10.0,9.0
A,2,text A2,reference 2,2.0,20.0,8.0
B,1,text B1,reference 1,3.0,30.0,7.0
B,2,text B2,reference 2,5.0,50.0,5.0
"""


def rows(**changes):
    """Return rows of two systems and two samples, with `changes` applied to the last row."""
    table = []
    for (system, sample), score in HUMAN.items():
        row = {"system": system, "id": sample, "prediction": f"text {system}{sample}"}
        row |= {"references": [f"reference {sample}", "another"], "metrics": {"bleu": 10 * score}}
        table.append(row | {"human": {"fluency": score, "relevance": 10 - score}})
    table[-1] |= changes
    return table


def every_row(**changes):
    return [{**row, **changes} for row in rows()]


def rows_without_systems(**changes):
    """Return rows without systems, with `changes` applied to the last row."""
    texts = [(row["prediction"], row["human"]["fluency"]) for row in rows()]
    table = [{"prediction": text, "reference": "a text", "score": score} for text, score in texts]
    table[-1] |= changes
    return table


def test_scores_are_arranged_by_system_and_sample():
    ratings = read_ratings(rows())
    assert (ratings.systems, ratings.samples) == (("A", "B"), ("1", "2"))
    assert ratings.human["fluency"].tolist() == [[1, 2], [3, 5]]
    assert ratings.metrics["bleu"].tolist() == [[10, 20], [30, 50]]
    assert ratings.predictions[1] == "text A2"
    assert ratings.references[1] == ("reference 2", "another")
    assert ratings.lengths.tolist() == [[7, 7], [7, 7]]
    assert np.isnan(read_ratings(rows()[:-1]).human["fluency"][1, 1])  # a missing row


@given(st.permutations(range(4)))
def test_order_of_rows_does_not_matter(order):
    shuffled = [rows()[index] for index in order]
    ratings = read_ratings(shuffled)
    for column, sample in enumerate(ratings.samples):
        for row, system in enumerate(ratings.systems):
            assert ratings.human["fluency"][row, column] == HUMAN[system, sample]
    assert np.array_equal(ratings.grid([HUMAN[r["system"], r["id"]] for r in shuffled]),
                          ratings.human["fluency"])  # fmt: skip


def test_datasets_json_lines_files_and_lists_give_the_same_ratings(tmp_path):
    path = write_lines(tmp_path / "rows.jsonl", rows())
    expected = read_ratings(rows())
    for source in (path, str(path), Dataset.from_list(rows())):
        ratings = read_ratings(source)
        assert ratings.references == expected.references
        for name, grid in expected.human.items():
            assert (ratings.human[name] == grid).all()


def test_csv_scores_come_from_dotted_or_named_columns(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(CSV)
    ratings = read_ratings(path)
    assert list(ratings.human) == ["fluency"]
    assert ratings.metrics["bleu"].tolist() == [[10, 20], [30, 50]]
    with pytest.raises(InputError, match="rows.csv, line 2: column 'system' must contain finite"):
        read_ratings(path, metrics=["system"])
    other_ratings = read_ratings(path, criteria=["speed"], metrics=["human.fluency"])
    assert other_ratings.human["speed"].tolist() == [[9, 8], [7, 5]]
    assert other_ratings.metrics["human.fluency"].tolist() == [[1, 2], [3, 5]]


def test_integer_and_float_ids_are_equal():
    table = [{**row, "id": float(row["id"])} for row in rows()]
    assert read_ratings(table).samples == ("1", "2")
    assert read_ratings([*table[:2], *rows()[2:]]).samples == ("1", "2")


def test_each_row_without_a_system_is_its_own_sample():
    ratings = read_ratings(rows_without_systems())
    assert (ratings.systems, ratings.samples) == ((), ("1", "2", "3", "4"))
    assert ratings.human["score"].tolist() == ratings.grid([1, 2, 3, 5]).tolist() == [1, 2, 3, 5]


BLEU_AS_HUMAN_SCORE = {"criteria": ["bleu"], "metrics": ["score"]}


def test_score_column_contains_human_scores_by_default():
    table = [{**row, "bleu": 2 * row["score"]} for row in rows_without_systems()]
    for columns, criterion in (({"metrics": ["bleu"]}, "score"), (BLEU_AS_HUMAN_SCORE, "bleu")):
        ratings = read_ratings(table, **columns)
        assert [*ratings.human] == [criterion] and [*ratings.metrics] == columns["metrics"]


@pytest.mark.parametrize("mark", [True, "TRUE", "true", 1, "1", np.True_, 1.0, "1.0"])
def test_human_texts_are_skipped_and_counted(mark):
    ratings = read_ratings([{**PERSON, "is_human": mark}, *rows()])
    assert (ratings.human_texts, len(ratings.predictions)) == (1, 4)
    for machine in (False, "False", 0, "0", "", None, np.False_, 0.0, "0.0", math.nan):
        table = [{**PERSON, "is_human": mark}, *rows(is_human=machine)]
        assert read_ratings(table).human_texts == 1


@pytest.mark.parametrize("columns", [{}, {"criteria": ["relevance"], "metrics": ["bleu"]}])
@pytest.mark.parametrize("gap", [None, "", "not there"])
def test_score_missing_in_the_first_row_is_missing_only_there(columns, gap):
    table = rows()
    for group, name in (("human", "relevance"), ("metrics", "bleu")):
        table[0][group][name] = gap
        if gap == "not there":
            del table[0][group][name]
    ratings = read_ratings(table, **columns)
    np.testing.assert_equal(ratings.human["relevance"], [[np.nan, 8], [7, 5]])
    np.testing.assert_equal(ratings.metrics["bleu"], [[np.nan, 20], [30, 50]])


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**300), 10**300))
def test_numbers_and_their_json_text_are_parsed_equally(number):
    for value in (number, json.dumps(number), f" {json.dumps(number)} "):
        assert parse_score("row 1", "fluency", value) == float(number)


def test_numbers_as_spreadsheets_write_them_are_parsed():
    numbers = {".5": 0.5, "+4": 4, "5.": 5, "-.5": -0.5, "1E-3": 0.001, "007": 7, "\t3.5 ": 3.5}
    for text, number in numbers.items():
        assert parse_score("row 1", "fluency", text) == number


@pytest.mark.parametrize(
    "value",
    ["1_0", "٣", "0x1", "five", "1 2", "--1", ".", "e5", " ", True, "true", [1], {}, "3,5", "80%",
     "NA", "-", math.inf, -math.inf, math.nan, "Infinity", "NaN", "1e400", 10**400],
)  # fmt: skip
@pytest.mark.parametrize("group", ["human", "metrics"])
def test_value_that_is_not_a_finite_number_is_rejected_with_its_row(group, value):
    with pytest.raises(InputError, match="row 4: column '.*name' must contain finite numbers"):
        read_ratings(rows(**{group: {"name": value}}))


def renamed(table, **names):
    """Return the table with renamed columns."""
    return [{names.get(key, key): value for key, value in row.items()} for row in table]


SYSTEM_NAMES = ["SYSTEM", "sys", "systems", "system_id", "System Name", "Model", "model_name"]


@pytest.mark.parametrize("name", SYSTEM_NAMES)
def test_column_that_may_contain_systems_must_be_named_or_declined(name):
    table = renamed(rows(), system=name)
    with pytest.raises(InputError, match=f"system_column='{name}'.*system_column=False"):
        read_ratings(table)
    assert read_ratings(table, system_column=name).systems == ("A", "B")
    pooled = read_ratings(table, system_column=False)
    assert (pooled.systems, pooled.samples) == ((), ("1", "2", "3", "4"))
    assert pooled.human["fluency"].tolist() == [1, 2, 3, 5]


def test_rows_of_systems_need_ids_and_repeated_ids_need_systems():
    table = renamed(rows(), id="doc")
    with pytest.raises(InputError, match="row 1: no column 'id'.*id_column.*'doc'"):
        read_ratings(table)
    assert read_ratings(table, id_column="doc").samples == ("1", "2")
    # Without systems, repeated ids show that rows are not independent.
    pooled = renamed(rows(), system="approach")
    with pytest.raises(InputError, match="row 3: no column.* id '1' in row 1.*system_column="):
        read_ratings(pooled)
    assert read_ratings(pooled, system_column="approach").systems == ("A", "B")
    assert read_ratings(pooled, system_column=False).samples == ("1", "2", "3", "4")


def test_named_columns_have_priority_over_default_columns():
    table = [{**row, "model": f"m{row['system']}", "doc": f"d{row['id']}"} for row in rows()]
    assert read_ratings(table).systems == ("A", "B")
    ratings = read_ratings(table, system_column="model", id_column="doc")
    assert (ratings.systems, ratings.samples) == (("mA", "mB"), ("d1", "d2"))
    for columns in ({"system_column": "modell"}, {"id_column": "docs"}):
        with pytest.raises(InputError, match="row 1: no column '(modell|docs)'.*Available: "):
            read_ratings(table, **columns)


def test_columns_of_other_roles_do_not_resemble_systems():
    table = [{**row, "model": row["score"]} for row in rows_without_systems()]
    assert read_ratings(table, metrics=["model"]).systems == ()
    assert read_ratings(renamed(table, prediction="sys"), candidate_column="sys", metrics=["model"])


def test_distinct_ids_of_rows_without_systems_are_used():
    table = [{**row, "id": f"q{i}"} for i, row in enumerate(rows_without_systems())]
    assert read_ratings(table).samples == ("q0", "q1", "q2", "q3")
    person = {"id": "q0", "is_human": True, "prediction": "x"}
    assert read_ratings([person, *table]).samples == ("q0", "q1", "q2", "q3")


INVALID = [
    # invalid rows
    (rows(id="1"), {}, "row 4: system 'B' .* for id '1' in row 3"),
    (rows(prediction=None), {}, "row 4: 'prediction' must be a string, got None"),
    (rows(system=None), {}, "row 4: 'system' must be a non-empty string"),
    (rows(id=1.5), {}, "row 4: 'id' must be a non-empty string"),
    (rows(is_human="maybe"), {}, "row 4: 'is_human' .* got 'maybe'"),
    (rows_without_systems(system="A", id=1), {}, "row 1: no column 'system'"),
    ([{"system": "A", "id": 1, "human": {"f": 1}}] * 2, {}, "'A' already has a text for id '1'"),
    (every_row(human=None, metrics=None), {}, "row 1: no human scores. .*criteria="),
    (["text"], {}, "row 1 must be a dictionary, got str"),
    (5, {}, "rows must be a file name or a list of dictionaries, got 5"),
    # invalid columns
    (rows(), {"criteria": ["fluidity"]}, "row 1: criteria .* got 'fluidity'. .*'human.fluency'"),
    (rows(), {"metrics": ["ter"]}, "row 1: metrics must .*, got 'ter'. .*'metrics.bleu'"),
    (rows(), {"criteria": "fluency"}, "criteria must be a list of values, got 'fluency'"),
    (rows(), {"reference_columns": "a"}, "reference_columns must be a list of values, got 'a'"),
    # too little data
    (rows()[:2], {}, "need at least 2 values of 'system', got 1"),
    ([PERSON, *rows()[:2]], {}, "got 1 .skipped 1 human-written"),
    ([], {}, "need at least 2 texts, got 0"),
    (rows_without_systems()[:1], {}, "need at least 2 texts, got 1"),
    (every_row(human={"fluency": 7}), {}, "'fluency': every value is 7 \\(4 in total"),
    (every_row(metrics={"bleu": None}), {}, "'bleu': no values"),
    (every_row(metrics={"fluency": 1}), {}, "'fluency' is both a criterion and a metric"),
    (rows(), {"metrics": ["human.fluency"]}, "'fluency' is both a criterion and a metric"),
]


@pytest.mark.parametrize(("table", "arguments", "message"), INVALID)
def test_invalid_rows_and_arguments_are_rejected(table, arguments, message):
    with pytest.raises(InputError, match=message):
        read_ratings(table, **arguments)
