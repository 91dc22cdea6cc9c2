"""Several devices: the method that names them, and where arrays lie on them."""

import math
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from mckean._arguments import count
from mckean.errors import Refused
from mckean.field.method import Automatic, Method
from mckean.measures.empirical import Empirical, unchecked

PROMPTS, TOKENS, HEADS = AXES = ("prompts", "tokens", "heads")
SPREAD = (TOKENS, HEADS)  # how tokens lie between evaluations


class Sharded(Method):
    r"""Any other method, on a mesh of `prompts` × `tokens` × `heads` devices: the same numbers, to the rounding of sums in another order.

    A device holds the tokens $i \in I$ of its prompts and the heads $j \in J$, and evaluates $\sum_{j \in J} m_j \varphi_{\theta_j}(x_i, \mu)$;
    the sum over J is added up over devices. What μ is, it is sent: the points of its prompts, N·d numbers, for the time of an evaluation.
    All else (states and adjoints of a flow, heads, their gradients and noise) lies spread over the devices, so that memory a device
    falls like 1/devices. Sizes that the devices do not divide are padded: by heads of mass 0, and by tokens that nobody sees.

    Arguments:
        method: of each device; `mk.Exact()`, `mk.Tabulated(rtol)`, `mk.RandomBatch(size)`, or None, which chooses.
        prompts, tokens, heads: the number of devices along each axis. Their product is at most the number of devices; in several processes
            it is all of them, and every process makes the same calls with the same arrays.

    Prompts share nothing, heads share a sum, and tokens share their points: fill the axes in that order. Raises `Refused` for numbers of
    devices that are not there. Source: mathematics, section 2.

    >>> import jax, jax.numpy as jnp, mckean as mk
    >>> rho = mk.Empirical(mk.Softmax.normal(heads=4, dim=2, key_dim=2, key=jax.random.key(0)))
    >>> mu = mk.Empirical(jax.random.uniform(jax.random.key(1), (30, 2)))
    >>> one = mk.velocity(rho, mu, method=mk.Exact())
    >>> many = mk.velocity(rho, mu, method=mk.Sharded(mk.Exact(), tokens=len(jax.devices())))
    >>> bool(jnp.allclose(one, many, rtol=1e-5))
    True
    """

    method: Method = eqx.field(static=True)
    prompts: int = eqx.field(static=True)
    tokens: int = eqx.field(static=True)
    heads: int = eqx.field(static=True)

    def __init__(self, method: Method | None = None, *, prompts: int = 1, tokens: int = 1, heads: int = 1):
        method = Automatic() if method is None else method
        if not isinstance(method, Method) or isinstance(method, Sharded):
            raise Refused(f"`method` must be how each device evaluates the field, as mk.Exact() or None; found {method!r}.")
        self.method, self.tile, self.block = method, method.tile, method.block
        self.prompts = count(prompts, "prompts", "devices along the prompts")
        self.tokens = count(tokens, "tokens", "devices along the tokens")
        self.heads = count(heads, "heads", "devices along the heads")
        here, asked = len(jax.devices()), math.prod(self.shape)
        if asked > here:
            raise Refused(
                f"prompts × tokens × heads must be at most the number of devices; found {' × '.join(map(str, self.shape))} = {asked} and "
                f"{here} {jax.default_backend()} device{'s' if here > 1 else ''}. Ask for fewer, or start more processes (on a CPU, "
                f"XLA_FLAGS=--xla_force_host_platform_device_count={asked} before JAX starts)."
            )
        if asked < here and jax.process_count() > 1:
            raise Refused(
                f"In several processes prompts × tokens × heads must be all {here} devices, so that none is left out; found "
                f"{' × '.join(map(str, self.shape))} = {asked}."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of devices along prompts, tokens and heads."""
        return self.prompts, self.tokens, self.heads

    @property
    def mesh(self) -> Mesh:
        """The mesh of devices, with axes "prompts", "tokens", "heads"."""
        return _mesh(self.shape)

    @property
    def core(self) -> Method:
        return self.method

    def with_core(self, core: Method) -> Method:
        return Sharded(core, prompts=self.prompts, tokens=self.tokens, heads=self.heads)


@lru_cache(maxsize=64)
def _mesh(shape: tuple[int, int, int]) -> Mesh:
    return Mesh(np.array(jax.devices()[: math.prod(shape)]).reshape(shape), AXES)


def place_clouds(method: Method, *trees: Any) -> Any:
    """Points (n, N, d), masses (n, N) and targets (n, …) on their devices: cut along prompts, points and masses along tokens and heads too."""
    if not isinstance(method, Sharded):
        return trees
    points, masses, *targets = trees
    spread = _placed(method, (points, masses), (PROMPTS, SPREAD))
    return (*spread, *(_placed(method, target, (PROMPTS,)) for target in targets))


def place_heads(method: Method, rho: Empirical) -> Empirical:
    """A head measure on its devices: cut along the heads, each layer alike."""
    if not isinstance(method, Sharded):
        return rho
    lead = (None,) * (rho.weights.ndim - 1)
    return unchecked(*_placed(method, (rho.points, rho.weights), (*lead, HEADS)))


def _placed(method: Sharded, tree: Any, axes: tuple[Any, ...]) -> Any:
    def one(leaf: Any) -> Any:
        if not eqx.is_array(leaf) or leaf.ndim < len(axes):
            return leaf
        # An axis that the devices do not divide lies whole on each of them; evaluations pad it.
        cut = [axis if size % _devices(method, axis) == 0 else None for axis, size in zip(axes, leaf.shape, strict=False)]
        where = NamedSharding(method.mesh, PartitionSpec(*cut))
        if isinstance(leaf, Tracer):
            return jax.lax.with_sharding_constraint(leaf, where)
        if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
            return jax.device_put(leaf, where)
        # Every process has the same numbers and keeps those of its own devices.
        return jax.device_put(np.asarray(leaf), where)

    return jax.tree.map(one, tree)


def _devices(method: Sharded, axis: str | tuple[str, ...] | None) -> int:
    names = () if axis is None else (axis,) if isinstance(axis, str) else axis
    return math.prod(method.mesh.shape[name] for name in names)


def looked_at(array: Any) -> np.ndarray:
    """The numbers of an array on the host, of each process, wherever they lie."""
    if isinstance(array, jax.Array) and not array.is_fully_addressable:
        return np.asarray(multihost_utils.process_allgather(array, tiled=True))
    return np.asarray(array)
