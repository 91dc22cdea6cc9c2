"""Outside its plan a table is not read: the exact sum is taken, and said so; what can't be served is refused or told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field import exact, reverse
from mckean.field.tabulated import guarded
from tests.field.tabulated import cases
from tests.heads import kinds

RTOL = 1e-4
ROUNDING = 1e-13


@pytest.fixture(scope="module")
def setting():
    rho, (x, w) = cases.measure("softmax", 1), cases.clouds(1)
    method = cases.planned(rho, x, w, RTOL)

    @jax.jit
    def run(x):
        heads, mass = rho.points, rho.weights
        out = guarded.field(heads, mass, x, w, method)
        return *out, guarded.pullback(heads, mass, x, w, x, method), guarded.costate_image(heads, mass, x, w, x, method)

    return rho, x, w, run


@jax.jit
def _exactly(rho, x, w):
    heads, mass = rho.points, rho.weights
    return (
        exact.field(heads, mass, x, w, cases.EXACT),
        reverse.pullback(heads, mass, x, w, x, cases.EXACT),
        reverse.costate_image(heads, mass, x, w, x, cases.EXACT),
    )


def test_a_cloud_that_outgrew_its_plan_is_evaluated_exactly(setting):
    rho, x, w, run = setting
    wide = x.at[1].multiply(3.0)
    v, note, pulled, image = run(wide)
    assert note.tabulated.tolist() == [True, False]
    assert float(note.bound[1]) == 0.0 < float(note.bound[0])
    velocity, pullback, costate = _exactly(rho, wide, w)
    assert cases.distance(v[1], velocity[1]) <= ROUNDING
    assert cases.distance(pulled[0][1], pullback[0][1]) <= ROUNDING
    assert cases.distance(image[1], costate[1]) <= ROUNDING
    assert ROUNDING < cases.distance(v[0], velocity[0]) <= RTOL
    assert cases.distance(pulled[1], pullback[1]) <= 100 * RTOL  # a sum over a cloud by the table and one exact


def test_a_cloud_far_from_the_origin_is_evaluated_exactly(setting):
    """The exponents' sum, not their spread, would leave the number format."""
    _, x, _, run = setting
    v, note, _, _ = run(x.at[0].add(1e3))
    assert note.tabulated.tolist() == [False, True]
    assert np.all(np.isfinite(v))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_token_that_left_the_numbers_is_seen(setting, bad):
    _, x, _, run = setting
    v, note, _, _ = run(x.at[0, 3].set(bad))
    assert note.tabulated.tolist() == [False, True]
    assert not np.all(np.isfinite(v[0]))
    assert np.all(np.isfinite(v[1]))


def test_a_token_of_mass_zero_far_outside_leaves_the_others_costate_finite(setting):
    """Its exponent lies 700 above that of all tokens with mass."""
    heads = mk.Softmax(*(jnp.full((1, 1, 1), c) for c in (3.0, 1.0, 1.0)))
    rho = mk.Empirical(heads)
    x = jnp.linspace(59.9, 60.1, 48)[None, :, None].at[0, -1].set(63.9)
    w = jnp.full((1, 48), 1 / 47).at[0, -1].set(0.0)
    method = cases.planned(rho, x, w, 1e-6)
    dual = jnp.cos(jnp.arange(48.0))[None, :, None]
    image = jax.jit(lambda x: guarded.costate_image(heads, rho.weights, x, w, dual, method))(x)
    expected = jax.jit(lambda x: reverse.costate_image(heads, rho.weights, x, w, dual, cases.EXACT))(x)
    assert np.all(np.isfinite(image))
    assert cases.distance(image[0, :-1], expected[0, :-1]) <= 1e-4


def test_tolerances_that_the_format_can_not_give_are_refused():
    with pytest.raises(mk.Refused, match="at least 1e-13, what float64 can give; found 1e-14"):
        mk.Tabulated(1e-14)
    rho, mu = cases.measure("softmax", 1), mk.Empirical(*cases.clouds(1))
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (rho, mu))
    with pytest.raises(mk.Refused, match="at least 1e-05 in float32; found 1e-07"):
        mk.velocity(*single, method=mk.Tabulated(1e-7))
    for options in ({"rtol": 0.0}, {"rtol": 2.0}, {"reach": -1.0}, {"reach": np.inf}):
        with pytest.raises(mk.Refused, match="must be"):
            mk.Tabulated(**options)


def test_kinds_without_a_table_are_refused():
    mu = mk.Empirical(*cases.clouds(2))
    for heads, message in (
        (kinds.perceptron(), "softmax heads, alone or beside hidden units; found Perceptron. Use mk.Exact"),
        (kinds.MeanAttraction(jnp.ones(2)), "found MeanAttraction"),
        (mk.Block(kinds.softmax(), kinds.softmax()), "found Block"),
    ):
        with pytest.raises(mk.Refused, match=message):
            mk.velocity(mk.Empirical(heads), mu, method=mk.Tabulated())
    large = mk.Empirical(kinds.softmax(dim=5, key_dim=4))
    with pytest.raises(mk.Refused, match="d = 5 and k = 4"):
        mk.velocity(large, mk.Empirical(*cases.clouds(5)), method=mk.Tabulated())


def test_exponents_beyond_any_table_are_evaluated_exactly_and_told():
    heads = mk.Softmax(*(jnp.full((1, 1, 1), c) for c in (1e9, 1.0, 1.0)))
    mu = mk.Empirical(np.linspace(-1, 1, 32)[:, None])
    found = mk.certified_velocity(mk.Empirical(heads), mu, method=mk.Tabulated())
    assert (found.method, found.bound, found.plan) == ("exact", 0.0, None)
    assert "no table reaches 1e-06 at " in found.reason
    assert cases.distance(found.velocity, mk.velocity(mk.Empirical(heads), mu, method=cases.EXACT)) <= ROUNDING


def test_under_jit_a_reach_is_asked_for_and_serves(setting):
    rho, x, w, _ = setting
    mu = mk.Empirical(x[0], w[0])
    with pytest.raises(mk.Refused, match="give the largest"):
        jax.jit(lambda mu: mk.velocity(rho, mu, method=mk.Tabulated(RTOL)))(mu)
    by_table = jax.jit(lambda mu: mk.velocity(rho, mu, method=mk.Tabulated(RTOL, reach=2.0)))
    for scale, tolerance in ((1.0, RTOL), (5.0, ROUNDING)):  # the second lies beyond the reach: exact
        mu = mk.Empirical(scale * x[0], w[0])
        error = cases.distance(by_table(mu), mk.velocity(rho, mu, method=cases.EXACT))
        assert error <= tolerance
    with pytest.raises(mk.Refused, match="unknown inside jax"):
        jax.jit(lambda mu: mk.certified_velocity(rho, mu).velocity)(mu)


@pytest.mark.parametrize(("difference", "method"), [(1e-2, "tabulated"), (1e-9, "exact")])
def test_heads_that_cancel_are_held_to_the_same_tolerance(difference, method):
    """Pairs of heads of opposite values and a little more: what is asked is relative to max|V|, not to the heads' own size."""
    heads, mu = kinds.softmax(2, 1, 1), mk.Empirical(*(part[0] for part in cases.clouds(1, away=0.0)))
    pair = jax.tree.map(lambda leaf: jnp.repeat(leaf[:1], 2, axis=0), heads)
    pair = mk.Softmax(pair.query, pair.key, pair.value * jnp.asarray([1.0, -1.0 + difference])[:, None, None])
    rho = mk.Empirical(pair)
    found = mk.certified_velocity(rho, mu, method=mk.Tabulated(1e-6))
    assert found.method == method, found.reason
    assert found.bound <= 1e-6
    # The exact sum itself cancels to 1e-16 over the difference.
    expected = mk.velocity(rho, mu, method=cases.EXACT)
    assert cases.distance(found.velocity, expected) <= 1e-6
