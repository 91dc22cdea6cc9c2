"""The learning problem: prompts, targets, a loss and the depth flow between them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer

from mckean._arguments import count, not_negative, positive
from mckean._shapes import Array
from mckean.errors import Refused
from mckean.field.choice import undecided
from mckean.field.method import Method
from mckean.field.sharding import place_clouds
from mckean.field.velocity import check_fit, check_heads, check_method
from mckean.measures.empirical import Empirical, unchecked
from mckean.objective.checks import as_targets, check_prompts, loss_struct
from mckean.tokens import grid as grids
from mckean.tokens.planning import settle_flow
from mckean.tokens.prompts import chunk_size
from mckean.tokens.schemes import Scheme, find


class Problem(eqx.Module):
    r"""L(ρ) = (1/n) Σ_i ℓ(μ_T^{(i)}, y_i), with μ^{(i)} carried from prompt i to depth T by ρ, and L_λ = L + (λ/2)∫|θ|² dρ.

    Arguments:
        prompts: a batch, points (n, N, d) and weights (n, N); weight 0 pads. A single measure counts as one prompt.
        targets: an array (n, ...) or a pytree of them (an `Empirical` batch for distances), or None. Floating targets take the dtype of
            the tokens.
        loss: `loss(mu_T, target) -> scalar`, see `losses`; one real number, or it is refused. A method `check_targets(targets)` of the loss
            is called once, to refuse targets that it cannot have. If it is an equinox module with a trained readout, `solve` moves that too.
        horizon: T.  steps: L, depth steps (the largest number allowed, for "tsit5").  scheme: see `transport`.
        confinement: λ ≥ 0.  temperature: β ≥ 0, the noise of the training.
        method: how the field is evaluated, and on which devices (`Sharded`); None chooses.  rtol, atol: of the adaptive scheme.

    For a layered ρ the confinement is (λ/2) ∫_0^T ∫|θ|² dρ_t dt, whose first variation, as a density in t, is (λ/2)|θ|².
    Raises `Refused` for input that does not fit. Source: mathematics, section 3.

    >>> import jax.numpy as jnp, mckean as mk
    >>> prompts = mk.Empirical(jnp.array([[[1.0], [3.0]], [[2.0], [0.0]]]), jnp.array([[0.5, 0.5], [1.0, 0.0]]))
    >>> loss = mk.losses.SquaredError(mk.Readout(jnp.ones((1, 1))))
    >>> problem = mk.Problem(prompts, jnp.array([2.0, 0.0]), loss, horizon=1.0, steps=4)
    >>> rest = mk.Empirical(mk.Perceptron(jnp.zeros((1, 1)), jnp.zeros(1), jnp.zeros((1, 1))))
    >>> float(mk.risk(problem, rest))                                       # heads that do nothing: (0 + ½·2²) / 2
    1.0
    """

    prompts: Empirical
    targets: Any
    loss: Callable[[Empirical, Any], Array]
    horizon: Array
    confinement: Array
    temperature: Array
    steps: int = eqx.field(static=True)
    scheme: Scheme = eqx.field(static=True)
    method: Method = eqx.field(static=True)
    rtol: float = eqx.field(static=True)
    atol: float = eqx.field(static=True)

    def __init__(
        self,
        prompts: Empirical,
        targets: Any,
        loss: Callable[[Empirical, Any], Array],
        *,
        horizon: float | Array,
        steps: int,
        scheme: str = "rk4",
        confinement: float | Array = 0.0,
        temperature: float | Array = 0.0,
        method: Method | None = None,
        rtol: float = 1e-8,
        atol: float = 1e-10,
    ):
        check_prompts(prompts)
        dtype = prompts.points.dtype
        targets = as_targets(targets, dtype)
        if prompts.batch is None:
            prompts = unchecked(prompts.points[None], prompts.weights[None])
            targets = jax.tree.map(lambda leaf: leaf[None], targets)
        size = prompts.batch
        for leaf in jax.tree.leaves(targets):
            if leaf.ndim == 0 or leaf.shape[0] != size:
                raise Refused(f"One target a prompt: found {size} prompts and targets of shape {leaf.shape}.")
        confinement, temperature = not_negative(confinement, "confinement"), not_negative(temperature, "temperature")
        horizon = positive(horizon, "horizon", "a positive depth T")
        steps = count(steps, "steps", "depth steps")
        if not callable(loss):
            raise Refused(f"`loss` must be a function of (mu_T, target); found {type(loss).__name__}.")
        check_targets = getattr(loss, "check_targets", None)
        if check_targets is not None:
            check_targets(targets)
        loss_struct(loss, prompts, targets)
        method = check_method(method)
        points, weights, targets = place_clouds(method, prompts.points, prompts.weights, targets)
        self.prompts, self.targets, self.loss = unchecked(points, weights), targets, loss
        self.horizon = jnp.asarray(horizon, dtype)
        self.confinement = jnp.asarray(confinement, dtype)
        self.temperature = jnp.asarray(temperature, dtype)
        self.steps, self.scheme, self.method = steps, find(scheme), method
        self.rtol, self.atol = rtol, atol

    def __repr__(self) -> str:
        return self.card()

    def card(self) -> str:
        """The problem on a few lines: prompts, loss, depth flow, λ and β."""
        n, tokens, dim = self.prompts.points.shape[-3:]
        prompts = f"{n} prompts" if n > 1 else "1 prompt"
        loss = getattr(self.loss, "__name__", type(self.loss).__name__)
        number = lambda value: "traced" if isinstance(value, Tracer) else f"{float(value):g}"  # noqa: E731
        most = "at most " if self.scheme.adaptive else ""
        return "\n".join(
            [
                f"Problem: {prompts} of {tokens} tokens in R^{dim}, {self.prompts.points.dtype.name}; loss {loss}",
                f"  depth T = {number(self.horizon)}, {self.scheme.name}, {most}{self.steps} depth steps, field {type(self.method).__name__}",
                f"  confinement λ = {number(self.confinement)}, temperature β = {number(self.temperature)}",
            ]
        )

    @property
    def size(self) -> int:
        """n, the number of prompts."""
        return self.prompts.weights.shape[0]

    @property
    def risk_dtype(self) -> Any:
        """The dtype of the risk: that of the tokens, or a wider one of the loss."""
        return loss_struct(self.loss, self.prompts, self.targets).dtype

    def check(self, rho: Empirical) -> None:
        """Refuse a head measure that does not fit the prompts or the depth steps."""
        check_heads(rho)
        check_fit(rho, self.prompts)
        if not self.scheme.adaptive:
            grids.fixed(1.0, self.steps, grids.layer_count(rho), self.prompts.points.dtype)

    def settled(self, rho: Empirical) -> "Problem":
        """The problem with the field's method decided for this ρ: itself where it is decided already.

        A table is planned a hundred times tighter than `rtol`, because the derivative of an interpolant errs by more than its value. Decide
        outside jax.jit: inside, tokens are unknown.
        """
        if not undecided(self.method):
            return self
        points, weights = self.prompts.points, self.prompts.weights
        choice = settle_flow(self.method, rho, points, weights, self.horizon, tighter=100.0)
        return self.with_method(choice.method)

    def with_method(self, method: Method) -> "Problem":
        """The same problem by another method of the field."""
        other = object.__new__(type(self))
        for field in dataclasses.fields(self):
            object.__setattr__(other, field.name, method if field.name == "method" else getattr(self, field.name))
        return other

    def grid(self, rho: Empirical, x0: Array, w: Array) -> grids.Grid:
        """The depth grid for these clouds (n, N, d): fixed, or the accepted steps of the adaptive scheme under ρ.

        The adaptive grid is frozen as fractions of T: derivatives do not pass through the choice of steps.
        """
        if self.scheme.adaptive:
            return grids.frozen(rho, x0, w, self.horizon, self.steps, self.method, self.rtol, self.atol)
        return grids.fixed(self.horizon, self.steps, grids.layer_count(rho), x0.dtype)

    def select(self, index: Array) -> "Problem":
        """The problem on a minibatch of its prompts."""
        points, weights, targets = place_clouds(self.method, *jax.tree.map(lambda leaf: leaf[index], self.data))
        chosen = (unchecked(points, weights), targets)
        return eqx.tree_at(lambda p: (p.prompts, p.targets), self, chosen, is_leaf=lambda leaf: leaf is None)

    @property
    def data(self) -> tuple[Array, Array, Any]:
        """Points (n, N, d), weights (n, N) and targets: all that has an axis of prompts."""
        return self.prompts.points, self.prompts.weights, self.targets

    def chunk(self, heads: int) -> int:
        """How many prompts are carried together."""
        return chunk_size(self.method, *self.prompts.weights.shape)
