"""Laws of tokens: each draws an `Empirical` of i.i.d. atoms with equal weights. Keys are keyword-only."""

import jax
import jax.numpy as jnp

from mckean._arguments import random_key
from mckean._shapes import Key
from mckean.measures.empirical import Empirical


def normal(atoms: int, *, dim: int = 2, std: float = 1.0, key: Key) -> Empirical:
    """N(0, std² I) on R^dim."""
    return Empirical(std * jax.random.normal(random_key(key), (atoms, dim)))


def uniform(atoms: int, *, dim: int = 2, radius: float = 1.0, key: Key) -> Empirical:
    """The uniform law on the cube [-radius, radius]^dim."""
    return Empirical(jax.random.uniform(random_key(key), (atoms, dim), minval=-radius, maxval=radius))


def sphere(atoms: int, *, dim: int = 3, radius: float = 1.0, key: Key) -> Empirical:
    """The uniform law on the sphere of R^dim (its surface)."""
    z = jax.random.normal(random_key(key), (atoms, dim))
    return Empirical(radius * z / jnp.linalg.norm(z, axis=1, keepdims=True))


def ball(atoms: int, *, dim: int = 2, radius: float = 1.0, key: Key) -> Empirical:
    """The uniform law on the ball of R^dim."""
    direction, length = jax.random.split(random_key(key))
    shell = sphere(atoms, dim=dim, key=direction).points
    return Empirical(radius * jax.random.uniform(length, (atoms, 1)) ** (1 / dim) * shell)


def two_moons(atoms: int, *, noise: float = 0.05, key: Key) -> Empirical:
    """Two interleaved half circles of radius 1 in the plane, with Gaussian noise of standard deviation `noise`; centred."""
    angle, blur = jax.random.split(random_key(key))
    upper = jnp.arange(atoms) < (atoms + 1) // 2
    phi = jnp.pi * jax.random.uniform(angle, (atoms,))
    x = jnp.where(upper, jnp.cos(phi) - 0.5, 0.5 - jnp.cos(phi))
    y = jnp.where(upper, jnp.sin(phi) - 0.25, 0.25 - jnp.sin(phi))
    return Empirical(jnp.stack([x, y], axis=1) + noise * jax.random.normal(blur, (atoms, 2)))
