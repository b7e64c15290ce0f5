"""The information measures: properties, closed forms, and a literal 50-digit reference."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from mpmath import mp, mpf

from infolm_metric import InputError
from infolm_metric.infolm import measures
from infolm_metric.infolm.measures import MEASURES, SYMMETRIZATIONS, compare, resolve
from tests import reference_measures

LARGEST = torch.finfo(torch.float64).max


def check_parameters(measure, alpha=None, beta=None):
    return resolve(measure).check(alpha, beta)


def upper_bound(measure, symmetrize="jeffreys", alpha=None, beta=None):
    return resolve(measure).bound(symmetrize, check_parameters(measure, alpha, beta))


PARAMETERS = {  # a typical choice for each measure with parameters
    "alpha_divergence": {"alpha": 0.5},
    "renyi_divergence": {"alpha": 2.0},
    "beta_divergence": {"beta": 0.7},
    "ab_divergence": {"alpha": 0.3, "beta": 1.1},
}
GRID = {
    "alpha_divergence": [
        {"alpha": a} for a in (-3, -0.5, -1e-6, 1e-6, 0.5, 1 - 1e-6, 1 + 1e-6, 1.00001, 1.5, 4, 30)
    ],
    "renyi_divergence": [{"alpha": a} for a in (1e-6, 0.5, 1 - 1e-6, 1 + 1e-6, 1.00001, 4, 30)],
    "beta_divergence": [{"beta": b} for b in (-3, -1 - 1e-6, -1 + 1e-6, -0.5, -1e-6, 1e-6, 1, 5)],
    "ab_divergence": [
        {"alpha": a, "beta": b}
        for a, b in (
            *((1e-6, 1e-6), (-1e-6, -1e-6), (1e-6, -2e-6), (1e-3, -1e-3 + 1e-6), (1e-6, 1 - 1e-6)),
            *((1, -1e-6), (-1e-6, 1), (0.5, -0.5 + 1e-6), (0.5, -0.5 - 1e-6), (2, -2.000001)),
            *((0.5, 0.5), (0.25, 0.5), (2, -1), (-1, 0.5), (3, 4), (-2, -1)),
        )
    ],
}
CASES = [
    (name, symmetrize, parameters)
    for name, measure in MEASURES.items()
    for symmetrize in (("none",) if measure.symmetric else ("none", "jensen"))
    for parameters in GRID.get(name, [{}])
]


def logs(*probabilities: float) -> torch.Tensor:
    """Return the logarithms of `probabilities`, float64, [vocab]."""
    return torch.tensor(probabilities, dtype=torch.float64).log()


def noise(*shape: int, scale: float = 1.0, seed: int = 0) -> torch.Tensor:
    """Draw normal noise as logits of random distributions, float64 [*shape]."""
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)


def logits(reach: float) -> st.SearchStrategy[list[torch.Tensor]]:
    """Draw two rows of logits within +-reach for a vocabulary of 2 to 8 entries."""
    entries = st.floats(-reach, reach, allow_subnormal=False)
    shapes = st.tuples(st.just(2), st.integers(2, 8))
    rows = arrays(np.float64, shapes, elements=entries, fill=st.nothing())
    return rows.map(lambda pair: list(torch.from_numpy(pair)))


def literal(
    name: str, x: torch.Tensor, y: torch.Tensor, symmetrize: str, parameters: dict[str, float]
) -> mpf:
    """Compute a measure by its published formula in 50 digits. x and y are logits [vocab]."""
    with mp.workdps(50):
        rows = (np.array([mpf(entry) for entry in row.tolist()]) for row in (x, y))
        log_p, log_q = (row - reference_measures.log_sum(row) for row in rows)
        exact = {key: mpf(value) for key, value in parameters.items()}
        return reference_measures.reference_measure(name, log_p, log_q, symmetrize, **exact)


# Values


UNITS = torch.eye(24, dtype=torch.float64)
FAMILIES = {
    "random": (noise(24, seed=1), noise(24, seed=2)),
    "close": (noise(24, seed=3), noise(24, seed=3) + noise(24, scale=1e-4, seed=4)),
    "peaked": (noise(24, seed=5) + 15.0 * UNITS[3], noise(24, seed=6) + 15.0 * UNITS[9]),
    "sparse": (
        noise(24, seed=7).index_fill(0, torch.arange(0, 10), -600.0),
        noise(24, seed=8).index_fill(0, torch.arange(12, 20), -600.0),
    ),
    "wide": (noise(24, scale=2e3, seed=9), noise(24, scale=2e3, seed=10)),
    "wide and close": (noise(24, scale=2e3, seed=11), noise(24, scale=2e3, seed=11) + noise(24)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_values_agree_with_the_published_formulas_in_50_digits(family):
    x, y = FAMILIES[family]
    for name, symmetrize, parameters in CASES:
        value = compare(name, x, y, symmetrize=symmetrize, **parameters).item()
        exact = min(literal(name, x, y, symmetrize, parameters), mpf(LARGEST))
        error = abs(mpf(value) - exact) / max(abs(exact), mpf("1e-12"))
        assert error < 1e-10, (name, symmetrize, parameters, value, exact)


AWAY = st.floats(-4.0, 4.0).filter(lambda x: min(abs(x), abs(x - 1), abs(x + 1)) > 1e-3)


@given(logits(30.0), st.sampled_from(CASES), AWAY, AWAY)
@settings(max_examples=120)
def test_values_agree_with_the_published_formulas_for_any_pair(pair, case, alpha, beta):
    """Use parameters from the grid, which includes all limits, and random parameters."""
    name, symmetrize, grid_parameters = case
    values = {"alpha": abs(alpha) if name == "renyi_divergence" else alpha, "beta": beta}
    any_values = {parameter.name: values[parameter.name] for parameter in MEASURES[name].parameters}
    assume(name != "ab_divergence" or abs(alpha + beta) > 1e-3)
    for parameters in (grid_parameters, any_values):
        value = compare(name, *pair, symmetrize=symmetrize, **parameters).item()
        exact = min(literal(name, *pair, symmetrize, parameters), mpf(LARGEST))
        # The power sum of alpha overflows before it is divided by a(a - 1), at most 870 here.
        saturated = value == LARGEST and exact > LARGEST / 1000
        assert saturated or abs(mpf(value) - exact) <= mpf("1e-10") * max(exact, 1)


# Limits and relations between the measures


def test_formulas_are_continuous_through_their_singular_parameters():
    log_p, log_q = (row.log_softmax(-1) for row in FAMILIES["random"])
    kl = measures.kl_divergence(log_p, log_q).item()
    reversed_kl = measures.kl_divergence(log_q, log_p).item()
    assert measures.alpha_divergence(log_p, log_q, 1.0).item() == pytest.approx(kl, rel=1e-12)
    assert measures.alpha_divergence(log_p, log_q, 0.0).item() == pytest.approx(reversed_kl)
    assert measures.renyi_divergence(log_p, log_q, 1.0).item() == pytest.approx(kl, rel=1e-12)
    assert measures.beta_divergence(log_p, log_q, 0.0).item() == pytest.approx(kl, rel=1e-12)
    # All three singularities coincide: half the variance of log(p/q) over the vocabulary.
    variance = (log_p - log_q).var(unbiased=False).item()
    value = measures.ab_divergence(log_p, log_q, 0.0, 0.0).item()
    assert value == pytest.approx(variance / 2, rel=1e-12)


# Properties


@pytest.mark.parametrize("name", MEASURES)
def test_identical_inputs_score_exactly_zero(name):
    rows = torch.stack([noise(501, scale=scale, seed=1) for scale in (1e-3, 1.0, 10.0, 3e3, 1e5)])
    for parameters in GRID.get(name, [{}]):
        for symmetrize in SYMMETRIZATIONS:
            for x in (rows, rows.float(), rows[:, :2]):
                value = compare(name, x, x.clone(), symmetrize=symmetrize, **parameters)
                assert value.tolist() == [0.0] * 5, (symmetrize, parameters)


@pytest.mark.parametrize("name", MEASURES)
@given(pair=logits(20.0))
@settings(max_examples=10)
def test_symmetrized_measures_are_bitwise_symmetric(name, pair):
    def both_ways(symmetrize):
        options = {"symmetrize": symmetrize, **PARAMETERS.get(name, {})}
        return [compare(name, *rows, **options).item() for rows in (pair, pair[::-1])]

    values = {symmetrize: both_ways(symmetrize) for symmetrize in SYMMETRIZATIONS}
    assert len({*values["jeffreys"]}) == len({*values["jensen"]}) == 1
    assert values["none"] == values["reverse"][::-1]
    assert values["jeffreys"][0] == pytest.approx(math.fsum(values["none"]) / 2, rel=1e-12)
    assert len({*sum(values.values(), [])}) == 1 or not MEASURES[name].symmetric


# Bounds and saturation


BOUNDS = [
    ("l1", "jeffreys", {}, 2.0),
    ("l2", "jensen", {}, math.sqrt(2)),
    ("linf", "none", {}, 1.0),
    ("fisher_rao", "jensen", {}, 1.0),
    ("kl", "jensen", {}, math.log(2)),
    ("alpha", "none", {"alpha": 0.25}, 16 / 3),
    ("alpha", "jeffreys", {"alpha": 0.5}, 4.0),
    ("alpha", "jensen", {"alpha": 0.5}, (2**-0.5 - 1) / -0.25),
    ("alpha", "jensen", {"alpha": 3}, 0.5),
    ("alpha", "jensen", {"alpha": 1 + 1e-9}, math.log(2)),
    ("renyi", "jensen", {"alpha": 0.5}, math.log(2)),
    ("ab", "jensen", {"alpha": 0.5, "beta": 0.5}, 2 * math.log(2)),
    ("ab", "jensen", {"alpha": 2, "beta": -1}, math.log(2) / 2),
]


@pytest.mark.parametrize(("name", "symmetrize", "parameters", "bound"), BOUNDS)
def test_disjoint_distributions_reach_the_upper_bound(name, symmetrize, parameters, bound):
    p, q = logs(1.0, 0.0), logs(0.0, 1.0)
    assert upper_bound(name, symmetrize=symmetrize, **parameters) == pytest.approx(bound, rel=1e-7)
    value = compare(name, p, q, symmetrize=symmetrize, **parameters).item()
    assert value == pytest.approx(bound, rel=1e-7)


GROWING = [
    *(("kl", {}), ("alpha", {"alpha": 1.5}), ("alpha", {"alpha": -0.5})),
    *(("renyi", {"alpha": 0.5}), ("renyi", {"alpha": 2})),
    *(("beta", {"beta": 1}), ("beta", {"beta": -0.5}), ("ab", {"alpha": 0.5, "beta": 0.5})),
    *(("ab", {"alpha": -0.5, "beta": 1.5}), ("ab", {"alpha": 2, "beta": 1})),
]


@pytest.mark.parametrize("symmetrize", SYMMETRIZATIONS)
@pytest.mark.parametrize(("name", "parameters"), GROWING)
def test_only_unbounded_measures_have_an_infinite_upper_bound(name, symmetrize, parameters):
    # Nearly disjoint supports: a peak and a flat distribution, farther apart in every step.
    values = []
    for size in (10, 1000, 100_000):
        p = torch.full((1, size + 1), -float(size), dtype=torch.float64)
        q = torch.zeros(1, size + 1, dtype=torch.float64)
        p[0, 0], q[0, 0] = 0.0, -float(size)
        values.append(compare(name, p, q, symmetrize=symmetrize, **parameters).item())
    bound = upper_bound(name, symmetrize=symmetrize, **parameters)
    if math.isinf(bound):
        assert values[0] + 0.3 < values[1] and values[1] + 0.3 < values[2]
    else:
        assert symmetrize == "jensen" and max(values) <= bound


def test_fisher_rao_never_exceeds_one():
    # 4/pi arcsin(sqrt(1/2)) is 1 + 2e-16 in float64.
    disjoint = torch.tensor([0.0, measures.LOWEST_LOG])
    assert 1 - 1e-12 < measures.fisher_rao_distance(disjoint, disjoint.flip(0)) <= 1


def test_values_beyond_float64_saturate_at_its_maximum():
    p, q, near = (torch.tensor(row) for row in ([0.0, -1e4], [-1e4, 0.0], [0.0, 0.0]))
    for symmetrize in ("none", "reverse", "jeffreys"):
        assert compare("alpha", p, q, symmetrize=symmetrize, alpha=3).item() == LARGEST
    assert measures.alpha_divergence(p, q, 3).item() == LARGEST
    # A mean is saturated if either direction is.
    sides = [compare("alpha", near, p, symmetrize=s, alpha=3) for s in ("reverse", "jeffreys")]
    assert sides[0] < 1.0 and sides[1] == LARGEST


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e300])
def test_widely_spread_logits_give_finite_values(scale):
    x, y = noise(6, 40, scale=scale, seed=1), noise(6, 40, scale=scale, seed=2)
    for name, symmetrize, parameters in CASES:
        value = compare(name, x, y, symmetrize=symmetrize, **parameters)
        assert value.isfinite().all(), (name, symmetrize, parameters)
        assert (value > 0.0).all(), (name, symmetrize, parameters)


def test_zero_probabilities_are_treated_as_very_small():
    p, q = logs(0.5, 0.5, 0.0), logs(1.0, 0.0, 0.0)
    assert compare("l1", p, q).item() == pytest.approx(1.0)
    assert compare("fisher_rao", p, q).item() == pytest.approx(0.5)
    assert compare("kl", p, q, symmetrize="jensen").item() == pytest.approx(0.21576155433883565)
    assert compare("kl", p, q, symmetrize="reverse").item() == pytest.approx(math.log(2))
    assert 1e40 < compare("kl", p, q, symmetrize="none").item() < LARGEST
    assert compare("renyi", p, q, alpha=0.5).item() == pytest.approx(math.log(2))
    assert compare("ab", p, p, alpha=0.5, beta=-2).item() == 0.0


# Shares of the vocabulary's entries


@pytest.mark.parametrize("symmetrize", SYMMETRIZATIONS)
@pytest.mark.parametrize("name", MEASURES)
def test_shares_are_largest_for_differing_entries_and_add_up(name, symmetrize):
    options = {"symmetrize": symmetrize, **PARAMETERS.get(name, {})}
    p, q = logs(0.5, 0.3, 0.1, 0.1), logs(0.5, 0.1, 0.3, 0.1)
    parts = measures.shares(name, p, q, **options).tolist()
    if symmetrize in ("jeffreys", "jensen"):
        assert parts[1] == pytest.approx(parts[2], rel=1e-12)
    assert min(parts[1:3]) > 2 * max(parts[0], parts[3])
    assert measures.shares(name, p, p, **options).tolist() == [0.0] * 4
    pairs = FAMILIES["random"], FAMILIES["close"]
    together = measures.shares(name, *map(torch.stack, zip(*pairs, strict=True)), **options)
    for (x, y), row in zip(pairs, together, strict=True):
        parts = measures.shares(name, x, y, **options)
        assert parts.min() >= 0
        torch.testing.assert_close(row, parts, rtol=1e-9, atol=1e-12)
        value = compare(name, x, y, **options)
        torch.testing.assert_close(parts.sum(), value, rtol=1e-9, atol=1e-12)


# Shapes


@pytest.mark.parametrize("name", MEASURES)
def test_leading_axes_are_preserved_and_broadcast(name):
    parameters = PARAMETERS.get(name, {})
    x, y = noise(2, 1, 7, seed=1), noise(3, 7, seed=2)
    value = compare(name, x, y, **parameters)
    alone = [compare(name, row, other, **parameters) for row in x[:, 0] for other in y]
    torch.testing.assert_close(value, torch.stack(alone).view(2, 3), rtol=1e-12, atol=0)
    assert compare(name, x[0, 0], y[0], **parameters).shape == ()
    assert compare(name, x[:0, 0], y[:0], **parameters).shape == (0,)
    assert getattr(measures, name)(x, y, **parameters).shape == (2, 3)


def test_scores_of_a_pair_do_not_depend_on_the_batch():
    # Two rows per step, so that the last of five rows is alone.
    vocab = measures.ENTRIES_PER_STEP["cpu"] // 2
    x, y = noise(5, vocab, seed=1).float(), noise(5, vocab, seed=2).float()
    for name in ("fisher_rao", "ab"):
        parameters = PARAMETERS.get(measures.resolve(name).name, {})
        together = compare(name, x, y, **parameters)
        rows = zip(x[:, None], y[:, None], strict=True)
        alone = torch.cat([compare(name, *row, **parameters) for row in rows])
        torch.testing.assert_close(together, alone, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_results_are_float64_and_inputs_are_not_modified(dtype):
    x, y = noise(4, 9, seed=1).to(dtype), noise(4, 9, seed=2).to(dtype)
    before = x.clone(), y.clone()
    for name in MEASURES:
        parameters = PARAMETERS.get(name, {})
        value = compare(name, x, y, **parameters)
        assert value.dtype == torch.float64
        expected = compare(name, x.double(), y.double(), **parameters)
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=0)
        assert getattr(measures, name)(x, y, **parameters).dtype == torch.float64
    assert torch.equal(x, before[0]) and torch.equal(y, before[1])


def test_sums_over_large_vocabularies_are_accurate():
    vocab = 250_000
    p = torch.full((1, vocab), -math.log(vocab), dtype=torch.float64)
    q = torch.arange(vocab, dtype=torch.float64).remainder(2).mul(math.log(3)).unsqueeze(0)
    # q is alternately 1/2 and 3/2 times p.
    assert compare("kl", p, q, symmetrize="none").item() == pytest.approx(-math.log(0.75) / 2)
    assert compare("l1", p, q).item() == pytest.approx(0.5)
    assert compare("alpha", p, q, symmetrize="none", alpha=2).item() == pytest.approx(1 / 6)


# Names and arguments


def test_the_table_describes_every_measure():
    assert list(MEASURES) == list(reference_measures.FORMULAS) == list(measures.FORMULAS)
    for name, measure in MEASURES.items():
        assert measure.name == name and callable(getattr(measures, name))
        assert measure.expression and measure.description
        assert {parameter.name for parameter in measure.parameters} == set(PARAMETERS.get(name, {}))
        assert measure.symmetric == name.endswith("_distance")
        assert measures.resolve(measure) is measures.resolve(name) is measure


# Invalid arguments


X, Y = FAMILIES["random"]
ZEROS = torch.zeros(2, 5)
NON_NUMBERS = [None, True, math.nan, math.inf, 10**400, "0.5", 0.5j, [0.5]]
NON_NUMBERS += [torch.tensor([0.5]), np.array([0.5])]
OUTSIDE = [  # measure, parameters, pattern of the stated requirement
    ("alpha", {"alpha": 0}, "alpha .any number except 0 and 1.*got 0"),
    ("alpha", {"alpha": 1}, "alpha .any number except 0 and 1.*got 1"),
    *(
        ("renyi", {"alpha": w}, "alpha .any number > 0 except 1")
        for w in (0, -0.5, 1, *NON_NUMBERS)
    ),
    ("beta", {"beta": 0}, "beta .any number except 0 and -1.*got 0"),
    ("beta", {"beta": -1}, "beta .any number except 0 and -1.*got -1"),
    ("beta", {}, "beta .* got None"),
    ("ab", {"beta": 1}, "alpha .any number except 0"),
    ("ab", {"alpha": 1, "beta": 0}, "beta .* got 0"),
    ("ab", {"alpha": 0.5, "beta": -0.5}, "alpha \\+ beta other than 0, got alpha=0.5"),
    ("alpha", {"alpha": 1.001e50}, "alpha .any number .*at most 1e.50"),
]


@pytest.mark.parametrize(("name", "parameters", "word"), OUTSIDE, ids=repr)
def test_parameters_outside_their_domain_are_rejected_by_name(name, parameters, word):
    functions = [partial(function, log_p=X, log_q=Y) for function in (compare, measures.shares)]
    for check in (check_parameters, *functions):
        with pytest.raises(InputError, match=f"^{name}_divergence requires {word}"):
            check(measure=name, **parameters)


NAMES = {"fisher": "'fisher_rao_distance'", "KL": "'kl_divergence'", "gamma": "'beta_divergence'"}
INVALID = [  # function, arguments, options, pattern of the message
    *((measures.resolve, (name,), {}, f"Did you mean {hint}") for name, hint in NAMES.items()),
    *((measures.resolve, (name,), {}, "Known: ") for name in ("xyzzy", None, ["kl"], "")),
    (compare, ("l1", X, Y), {"symmetrize": "jeffrey"}, "unknown symmetrize .*'jeffreys'.*'none'"),
    (compare, ("kl", ZEROS, ZEROS[:, :4]), {}, r"last axis.*\[2, 5\] and \[2, 4\]"),
    (compare, ("kl", ZEROS, torch.zeros(3, 5)), {}, r"broadcast, got shapes \[2, 5\]"),
    (compare, ("kl", torch.zeros(()), torch.zeros(())), {}, "last axis"),
    (compare, ("kl", torch.zeros(2, 0), torch.zeros(2, 0)), {}, "last axis"),
    (measures.shares, ("kl", X, Y[:5]), {}, "last axis"),
    (compare, ("kl", torch.zeros(2), np.zeros(2)), {}, "log_q must be a torch.Tensor"),
    (compare, ("kl", X, Y.where(Y.max() > Y, math.nan)), {}, "log_q must contain .*NaN"),
    (measures.shares, ("kl", X, Y.where(Y.max() > Y, math.inf)), {}, "log_q must contain .*NaN"),
    (compare, ("kl", torch.full((1, 24), -math.inf), X), {}, "log_p must contain .*NaN"),
    *((measures.parameter_grid, ("renyi", [2, w], [None]), {}, "alpha") for w in (None, "2")),
    (measures.plan, ("ab",), {"beta": 1}, "alpha .*got None"),
    (measures.plan, ("ab",), {"alpha": 1}, "beta .*got None"),
]


@pytest.mark.parametrize(("function", "arguments", "options", "word"), INVALID)
def test_invalid_names_and_tensors_are_rejected(function, arguments, options, word):
    with pytest.raises(InputError, match=word):
        function(*arguments, **options)


def test_suggested_parameters_are_accepted_by_every_measure():
    for name, measure in measures.MEASURES.items():
        for number in (0.5, 1e50):
            parameters = {parameter.name: number for parameter in measure.parameters}
            assert check_parameters(name, **parameters) == parameters


def test_a_grid_omits_parameters_outside_the_domain():
    grid = measures.parameter_grid
    assert grid("alpha", [0, 0.5, 1, 2], [7, 8]) == [(0.5, None), (2.0, None)]
    assert grid("beta", [None], [-1, 0, 1]) == [(None, 1.0)]
    assert grid("ab", [-1, 1], [1, 2]) == [(-1.0, 2.0), (1.0, 1.0), (1.0, 2.0)]
    assert grid("kl", [1, 2], [3]) == [(None, None)]
    assert grid("renyi", [2, 2.0, np.float64(2)], [None]) == [(2.0, None)]
