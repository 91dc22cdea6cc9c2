"""Clouds that an interpolation could stumble over, drawn by NumPy: the certificate must hold for every one."""

import numpy as np

TOTAL = 590.0  # the largest exponent of all that float64 bears, and a little less


def _ball(rng, n, d):
    return _sphere(rng, n, d) * rng.uniform(size=(n, 1)) ** (1 / d)


def _sphere(rng, n, d):
    x = rng.normal(size=(n, d))
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)


def _annulus(rng, n, d):
    return _sphere(rng, n, d) * rng.uniform(0.999, 1.0, size=(n, 1))


def _segment(rng, n, d):
    return rng.uniform(-1, 1, size=(n, 1)) * rng.normal(size=(1, d))


def _flat(rng, n, d):
    """A segment along an axis: the box has no width across."""
    x = np.zeros((n, d))
    x[:, rng.integers(d)] = rng.uniform(-1, 1, size=n)
    return x + rng.normal(size=(1, d))


def _spiral(rng, n, d):
    angle = np.sort(rng.uniform(0, 6 * np.pi, size=n))
    curve = np.stack([angle * np.cos(angle), angle * np.sin(angle), angle], axis=1)
    return curve[:, :d] / 20


def _clusters(rng, n, d):
    centres = rng.normal(size=(5, d))
    which = rng.choice(5, size=n, p=np.asarray([0.9, 0.05, 0.03, 0.01, 0.01]))
    return centres[which] + rng.choice([1e-6, 1e-2, 0.1], size=(n, 1)) * rng.normal(size=(n, d))


def _heavy(rng, n, d):
    return np.clip(rng.standard_t(1.2, size=(n, d)), -1e3, 1e3)


def _outlier(rng, n, d):
    x = 1e-2 * rng.normal(size=(n, d))
    x[rng.integers(n)] = rng.normal(size=d) * 10
    return x


def _equal(rng, n, d):
    return np.repeat(rng.normal(size=(1, d)), n, axis=0)


def _atoms(rng, n, d):
    return rng.normal(size=(2, d))[rng.integers(0, 2, size=n)]


GEOMETRIES = (_ball, _sphere, _annulus, _segment, _flat, _spiral, _clusters, _heavy, _outlier, _equal, _atoms)


def weights(rng: np.random.Generator, n: int) -> np.ndarray:
    """Equal, or over twelve decades, or with most of the mass on one atom; some of them 0."""
    kind = rng.integers(3)
    w = np.ones(n) if kind == 0 else 10.0 ** rng.uniform(-12, 0, size=n)
    if kind == 2:
        w[rng.integers(n)] *= 1e6
    w = np.where(rng.uniform(size=n) < 0.1, 0.0, w)
    w[rng.integers(n)] = 1.0
    return w / w.sum()


def case(rng: np.random.Generator, index: int, capacity: int, d: int, reach: float) -> tuple[np.ndarray, ...]:
    """Tokens (capacity, d), masses, bilinear forms A (2, d, d) and queries (capacity, d): all the same shape, padded by masses 0.

    max_a β_a, the largest exponent on an axis, is at most `reach`; half of the cases go that far, or as far as TOTAL allows.
    """
    n = int(rng.integers(2, capacity + 1))
    x = GEOMETRIES[index % len(GEOMETRIES)](rng, n, d)
    x = x * 10.0 ** rng.uniform(-3, 3) + (0.0 if rng.uniform() < 0.5 else np.abs(x).max() * rng.normal(size=(1, d)))
    w = weights(rng, n)
    x = np.concatenate([x, x[rng.integers(0, n, size=capacity - n)]])
    w = np.concatenate([w, np.zeros(capacity - n)])
    low, high = x.min(axis=0), x.max(axis=0)
    q = np.where(rng.uniform(size=(capacity, 1)) < 0.5, x, rng.uniform(low, high, size=(capacity, d)))
    if rng.uniform() < 0.05:
        q = np.repeat(q[:1], capacity, axis=0)
    a = rng.normal(size=(2, d, d)) * np.asarray([1.0, 10.0 ** rng.uniform(-3, 0)])[:, None, None]
    # A box bound of the arguments, as the library's own, so that the cloud asks for no more than was planned.
    half = 0.5 * (q.max(axis=0) - q.min(axis=0))
    middle = np.einsum("hab,a->hb", a, 0.5 * (q.max(axis=0) + q.min(axis=0)))
    span = np.einsum("hab,a->hb", np.abs(a), half)
    wide = 0.5 * (np.max(middle + span, axis=0) - np.min(middle - span, axis=0))
    offset = np.abs(0.5 * (np.max(middle + span, axis=0) + np.min(middle - span, axis=0)))
    r = 0.5 * (high - low)
    asked = max(float(np.max(wide * r)), float(np.sum((offset + 2 * wide) * r)) * reach / TOTAL)
    used = reach * (1.0 if rng.uniform() < 0.5 else 10.0 ** rng.uniform(-3, 0))
    a = a * (used * (1 - 1e-5) / asked if asked > 0 else 1.0)
    return x, w, a, q


def cases(seed: int, count: int, capacity: int, d: int, reach: float) -> tuple[np.ndarray, ...]:
    """`count` of them, stacked."""
    rng = np.random.default_rng(seed)
    return tuple(np.stack(parts) for parts in zip(*(case(rng, i, capacity, d, reach) for i in range(count)), strict=True))
