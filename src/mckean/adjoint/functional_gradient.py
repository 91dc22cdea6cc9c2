"""The functional gradient: the first variation of the risk, at any head."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._shapes import Array
from mckean.adjoint import continuous, discrete, terminal
from mckean.adjoint.particles import as_density
from mckean.errors import Refused
from mckean.field.dispatch import pairing
from mckean.field.sharding import place_heads
from mckean.heads.base import Head
from mckean.heads.layered import Layered
from mckean.measures.empirical import Empirical
from mckean.objective.evaluation import square_norm
from mckean.objective.problem import Problem
from mckean.tokens.integrate import integrate
from mckean.tokens.prompts import over_prompts


class FunctionalGradient(eqx.Module):
    r"""δL_λ/δρ at ρ, a function of θ. Call it on a batch of M heads, whether or not ρ has seen them; they may be of another kind.

    Attributes:
        risk: L(ρ).
        particles: ∇_θ δL_λ/δρ at the atoms of ρ (like rho.points).
        values: δL/δρ (data term) at the atoms of ρ (like rho.weights).
        costate: p along the tokens (n, L+1, N, d), for each prompt alone, before the 1/n; finite at tokens of weight 0.
        times: the depth grid (L+1,).
        cloud_points, cloud_adjoints: the quadrature of the depth integral (n, L, stages, N, d); the adjoints contain step length
            and token mass, so that δL/δρ(θ) = (1/n) Σ ⟨adjoint, φ_θ(point, cloud)⟩.
        adjoint: "discrete" or "continuous".

    For a layered ρ, calls give (layers, M): the density in t, δL/δρ_t. Source: mathematics, section 3.
    """

    problem: Problem
    rho: Empirical
    risk: Array
    particles: Any
    values: Array
    costate: Array
    times: Array
    layer: Array
    cloud_points: Array
    cloud_adjoints: Array
    adjoint: str = eqx.field(static=True)

    def __call__(self, heads: Head) -> Array:
        """δL_λ/δρ (M,) at M heads: the data term and (λ/2)|θ|²."""
        data = self.data_term(heads)
        return data + jnp.broadcast_to(0.5 * self.problem.confinement * square_norm(Empirical(heads)), data.shape)

    def data_term(self, heads: Head) -> Array:
        """δL/δρ (M,) at M heads, without (λ/2)|θ|²: what one more head like this does to the risk, per unit of its mass."""
        if isinstance(heads, Empirical):
            raise Refused("The functional gradient takes heads, not a measure of them; pass the heads themselves: g(rho.points).")
        if not isinstance(heads, Head):
            raise Refused(f"The functional gradient takes a batch of heads, as mk.Softmax(...); found {type(heads).__name__}.")
        if isinstance(heads, Layered):
            raise Refused("The functional gradient takes a batch of heads with one leading axis (M, ...); found layered heads.")
        self.problem.check(Empirical(heads))
        return _evaluate(self, heads)

    def gradient(self, heads: Head) -> Any:
        """∇_θ δL_λ/δρ at M heads (like heads); for a layered ρ, of the sum over layers."""
        return jax.grad(lambda h: jnp.sum(self(h)))(heads)

    def __repr__(self) -> str:
        n, points, tokens, d = self.costate.shape
        return (
            f"FunctionalGradient ({self.adjoint} adjoint): risk {float(self.risk):.6g} over {n} prompts of {tokens} tokens in R^{d}, "
            f"{points - 1} depth steps; call it on a batch of heads"
        )


def functional_gradient(
    problem: Problem, rho: Empirical, *, adjoint: Literal["discrete", "continuous"] = "discrete"
) -> FunctionalGradient:
    r"""The first variation of L_λ at ρ: $\frac{d}{d\varepsilon} L_\lambda((1-\varepsilon)\rho + \varepsilon\nu) = \int \delta L_\lambda/\delta\rho\;
    d(\nu - \rho)$ at ε = 0, for any ν.

    `adjoint="discrete"` reverses the scheme (exact for it); `"continuous"` integrates the costate's own equation: they differ at the order
    of the scheme. Memory holds the clouds of every stage: for training use `solve`. Source: mathematics, section 3; Theorem 6.1.

    >>> import jax.numpy as jnp, mckean as mk
    >>> one = lambda *shape: jnp.ones(shape)
    >>> rest = mk.Empirical(mk.Perceptron(0 * one(1, 1), 0 * one(1), 0 * one(1, 1)))
    >>> loss = mk.losses.SquaredError(mk.Readout(one(1, 1)))
    >>> problem = mk.Problem(mk.Empirical(jnp.array([[1.0], [3.0]])), jnp.array([0.0]), loss, horizon=1.0, steps=1, scheme="euler")
    >>> g = mk.functional_gradient(problem, rest)
    >>> push = mk.Perceptron(0 * one(1, 1), one(1), one(1, 1))              # φ = tanh(1) everywhere; p = 2
    >>> round(float(g(push)[0]), 4)
    1.5232
    """
    problem.check(rho)
    if adjoint not in ("discrete", "continuous"):
        raise Refused(f"`adjoint` must be 'discrete' or 'continuous'; found {adjoint!r}.")
    return _build(problem.settled(rho), place_heads(problem.method, rho), adjoint)


@eqx.filter_jit
def _build(problem: Problem, rho: Empirical, adjoint: str) -> FunctionalGradient:
    prompts, scheme, method, count = problem.prompts, problem.scheme, problem.method, problem.size
    whole = problem.grid(rho, prompts.points, prompts.weights)

    def body(x0: Array, w: Array, targets: Any):
        _, _, states = integrate(rho, x0, w, whole, scheme, method, observe=lambda x: x)
        losses, after, _ = terminal.start(problem, states[-1], w, targets)
        p_end = terminal.costate(problem, states[-1], w, targets)
        if adjoint == "discrete":
            _, by_head, by_mass, kept = discrete.sweep(rho, states, w, after, whole, scheme, method, keep=True)
            p = discrete.costates(rho, states, w, p_end, whole, scheme, method)
            sums = (by_head, by_mass)
        else:
            p, kept = continuous.backward(rho, states, w, p_end, whole, scheme, method)
            sums = None
        points, duals = (jnp.moveaxis(part, 2, 0) for part in kept)
        return sums, (losses, jnp.moveaxis(p, 1, 0), points, duals)

    sums, (losses, p, points, duals) = over_prompts(body, problem.data, problem.chunk(rho.size), method)
    losses = jnp.where(whole.overrun, jnp.nan, losses)
    blank = FunctionalGradient(
        problem, rho, jnp.mean(losses), None, jnp.zeros(()), p, whole.times, whole.layer, points, duals, adjoint
    )
    if sums is None:
        values, by_head = _at_atoms(blank)
    else:
        by_head, values = jax.tree.map(lambda leaf: leaf / count, sums)
        by_head, values = as_density(problem, rho, by_head), as_density(problem, rho, values)
    particles = jax.tree.map(lambda g, theta: g + problem.confinement * theta, by_head, rho.points)
    return eqx.tree_at(lambda g: (g.particles, g.values), blank, (particles, values), is_leaf=lambda leaf: leaf is None)


@eqx.filter_jit
def _evaluate(g: FunctionalGradient, heads: Head) -> Array:
    by_step = _by_step(g, heads)
    if not isinstance(g.rho.points, Layered):
        return jnp.sum(by_step, axis=0)
    layers = g.rho.points.layers
    summed = jnp.zeros((layers, by_step.shape[1]), by_step.dtype).at[g.layer].add(by_step)
    return as_density(g.problem, g.rho, summed)


def _by_step(g: FunctionalGradient, heads: Head) -> Array:
    """(1/n) Σ_prompts Σ_stages ⟨λ, φ_θ⟩ for each depth step (L, M)."""
    problem, w = g.problem, g.problem.prompts.weights

    def body(points: Array, w: Array, duals: Array) -> tuple[Array, tuple[()]]:
        return _pairings(heads, points, w, duals, problem.method), ()

    total, _ = over_prompts(body, (g.cloud_points, w, g.cloud_adjoints), problem.chunk(heads.heads), problem.method)
    return total / problem.size


def _pairings(heads: Head, points: Array, w: Array, duals: Array, method: Any) -> Array:
    def one_step(clouds: tuple[Array, Array]) -> Array:
        stages, adjoints = clouds
        return sum(pairing(heads, y, w, lam, method) for y, lam in zip(stages, adjoints, strict=True))  # type: ignore[return-value]

    by_step = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 2), (points, duals))
    return jax.lax.map(one_step, by_step)


def _at_atoms(g: FunctionalGradient) -> tuple[Array, Any]:
    """δL/δρ and its gradient at the atoms, by evaluation: for the continuous adjoint."""

    def values(points: Head) -> Array:
        if not isinstance(points, Layered):
            return jnp.sum(_by_step(g, points), axis=0)
        layers, width = points.layers, points.heads
        flat = jax.tree.map(lambda leaf: leaf.reshape(layers * width, *leaf.shape[2:]), points.heads_by_layer)
        by_step = _by_step(g, flat).reshape(-1, layers, width)
        own = jnp.take_along_axis(by_step, g.layer[:, None, None], axis=1)[:, 0]
        summed = jnp.zeros((layers, width), own.dtype).at[g.layer].add(own)
        return as_density(g.problem, g.rho, summed)

    at, pull = jax.vjp(values, g.rho.points)
    (gradient,) = pull(jnp.ones_like(at))
    return at, gradient
