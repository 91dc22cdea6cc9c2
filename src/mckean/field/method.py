"""How the field is evaluated."""

import equinox as eqx

from mckean.errors import Refused
from mckean.heads.attention import TILE


class Exact(eqx.Module):
    """The sum over heads, tokens and tokens itself, to rounding: O(N²·H) time and O(N) memory.

    Arguments:
        tile: clouds above this many atoms are done in tiles of this size (1,024: 8 MB a tile in float64). None never tiles: then any
            number of forward- and reverse-mode derivatives may be taken, at O(N²) memory.
        block: how many elements (heads × prompts × tokens × tokens) one step of the loop over heads holds at most.
    """

    tile: int | None = eqx.field(static=True, default=TILE)
    block: int = eqx.field(static=True, default=2**19)

    def __check_init__(self):
        if self.tile is not None and self.tile < 1:
            raise Refused(f"`tile` must be a positive number of atoms, or None; found {self.tile}.")
        if self.block < 1:
            raise Refused(f"`block` must be a positive number of elements; found {self.block}.")

    def heads_at_once(self, heads: int, prompts: int, queries: int, keys: int) -> int:
        """How many heads one step of the loop does together."""
        tile = self.tile or max(queries, keys)
        each = prompts * min(queries, tile) * min(keys, tile)
        most = max(1, min(heads, self.block // max(each, 1)))
        # A divisor of H leaves no remainder to be compiled beside the loop; a much smaller one would cost more than it saves.
        divisor = max(count for count in range(1, most + 1) if heads % count == 0)
        return divisor if 2 * divisor > most else most
