"""Rows with human scores: what is read, and what is refused with the row or the column named."""

import json
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from infolm_metric.meta_evaluation import read_ratings

HUMAN = {("A", "1"): 1.0, ("A", "2"): 2.0, ("B", "1"): 3.0, ("B", "2"): 5.0}


def rows(**changes):
    """A row for two systems and two samples; `changes` go into the last one."""
    made = [
        {
            "system": system,
            "id": sample,
            "prediction": f"text {system}{sample}",
            "references": [f"reference {sample}", "another"],
            "human": {"fluency": score, "relevance": 10 - score},
            "metrics": {"bleu": 10 * score},
        }
        for (system, sample), score in HUMAN.items()
    ]
    made[-1] |= changes
    return made


def flat(made):
    """The rows as a flat table has them: strings in columns with dots."""
    return [
        {
            "system": row["system"],
            "id": row["id"],
            "prediction": row["prediction"],
            "reference": row["references"][0],
            "human.fluency": str(row["human"]["fluency"]),
            "metrics.bleu": str(row["metrics"]["bleu"]),
            "speed": str(row["human"]["relevance"]),
        }
        for row in made
    ]


def write_csv(path: Path, made) -> Path:
    lines = [",".join(made[0])] + [",".join(row.values()) for row in made]
    path.write_text("\n".join(lines))
    return path


def test_scores_are_laid_out_by_system_and_sample():
    ratings = read_ratings(rows())
    assert (ratings.systems, ratings.samples) == (("A", "B"), ("1", "2"))
    assert ratings.human["fluency"].tolist() == [[1, 2], [3, 5]]
    assert ratings.metrics["bleu"].tolist() == [[10, 20], [30, 50]]
    assert ratings.predictions[1] == "text A2"
    assert ratings.references[1] == ("reference 2", "another")


def test_rows_may_come_in_any_order():
    shuffled = [rows()[index] for index in (3, 0, 2, 1)]
    ratings = read_ratings(shuffled)
    fluency = ratings.grid([row["human"]["fluency"] for row in shuffled])
    assert (ratings.human["fluency"] == fluency).all()


def test_a_dataset_a_json_lines_file_and_a_list_say_the_same(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows())))
    plain = read_ratings(rows())
    for given in (path, str(path), Dataset.from_list(rows())):
        ratings = read_ratings(given)
        assert ratings.references == plain.references
        for name, grid in plain.human.items():
            assert (ratings.human[name] == grid).all()


def test_csv_has_scores_in_columns_with_dots_or_named_ones(tmp_path):
    path = write_csv(tmp_path / "rows.csv", flat(rows()))
    ratings = read_ratings(path)
    assert list(ratings.human) == ["fluency"]
    assert ratings.metrics["bleu"].tolist() == [[10, 20], [30, 50]]
    named = read_ratings(path, criteria=["speed"], metrics=["human.fluency"])
    assert named.human["speed"].tolist() == [[9, 8], [7, 5]]
    assert named.metrics["human.fluency"].tolist() == [[1, 2], [3, 5]]


def test_texts_of_people_are_left_out_and_counted():
    human = {"system": "people", "id": "1", "prediction": None, "is_human": True}
    ratings = read_ratings([human, *rows()])
    assert (ratings.people, len(ratings.predictions)) == (1, 4)


@pytest.mark.parametrize("written", ["TRUE", "True", "yes", "1", 1, 1.0, "1.0", np.True_])
def test_people_are_known_in_any_programs_spelling(written):
    human = {"system": "people", "id": "1", "prediction": None, "is_human": written}
    assert read_ratings([human, *rows()]).people == 1
    for other in ("FALSE", "no", "0", 0, 0.0, "", None, float("nan"), np.False_):
        assert read_ratings([human, *rows(is_human=other)]).people == 1


def test_what_says_neither_is_refused_with_its_row():
    with pytest.raises(ValueError, match="row 4: 'is_human' must be true or false, got 'maybe'"):
        read_ratings(rows(is_human="maybe"))


def test_systems_and_samples_can_be_left_out():
    more = rows() + [{**row, "system": "C"} for row in rows()[:2]]
    assert read_ratings(more, exclude_systems=["B"]).systems == ("A", "C")
    third = [{**row, "id": 3} for row in rows()[::2]]
    for number in ("2", 2):
        assert read_ratings(rows() + third, exclude_ids=[number]).samples == ("1", "3")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"exclude_systems": ["b"]}, "unknown system to exclude 'b'; known: 'people', 'A', 'B'"),
        ({"exclude_systems": ["poeple"]}, "system to exclude 'poeple'; did you mean 'people'"),
        ({"exclude_ids": "12"}, "exclude_ids must be a list of strings, got the bare string '12'"),
        ({"exclude_ids": [7]}, "unknown id to exclude '7'; known: '1', '2'"),
    ],
)
def test_a_name_to_leave_out_that_no_row_has_is_refused(given, message):
    human = {"system": "people", "id": "1", "prediction": None, "is_human": True}
    with pytest.raises((TypeError, ValueError), match=message):
        read_ratings([human, *rows()], **given)


def test_a_person_may_be_named_among_the_systems_to_leave_out():
    human = {"system": "people", "id": "1", "prediction": None, "is_human": True}
    assert read_ratings([human, *rows()], exclude_systems=["people"]).people == 1


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_score_that_is_not_there_is_missing(nothing):
    ratings = read_ratings(rows(human={"fluency": nothing, "relevance": 1}))
    assert np.isnan(ratings.human["fluency"][1, 1])
    assert ratings.human["relevance"][1, 1] == 1


@pytest.mark.parametrize("named", [{}, {"criteria": ["relevance"], "metrics": ["bleu"]}])
def test_a_score_that_the_first_row_leaves_out_is_missing_there_alone(named):
    made = rows()
    del made[0]["human"]["relevance"], made[0]["metrics"]["bleu"]
    ratings = read_ratings(made, **named)
    np.testing.assert_equal(ratings.human["relevance"], [[np.nan, 8], [7, 5]])
    np.testing.assert_equal(ratings.metrics["bleu"], [[np.nan, 20], [30, 50]])


def test_a_row_that_is_not_there_is_missing_too():
    assert np.isnan(read_ratings(rows()[:-1]).human["fluency"][1, 1])


def test_some_samples_can_be_selected():
    ratings = read_ratings(rows()).select(["2"])
    assert ratings.samples == ("2",)
    assert ratings.predictions == ("text A2", "text B2")
    assert ratings.human["fluency"].tolist() == [[2], [5]]
    assert ratings.grid([7, 8]).tolist() == [[7], [8]]
    assert read_ratings(rows()).select([2]).samples == ("2",)


def test_a_sample_that_is_not_there_cannot_be_selected():
    with pytest.raises(ValueError, match="unknown id '3'; known: '1', '2'"):
        read_ratings(rows()).select(["2", "3"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"human": {"fluency": "good", "relevance": 1}}, "row 4: column 'fluency' .* got 'good'"),
        ({"human": {"fluency": True, "relevance": 1}}, "row 4: column 'fluency' must hold numbers"),
        (
            {"human": {"fluency": 10**400, "relevance": 1}},
            "row 4: column 'fluency' must hold numbers",
        ),
        ({"human": {"fluency": float("nan"), "relevance": 1}}, "row 4: column 'fluency' is nan"),
        ({"metrics": {"bleu": float("inf")}}, "row 4: column 'bleu' is inf"),
        ({"id": "1"}, "row 4: system 'B' has a text for id '1' already, in row 3"),
        ({"prediction": None}, "row 4: 'prediction' must be a string, got None"),
        ({"prediction": 5}, "row 4: 'prediction' must be a string"),
        ({"references": []}, "row 4: 'references' is an empty list"),
        ({"references": ["a", None]}, "row 4: 'references' must be a string"),
        ({"system": None}, "row 4: 'system' must be a name"),
        ({"system": ""}, "row 4: 'system' must be a name"),
        ({"reference": "x"}, "row 4: both of the columns 'references' and 'reference'"),
    ],
)
def test_a_wrong_row_is_named(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read_ratings(rows(**changes))


@pytest.mark.parametrize("column", ["id", "prediction", "references", "human"])
def test_a_missing_column_is_named_with_those_there_are(column):
    made = [{key: value for key, value in row.items() if key != column} for row in rows()]
    with pytest.raises(ValueError, match=r"row 1: no.*" + column + r".*there are '"):
        read_ratings(made)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (rows()[:2], "at least two systems in the column 'system', got only 'A'"),
        (rows()[::2], "at least two ids in the column 'id', got only '1'"),
        ([], "at least two systems .* no rows"),
        (["text"], "row 1: a dictionary is needed, got str"),
        ([{**row, "human": {"fluency": 7}} for row in rows()], "'fluency': all 4 values are 7"),
        ([{**row, "metrics": {"bleu": None}} for row in rows()], "'bleu': no values at all"),
        ([{**row, "metrics": {"fluency": 1}} for row in rows()], "is a criterion and a metric"),
    ],
)
def test_rows_that_cannot_be_judged_are_refused(made, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read_ratings(made)


def test_a_score_that_is_asked_for_must_be_there():
    message = "'fluidity', and no column of that name; there are 'fluency', 'relevance'"
    with pytest.raises(ValueError, match=message):
        read_ratings(rows(), criteria=["fluidity"])


def test_the_line_of_a_file_is_named(tmp_path):
    made = flat(rows())
    made[2]["human.fluency"] = "?"
    with pytest.raises(ValueError, match="rows.csv, line 4: column 'fluency' must hold numbers"):
        read_ratings(write_csv(tmp_path / "rows.csv", made))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (flat(rows())[:2], "rows.csv: agreement needs at least two systems"),
        (
            [{**row, "human.fluency": "3"} for row in flat(rows())],
            "rows.csv: column 'fluency': all",
        ),
    ],
)
def test_a_file_that_cannot_be_judged_is_named(tmp_path, made, message):
    with pytest.raises(ValueError, match=message):
        read_ratings(str(write_csv(tmp_path / "rows.csv", made)))
