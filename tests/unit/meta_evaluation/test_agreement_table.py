"""The table of metrics and criteria: who stands in it, and what is refused."""

import numpy as np
import pytest

from infolm_metric.meta_evaluation.agreement_table import agreement


def grids(systems=6, samples=8):
    random = np.random.default_rng(0)
    human = random.normal(size=(systems, samples)) + np.arange(systems)[:, None]
    metrics = {name: human + random.normal(size=human.shape) for name in ("mine", "bleu")}
    return {"fluency": human}, metrics, random.integers(5, 40, size=human.shape).astype(float)


@pytest.mark.parametrize("against", [["length", "bleu"], ["bleu", "length"], ["bleu"]])
def test_length_is_a_rival_whether_it_is_named_or_not(against):
    human, metrics, length = grids()
    table = agreement(human, metrics, against=against, length=length, resamples=20)
    plain = agreement(human, metrics, against=["bleu"], length=length, resamples=20)
    assert table.against == ("bleu", "length")
    assert table.as_dict() == plain.as_dict()
    assert table.find("mine", "fluency", "text", "pearson").p_values["length"] > 0


def test_length_that_is_named_is_left_out_where_all_texts_are_as_long():
    human, metrics, length = grids()
    alike = np.full_like(length, 7.0)
    table = agreement(human, metrics, against=["length", "bleu"], length=alike, resamples=20)
    assert table.against == ("bleu",)
    assert table.names("metric") == ["mine", "bleu"]


def test_a_metric_of_that_name_can_be_the_rival_where_no_lengths_are_given():
    human, metrics, length = grids()
    table = agreement(human, {**metrics, "length": length}, against=["length"], resamples=20)
    assert table.against == ("length",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"against": ["lenght"]}, "unknown rival 'lenght'; did you mean 'length'"),
        ({"against": ["length"], "length": None}, "unknown rival 'length'; known: 'mine', 'bleu'"),
        ({"metrics": {"length": grids()[2]}}, "a metric is named 'length'.*rename it"),
        ({"metrics": {}}, "at least one criterion and one metric"),
        ({"levels": ["sytem"]}, "unknown level 'sytem'; did you mean 'system'"),
        ({"missing": "omit"}, "unknown missing 'omit'"),
        ({"over": "text"}, "unknown over 'text'"),
        ({"resamples": 0}, "resamples must be at least 1, got 0"),
        ({"confidence": 1.0}, "confidence must be above 0 and below 1, got 1.0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_a_wrong_argument_is_named(changes, message):
    human, metrics, length = grids()
    with pytest.raises(ValueError, match=message):
        agreement(**{"human": human, "metrics": metrics, "length": length, **changes})


@pytest.mark.parametrize("changed", ["fluency", "mine", "length"])
def test_a_grid_of_another_shape_is_refused_and_not_repeated(changed):
    human, metrics, length = grids()
    every = {**human, **metrics, "length": length}
    every[changed] = every[changed][:, :1]
    human = {"coverage": grids()[0]["fluency"], "fluency": every["fluency"]}
    metrics = {name: every[name] for name in metrics}
    with pytest.raises(
        ValueError, match=rf"'coverage' and '?{changed}'? must .* got \[6, 8\] and \[6, 1\]"
    ):
        agreement(human, metrics, length=every["length"])
