"""Kinds of heads as a user would write them, and small batches of the library's own (drawn by NumPy, which compiles nothing)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import mckean as mk


class MeanAttraction(mk.Head):
    """φ(x, μ) = speed · (∫ y dμ − x)."""

    outputs = ("speed",)
    speed: Array

    def map(self, x, mu):
        return self.speed * (mu.mean() - x)


class GaussianKernel(mk.Head):
    """φ(x, μ) = speed · ∫ e^{−|x − y|²/(2ℓ²)} (y − x) dμ(y)."""

    speed: Array
    width: Array

    def map(self, x, mu):
        return self.speed * mu.integrate(lambda y: jnp.exp(-jnp.sum((x - y) ** 2) / (2 * self.width**2)) * (y - x))


class BiasedKeys(mk.Head):
    """Softmax attention whose keys carry a bias, Ky + b."""

    query: Array
    key: Array
    bias: Array
    value: Array

    def map(self, x, mu):
        logits = (mu.points @ self.key.T + self.bias[None]) @ (self.query @ x)
        mass = mu.weights * jnp.exp(logits - jax.lax.stop_gradient(jnp.max(logits)))
        return self.value @ (mass @ mu.points) / jnp.sum(mass)


def normal(seed: int, *shape: int) -> Array:
    """Independent standard normal numbers over √2."""
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape) / np.sqrt(2))


def softmax(heads: int = 3, dim: int = 2, key_dim: int = 2, seed: int = 0, scale: float = 1.0, lead: tuple[int, ...] = ()) -> mk.Softmax:
    """Softmax heads with normal entries."""
    q, k, v = (normal(seed + i, *lead, heads, rows, dim) for i, rows in enumerate((key_dim, key_dim, dim)))
    return mk.Softmax(q, k, v, scale)


def perceptron(heads: int = 3, dim: int = 2, seed: int = 10) -> mk.Perceptron:
    """Hidden units with normal entries."""
    return mk.Perceptron(normal(seed, heads, dim), normal(seed + 1, heads), normal(seed + 2, heads, dim))


def cloud(tokens: int = 6, dim: int = 2, seed: int = 20) -> mk.Empirical:
    """Normal tokens of unequal weights, the last of weight 0."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 1.0, size=tokens)
    weights[-1] = 0.0
    return mk.Empirical(rng.normal(size=(tokens, dim)), weights, normalize=True)


def one(batch: mk.Head, index: int = 0) -> mk.Head:
    """One head out of a batch: what `self` is inside `map`."""
    return jax.tree.map(lambda leaf: leaf[index], batch)
