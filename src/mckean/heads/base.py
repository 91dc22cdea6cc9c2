"""What a head is: the map of one head at one token, and what follows from it for every kind."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean._arguments import as_float
from mckean._shapes import Array, Token, Tokens
from mckean.errors import Refused
from mckean.heads.attention import TILE
from mckean.measures.empirical import Empirical, unchecked


class Head(eqx.Module):
    r"""A batch of heads; subclass it and write `map` to make a new kind.

    Every array field has a leading axis H. Methods are called with that axis taken off: inside `map`, `self` is one head.

        class Drift(mk.Head):
            speed: Array                                   # (H,)
            def map(self, x, mu):                          # φ_θ(x, μ) = speed · (∫ y dμ − x)
                return self.speed * (mu.mean() - x)

    `map` must treat μ as a measure (through its weights), and must not divide by an atom's weight; then weights, costate, functional
    gradient and training follow. Fields that are no parameters (a function, a number) are declared `eqx.field(static=True)`.
    `outputs` names the fields that `Bounded` bounds: the ones in which φ is linear. Source: mathematics, section 1.
    """

    outputs: ClassVar[tuple[str, ...]] = ()
    atom_axes: ClassVar[int] = 1

    def map(self, x: Token, mu: Empirical) -> Token:
        """φ_θ(x, μ) (d,) of one head at one token x (d,); μ has points (N, d)."""
        raise NotImplementedError(f"{type(self).__name__} must write `map(self, x, mu)`, the head's map at one token.")

    def apply(self, x: Tokens, mu: Empirical, tile: int | None = TILE) -> Tokens:
        """φ_θ(x_i, μ) (M, d) of one head at M tokens, `tile` of them at a time: memory does not grow with M·N."""
        if tile is None or x.shape[0] <= tile:
            return jax.vmap(lambda xi: self.map(xi, mu))(x)
        return jax.lax.map(jax.checkpoint(lambda xi: self.map(xi, mu)), x, batch_size=tile)

    def costate(self, mu: Empirical, p: Tokens, tile: int | None = TILE) -> Tokens:
        r"""The adjoint image of one head: $\nabla_x\varphi(x_i)^T p_i + \int [D_\mu\varphi(x',\cdot)(x_i)]^T p(x')\,d\mu(x')$, (N, d).

        By definition of the Lions derivative, $D_\mu\varphi(x', \cdot)(z) = \nabla_z\,\partial_\varepsilon\,
        \varphi(x', \mu + \varepsilon\delta_z)$ at ε = 0: it needs no division by a weight, so that it is finite at atoms of weight 0.
        This is the general form, by nested derivatives of `map`; a kind with a formula overrides it. Source: mathematics, section 3.
        """
        x, w = mu.points, mu.weights
        _, pull = jax.vjp(lambda queries: self.apply(queries, mu, tile), x)
        (own,) = pull(p)

        def pairing(z: Tokens, mass: Array) -> Array:
            cloud = unchecked(jnp.concatenate([x, z]), jnp.concatenate([w, mass]))
            return jnp.sum(w[:, None] * p * self.apply(x, cloud, tile))

        added = jnp.zeros_like(w)
        nonlocal_part = jax.grad(lambda z: jnp.sum(jax.grad(pairing, argnums=1)(z, added)))(x)
        return own + nonlocal_part

    @property
    def heads(self) -> int:
        """H, the number of heads of the batch."""
        return jax.tree.leaves(self)[0].shape[self.atom_axes - 1]

    @property
    def token_dim(self) -> int | None:
        """d of the tokens that these heads map, or None where the arrays do not say it."""
        return None


def as_parameter(value: Any, name: str, axes: str) -> Array:
    """`value` as a float array with as many axes as `axes` names, or a refusal that says what was found."""
    array = as_float(value, f"The entries of `{name}`")
    wanted = len(axes.split())
    if array.ndim < wanted:
        raise Refused(f"`{name}` must have shape ({', '.join(axes.split())}); found shape {array.shape}.")
    return array
