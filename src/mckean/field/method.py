"""How the field is evaluated: what a user can ask for."""

import math

import equinox as eqx

from mckean.errors import Refused
from mckean.heads.attention import TILE

SMALLEST_RTOL = {64: 1e-13, 32: 1e-5}


class Method(eqx.Module):
    """A way to evaluate V_{ρ,μ}. Every one can fall back on the exact sum, whose sizes are `tile` and `block`."""

    tile: int | None = eqx.field(static=True, default=TILE, kw_only=True)
    block: int = eqx.field(static=True, default=2**19, kw_only=True)

    def _check_sizes(self) -> None:
        if self.tile is not None and self.tile < 1:
            raise Refused(f"`tile` must be a positive number of atoms, or None; found {self.tile}.")
        if self.block < 1:
            raise Refused(f"`block` must be a positive number of elements; found {self.block}.")

    @property
    def exact(self) -> "Exact":
        """The exact method with the same sizes."""
        return Exact(tile=self.tile, block=self.block)

    @property
    def core(self) -> "Method":
        """The method of one device: itself, but for `Sharded`."""
        return self

    def with_core(self, core: "Method") -> "Method":
        """The same devices by another method; `core` itself, but for `Sharded`."""
        return core


class Exact(Method):
    """The sum over heads, tokens and tokens itself, to rounding: O(N²·H) time and O(N) memory.

    Arguments:
        tile: clouds above this many atoms are done in tiles of this size at most (512: 2 MB a tile in float64, which stays in a core's
            cache). None never tiles: then any number of forward- and reverse-mode derivatives may be taken, at O(N²) memory.
        block: how many elements (heads × prompts × tokens × tokens) one step of the loop over heads holds at most.
    """

    def __check_init__(self):
        self._check_sizes()

    def heads_at_once(self, heads: int, prompts: int, queries: int, keys: int) -> int:
        """How many heads one step of the loop does together."""
        tile = self.tile or max(queries, keys)
        each = prompts * min(queries, tile) * min(keys, tile)
        most = max(1, min(heads, self.block // max(each, 1)))
        # A divisor of H leaves no remainder to be compiled beside the loop; a much smaller one would cost more than it saves.
        divisor = max(count for count in range(1, most + 1) if heads % count == 0)
        return divisor if 2 * divisor > most else most


class Tabulated(Method):
    r"""A certified table of $m(u) = \nabla\log\int e^{\langle u, y\rangle} d\mu(y)$, read at u = A_hᵀx: O(N + H) work for a given error.

    For softmax heads (also bounded, layered, or in a block with hidden units) on tokens of R^d with d ≤ 3, or of rank k ≤ 3 in any d; other
    kinds are `Refused`. Where the table's range ends (|A|R² of some hundreds), or `rtol` can't be met, the exact sum is taken
    and the result says so.

    Arguments:
        rtol: accepted max_i |V̂(x_i) − V(x_i)| / max_i |V(x_i)|, held by an a-priori bound that no data can break. Below 1e-13 (float64) or
            1e-5 (float32) it is refused. Gradients of the risk are planned a hundred times tighter.
        reach: only inside jax.jit, where data are unknown when the plan is made: the largest |u_a|·max|y_a| on an axis that is to be
            covered (|A|R² at most). Clouds beyond it are evaluated exactly.

    Source: mathematics, section 8.
    """

    rtol: float = eqx.field(static=True, default=1e-6)
    reach: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        self._check_sizes()
        if not (isinstance(self.rtol, int | float) and 0 < self.rtol < 1):
            raise Refused(f"`rtol` must be a relative error between 0 and 1; found {self.rtol}.")
        if self.rtol < SMALLEST_RTOL[64]:
            raise Refused(
                f"`rtol` must be at least {SMALLEST_RTOL[64]:g}, what float64 can give; found {self.rtol:g}. Use mk.Exact()."
            )
        if self.reach is not None and not (math.isfinite(self.reach) and self.reach > 0):
            raise Refused(f"`reach` must be a positive exponent |A|R²; found {self.reach}.")


class Automatic(Method):
    """`method=None`: the exact sum or the table, whichever a model of the time says is faster.

    The table is planned to 1e-10 in float64 (1e-5 in float32), so that a choice nobody made changes no figure that is looked at; where that
    can't be reached, or not faster than the sum, to 1e-8 (1e-4).
    Inside jax.jit, where data are unknown, it is the exact sum.
    """

    def __check_init__(self):
        self._check_sizes()


class RandomBatch(Method):
    r"""An estimator: the mean over tokens is taken over a batch of `size` tokens drawn from μ, afresh at every evaluation.

    $\hat m(x) = \sum_b e^{l(x, y_b)} y_b / \sum_b e^{l(x, y_b)}$ with y_b i.i.d. from μ: O(N·size·H) time in any dimension, for heads of any kind.
    Its variance at a query is $\frac{1}{size} \int P(y)^2/\mu(y)\,|y - m|^2$ to leading order, its bias of order 1/size: `mk.certified_velocity`
    gives the standard error. The gradient is the exact one of what was drawn. The draw is a function of `seed` and of the
    tokens, so that a run can be repeated. Source: random batch methods, Jin, Li and Liu (2020), J. Comput. Phys. 400.

    Arguments:
        size: tokens in a batch.  seed: of the draws.
    """

    size: int = eqx.field(static=True)
    seed: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        self._check_sizes()
        if not (isinstance(self.size, int) and self.size >= 1):
            raise Refused(f"`size` must be a positive number of tokens; found {self.size}.")
