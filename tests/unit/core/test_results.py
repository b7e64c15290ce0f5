"""Results of scorers: views for users, joined parts, means, warnings."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric import InputError
from infolm_metric.core import results
from infolm_metric.core.baselines import BaselineStats, LengthBin
from infolm_metric.core.signature import Signature

ONE = {"l1_distance": [0.5, 1.5]}
SCORES = {"l1_distance": [0.5, 1.5], "kl_divergence": [0.25, 0.0]}
RESCALED = {"l1_distance": [0.75, 0.25]}
BINS = (LengthBin(10.0, 2.0, (1.0, 1.5)),)
BASELINE = {"l1_distance": BaselineStats(2.0, 20, BINS, "package")}
STATS = {"mean": 2.0, "pairs": 20, "source": "package"}
STATS["bins"] = [{"tokens": 10.0, "mean": 2.0, "percentiles": [1.0, 1.5]}]
SIGNATURE = Signature({"idf": False})
COUNTS = Counter(texts=4, tokens=12, empty=1, few_documents=10)
REST = {"higher_is_better": False, "signature": "idf:no", "warnings": {"empty": 1}}


def make_result(scores, **more):
    """Return a result with the signature and the counts of REST."""
    return results.Result("infolm", scores, SIGNATURE, False, COUNTS, **more)


MEANS = {"l1_distance": 1.0, "kl_divergence": 0.125}
FULL = {"infolm": 1.0, "rescaled": 0.5, "scores": [0.5, 1.5], "rescaled_scores": [0.75, 0.25]}
FULL |= {**REST, "baseline": STATS}
LIST_OF_ONE = {"infolm_l1_distance": 1.0, "rescaled_l1_distance": 0.5}
VIEWS = [
    (make_result(ONE), {"return_scores": False}, {"infolm": 1.0, **REST}),
    (make_result(SCORES, several=True), {}, {"infolm": MEANS, "scores": SCORES, **REST}),
    (make_result(ONE, rescaled=RESCALED, baseline=BASELINE), {}, FULL),
    (make_result(ONE, several=True, rescaled=RESCALED), {"details": False}, LIST_OF_ONE),
]


@pytest.mark.parametrize(("result", "arguments", "expected"), VIEWS)
def test_results_have_fixed_keys_in_a_fixed_order(result, arguments, expected):
    view = result.as_dict(**arguments)
    assert view == json.loads(json.dumps(view)) == expected
    assert list(view) == list(expected)
    if not arguments:
        assert dict(result) == result == expected
        assert list(result) == list(expected) and len(result) == len(expected)
    with pytest.raises(KeyError, match="nothing"):
        result["nothing"]


def test_renamed_result_has_the_new_names_everywhere():
    result = make_result(ONE, rescaled=RESCALED, baseline=BASELINE).renamed("x_{}".format)
    assert result.columns().keys() == {"x_l1_distance", "x_l1_distance_rescaled"}
    assert (result["x_l1_distance"], result["baseline"]["mean"]) == (1.0, 2.0)
    several = make_result(SCORES, several=True).renamed("x_{}".format)
    assert several["infolm"] == {"x_l1_distance": 1.0, "x_kl_divergence": 0.125}


@given(st.data(), st.lists(st.floats(0, 100), min_size=2, max_size=8))
def test_joined_results_of_parts_equal_the_result_of_the_whole(data, scores):
    cut = data.draw(st.integers(1, len(scores) - 1))
    kinds = (*results.WARNING_KINDS, "texts", "tokens")
    numbers = st.fixed_dictionaries(dict.fromkeys(kinds, st.integers(0, 30)))

    def result(values, counts):
        column, signature = {"l1": values}, Signature({"idf": False})
        return results.Result("infolm", column, signature, False, counts, True, column)

    parts = [result(values, data.draw(numbers)) for values in (scores[:cut], scores[cut:])]
    whole = results.join_results(parts)
    assert whole.columns() == result(scores, {}).columns()
    assert (whole.several, whole.signature) == (True, "idf:no")
    for kind in kinds:
        combine = max if kind == "few_documents" else sum
        assert whole.counts[kind] == combine(part.counts[kind] for part in parts)


def test_results_with_different_signatures_are_not_joined():
    signatures = (Signature({"temperature": value}) for value in (1, 2))
    parts = [results.Result("infolm", ONE, signature, False) for signature in signatures]
    with pytest.raises(InputError, match="temperature is 2 instead of 1"):
        results.join_results(parts)


FLOATS = st.floats(-1e300, 1e300, allow_subnormal=False)
REPEATED = st.builds(lambda value, count: [value] * count, FLOATS, st.integers(1, 60))


@given(REPEATED | st.lists(FLOATS, min_size=1, max_size=60))
def test_the_mean_is_accurate_and_lies_between_the_extremes(values):
    assert min(values) <= results.mean(values) <= max(values)
    expected = math.fsum(value / len(values) for value in values)
    largest = max(map(abs, values))
    assert math.isclose(results.mean(values), expected, rel_tol=1e-13, abs_tol=1e-13 * largest)


VALUES = st.just(0.0) | st.floats(1e-300, 1e300)  # subnormal numbers have fewer digits
EQUAL_VALUES = st.builds(lambda value, count: [value] * count, VALUES, st.integers(1, 60))


@given(st.lists(EQUAL_VALUES | st.lists(VALUES, min_size=1, max_size=9), min_size=1, max_size=5))
def test_references_are_reduced_to_the_minimum_the_maximum_or_the_mean(groups):
    values, counts = np.array(sum(groups, [])), list(map(len, groups))
    for name, extreme in (("min", min), ("max", max)):
        assert results.reduce_references(values, counts, name).tolist() == [*map(extreme, groups)]
    means = results.reduce_references(values, counts, "mean")
    np.testing.assert_allclose(means, [sum(g) / len(g) for g in groups], rtol=1e-14)
    for mean, group in zip(means, groups, strict=True):
        assert min(group) <= mean <= max(group)  # exact if all are equal


# Warnings


@pytest.mark.parametrize("kind", sorted({*results.WARNING_KINDS} - {"few_documents"}))
def test_each_category_triggers_a_single_warning_with_its_count(kind):
    counts = Counter({"pairs": 4, "texts": 4, "tokens": 4, kind: 2})
    assert results.nonzero_counts(counts) == {kind: 2}
    words = dict.fromkeys(("too_long_pairs", "blank_references"), "2 in total")
    words = {**words, "unknown_tokens": "50%"}.get(kind, "2 of 4")
    with pytest.warns(UserWarning, match=words) as caught:
        results.warn(counts)
    assert len(caught) == 1


COUNTED = [  # counts, pattern of the warning or None, whether the result is reliable
    ({"few_documents": 0}, None, True),  # nothing was counted
    ({"few_documents": 1}, "at least two distinct", True),
    ({"out_of_domain": 2}, None, True),  # up to a tenth may be false positives
    ({"out_of_domain": 3}, "3 of 20", False),
    ({"unknown_tokens": 10}, None, True),
    ({"unknown_tokens": 11}, "11%", False),
    ({"one_token": 2, "empty": 1}, "20", False),
    ({"blank_references": 20}, "20", True),
    ({"indistinguishable": 1}, "1 of 10 pairs", True),
    ({"indistinguishable": 2}, "2 of 10 pairs", False),
    ({"few_weighted": 2}, None, True),
    ({"few_weighted": 3}, "3 of 20", False),
]


@pytest.mark.parametrize(("counts", "word", "reliable"), COUNTED)
def test_counts_determine_warnings_and_reliability(counts, word, reliable, recwarn):
    counts = Counter(pairs=10, texts=20, tokens=100, **counts)
    results.warn(counts)
    assert all(word in str(warning.message) for warning in recwarn)
    assert bool(recwarn) == (word is not None)
    assert (not results.verdict_obstacles(counts)) is reliable
