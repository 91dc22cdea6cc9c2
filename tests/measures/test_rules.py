"""Rules on boxes, circles, spheres and balls against closed forms, and error estimates against the true error."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import sph_harm_y

import mckean as mk

q = mk.quadrature
EXACT = 1e-13  # of integrals of size 1
SPECTRAL = 1e-12  # e^x on 16 nodes
ORDER = (1.6, 2.6)  # a folded lattice for a smooth density; N^{-2} but for logarithms
SOBOL = 2e-3  # e^{x+y} over [0, 1]², of size 3, on 256 points


@pytest.mark.parametrize(("rule", "degree"), [("gauss_legendre", 11), ("clenshaw_curtis", 5)])
def test_a_tensor_rule_is_exact_up_to_its_degree(rule, degree):
    r = q.tensor([0.0, -1.0], [1.0, 3.0], 6, rule=rule)
    for a, b in itertools.product(range(degree + 1), repeat=2):
        exact = (3.0 ** (b + 1) - (-1.0) ** (b + 1)) / (b + 1) / (a + 1)
        assert float(r.integrate(lambda x, a=a, b=b: x[0] ** a * x[1] ** b)) == pytest.approx(exact, rel=EXACT, abs=EXACT)


def test_clenshaw_curtis_has_positive_weights_nested_nodes_and_spectral_error():
    rules = [q.tensor(-1.0, 1.0, n, rule="clenshaw_curtis") for n in (1, 2, 3, 5, 9, 17)]
    assert all(float(r.weights.min()) > 0 for r in rules)
    for coarse, fine in itertools.pairwise(rules[2:]):
        assert np.abs(np.asarray(coarse.points) - np.asarray(fine.points)[::2]).max() == 0
    assert abs(float(rules[-1].integrate(lambda x: jnp.exp(x[0]))) - 2 * math.sinh(1)) < SPECTRAL


def test_the_trapezoid_rule_is_exact_for_waves_shorter_than_its_nodes():
    r = q.tensor(0.0, 2 * math.pi, 8, rule="trapezoid")
    for k in range(8):
        assert float(r.integrate(lambda x, k=k: jnp.cos(k * x[0]))) == pytest.approx(2 * math.pi * (k == 0), abs=1e-12)
    assert float(r.integrate(lambda x: jnp.cos(8 * x[0]))) == pytest.approx(2 * math.pi, rel=EXACT)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_a_sparse_grid_is_exact_up_to_its_total_degree(level):
    r = q.sparse([-1.0] * 3, [1.0] * 3, level)
    assert r.size == {0: 1, 1: 7, 3: 69}[level]  # the nodes of the literature
    for degrees in itertools.product(range(2 * level + 2), repeat=3):
        if sum(degrees) <= 2 * level + 1:
            exact = math.prod(0.0 if k % 2 else 2 / (k + 1) for k in degrees)
            found = r.integrate(lambda x, p=degrees: x[0] ** p[0] * x[1] ** p[1] * x[2] ** p[2])
            assert float(found) == pytest.approx(exact, abs=1e-12)


def test_a_sparse_grid_is_no_measure_of_tokens():
    r = q.sparse([0.0, 0.0], [1.0, 1.0], 3)
    assert float(r.weights.min()) < 0
    with pytest.raises(mk.Refused, match="negative weights"):
        r.measure()


def test_the_sphere_integrates_harmonics_up_to_its_degree_and_not_beyond():
    degree = 7
    r = q.sphere(degree)
    x, w = np.asarray(r.points), np.asarray(r.weights)
    assert np.abs(np.linalg.norm(x, axis=1) - 1).max() < EXACT
    polar, azimuth = np.arccos(x[:, 2]), np.arctan2(x[:, 1], x[:, 0])

    def worst(n):
        exact = math.sqrt(4 * math.pi) * (n == 0)
        return max(abs(w @ sph_harm_y(n, m, polar, azimuth) - exact) for m in range(-n, n + 1))

    assert max(worst(n) for n in range(degree + 1)) < 10 * EXACT
    assert worst(degree + 1) > 1e-3


def test_circle_and_ball_against_closed_forms():
    ring = q.circle(9, radius=2.0)
    assert float(ring.integrate(lambda x: x[0] ** 4 * x[1] ** 2)) == pytest.approx(2**7 * math.pi / 8, rel=EXACT)
    for dim, volume in ((2, math.pi * 4), (3, math.pi * 32 / 3)):
        r = q.ball(6, dim=dim, radius=2.0)
        assert float(r.weights.sum()) == pytest.approx(volume, rel=EXACT)
        # E|x|⁶ = R⁶ d/(d+6)
        assert float(r.measure().integrate(lambda x: jnp.sum(x**2) ** 3)) == pytest.approx(64 * dim / (dim + 6), rel=EXACT)


def test_sobol_points_and_lattices():
    exact = (math.e - 1) ** 2

    def error(rule):
        return abs(float(rule.integrate(lambda x: jnp.exp(x[0] + x[1]))) - exact)

    zero, one = [0.0, 0.0], [1.0, 1.0]
    assert max(error(q.sobol(zero, one, 256, seed=s)) for s in range(8)) < SOBOL
    sizes = (64, 1024)
    few, many = (np.mean([error(q.lattice(zero, one, n, seed=s)) for s in range(16)]) for n in sizes)
    assert ORDER[0] < math.log(few / many) / math.log(sizes[1] / sizes[0]) < ORDER[1]
    # A wave that is not in the dual lattice integrates to 0.
    r = q.lattice(zero, one, 55, periodic=True)
    assert abs(float(r.integrate(lambda x: jnp.cos(2 * jnp.pi * (x[0] - x[1]))))) < EXACT


def test_a_density_is_normalised_and_its_mass_is_told():
    r = q.tensor(0.0, 1.0, 12)
    assert r.mass(lambda x: 3 * x[0] ** 2) == pytest.approx(1.0, rel=EXACT)
    mu = r.measure(lambda x: 5 * x[0] ** 2)
    assert float(mu.mean()[0]) == pytest.approx(3 / 4, rel=EXACT)


def test_an_estimate_is_at_least_the_error_and_says_when_it_may_not_be():
    def box(n):
        return q.tensor(-1.0, 1.0, n, rule="clenshaw_curtis").measure()

    for a in (1.05, 1.5, 3.0):
        for start in (3, 5, 9):
            found = q.nested(lambda mu, a=a: mu.integrate(lambda x: 1 / (a + x[0])), box, start)
            exact = 0.5 * math.log((a + 1) / (a - 1))
            assert found.trusted
            assert abs(float(found.value) - exact) <= found.error
    wave = q.nested(lambda mu: mu.integrate(lambda x: jnp.cos(200 * x[0])), box, 5)
    assert not wave.trusted
    assert "not trusted" in repr(wave)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: q.tensor(0.0, 1.0, 3, rule="simpson"), "must be one of gauss_legendre"),
        (lambda: q.tensor(0.0, np.inf, 3), "finite corners"),
        (lambda: q.sobol(0.0, 1.0, 100), "power of two nodes; found 100. Use nodes=128"),
        (lambda: q.lattice(0.0, 1.0, 20000), "at most 16384"),
        (lambda: q.ball(3, dim=4), "dim=2 and dim=3"),
        (lambda: q.tensor(-1.0, 1.0, 4).measure(lambda x: x[0]), "non-negative"),
        (lambda: q.tensor(-1.0, 1.0, 4).measure(lambda x: x), "one number at a point"),
        (lambda: q.nested(lambda mu: np.nan, lambda n: q.tensor(-1.0, 1.0, n).measure(), 3), "finite on every rule; on 3"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(mk.Refused, match=message):
        call()
