"""What holds exactly for the sum holds for the table to rounding, far below the table's own error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mckean as mk
from mckean.field.tabulated import cloud
from tests.field.tabulated import cases
from tests.heads import kinds

# The table is planned to 1e-2; these are roundings of tables of a few hundred nodes, amplified by κ_u κ_y of order ten to a hundred.
ROUNDING = 1e-11
COARSE = 1e-2


@pytest.fixture(scope="module", params=["shared", "grid", "own"])
def setting(request):
    """One cloud, a coarse plan, and one compiled function: the field, its transposes at a dual, and the same by reverse mode twice."""
    d = {"shared": 2, "grid": 1, "own": 4}[request.param]
    rho, (x, w) = cases.measure("softmax", d), cases.clouds(d, count=1, seed=5)
    if request.param == "own":
        rho = mk.Empirical(kinds.softmax(cases.HEADS, d, 1), rho.weights)
    plan = (cases.gridded(rho, x, COARSE) if request.param == "grid" else cases.planned(rho, x, w, COARSE)).plan
    x, w = x[0].at[-1].set(x[0, 0]), w[0]
    rng = np.random.default_rng(2)
    move, dual = jnp.asarray(rng.normal(size=(2, *x.shape)))

    @jax.jit
    def run(rho, x, w, dual):
        heads, mass = rho.points, rho.weights
        v, pull = jax.vjp(lambda y: cloud.field(heads, mass, y, w, y, plan), x)
        (jv,) = jax.vjp(lambda lam: pull(lam)[0], dual)[1](move)  # reverse over reverse
        by_token, by_head, pairings = cloud.pullback(heads, mass, x, w, dual, plan)
        return {
            "v": v,
            "jv": jv,
            "vjp": pull(dual)[0],
            "pullback": by_token,
            "by head": by_head,
            "pairings": pairings,
            "pairing": cloud.pairing(heads, x, w, dual, plan),
            "image": cloud.image(heads, mass, x, w, dual, plan),
        }

    return rho, x, w, dual, move, run, run(rho, x, w, dual)


def test_the_pullback_is_the_transpose_of_the_field(setting):
    rho, x, w, dual, move, run, out = setting
    assert cases.distance(out["pullback"], out["vjp"]) <= ROUNDING
    left, right = jnp.vdot(dual, out["jv"]), jnp.vdot(out["pullback"], move)
    assert abs(float(left - right)) <= ROUNDING * float(jnp.linalg.norm(dual) * jnp.linalg.norm(out["jv"]))
    assert cases.distance(out["pairings"], out["pairing"]) <= ROUNDING
    assert abs(float(jnp.vdot(out["v"], dual) - rho.weights @ out["pairing"])) <= ROUNDING * float(
        jnp.max(jnp.abs(out["pairing"]))
    )
    # pullback(w p) = w · image(p), and the image is finite where w = 0.
    image = run(rho, x, w, dual)["image"]
    assert cases.distance(w[:, None] * image, run(rho, x, w, w[:, None] * dual)["pullback"]) <= ROUNDING
    assert np.all(np.isfinite(image))
    assert float(jnp.min(jnp.max(jnp.abs(image[-4:]), axis=1))) > 1e-3
    assert np.array_equal(run(rho, x, w, w[:, None] * dual)["pullback"][-4:], np.zeros_like(x[-4:]))


def test_scaling_the_masses_of_heads_scales_the_field(setting):
    rho, x, w, dual, _, run, out = setting
    again = run(rho.with_weights(3 * rho.weights), x, w, dual)
    assert cases.distance(again["v"], 3 * out["v"]) <= ROUNDING
    assert cases.distance(again["pullback"], 3 * out["pullback"]) <= ROUNDING
    assert cases.distance(again["pairings"], out["pairings"]) <= ROUNDING
    assert cases.distance(run(rho, x, 2 * w, dual)["v"], out["v"]) <= ROUNDING


def test_the_gauge_of_query_and_key(setting):
    """(Q, K) → (GQ, G⁻ᵀK), hence Q(∂/∂Q)ᵀ = (∂/∂K)Kᵀ for each head."""
    rho, x, w, dual, _, run, out = setting
    heads, by_head = rho.points, out["by head"]
    left = jnp.einsum("hka,hla->hkl", heads.query, by_head.query)
    right = jnp.einsum("hka,hla->hkl", by_head.key, heads.key)
    assert cases.distance(left, right) <= (ROUNDING if heads.query.shape[2] <= 3 else 1.0)
    g = np.diag(np.linspace(0.5, 2.0, heads.query.shape[1]))  # powers of the scale of each key axis: the same table
    new = mk.Softmax(g @ heads.query, np.linalg.inv(g) @ heads.key, heads.value)
    assert cases.distance(run(mk.Empirical(new, rho.weights), x, w, dual)["v"], out["v"]) <= ROUNDING


def test_splitting_and_permuting_change_nothing(setting):
    rho, x, w, dual, _, run, out = setting
    # The last token has mass 0 and lies on the first: half of the first's mass goes there.
    v = run(rho, x, w.at[jnp.asarray([0, -1])].set(0.5 * w[0]), dual)["v"]
    assert cases.distance(v, out["v"]) <= ROUNDING
    order = np.random.default_rng(0).permutation(x.shape[0])
    moved = run(rho, x[order], w[order], dual[order])
    assert (
        cases.distance([moved[k] for k in ("v", "pullback", "image")], [out[k][order] for k in ("v", "pullback", "image")])
        <= ROUNDING
    )
    heads = jax.tree.map(lambda leaf: leaf[jnp.asarray([2, 1, 0, 3])], rho)
    assert cases.distance(run(heads, x, w, dual)["v"], out["v"]) <= ROUNDING
    twins = jax.tree.map(lambda leaf: leaf.at[3].set(leaf[0]), rho.points)
    one = run(mk.Empirical(twins, np.asarray([0.4, 0.3, 0.3, 0.0])), x, w, dual)
    two = run(mk.Empirical(twins, np.asarray([0.1, 0.3, 0.3, 0.3])), x, w, dual)
    assert cases.distance(two["v"], one["v"]) <= ROUNDING
    assert cases.distance(two["pairings"], one["pairings"]) <= ROUNDING
