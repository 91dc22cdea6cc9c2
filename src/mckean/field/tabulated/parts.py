"""What a table can serve of a batch of heads: its softmax part; hidden units beside it are evaluated token by token."""

from mckean.heads.base import Head
from mckean.heads.block import Block
from mckean.heads.bounded import Bounded
from mckean.heads.perceptron import Perceptron
from mckean.heads.softmax import Softmax

LARGEST_RANK = 3


def parts(heads: Head) -> tuple[Softmax, list[Perceptron]] | None:
    """(softmax heads, hidden units), bounds applied, or None for a kind of head that has no table."""
    found = _leaves(heads)
    softmax = [part for part in found if isinstance(part, Softmax)]
    units = [part for part in found if isinstance(part, Perceptron)]
    if len(softmax) != 1 or len(softmax) + len(units) != len(found):
        return None
    return softmax[0], units


def _leaves(heads: Head) -> list[Head]:
    if isinstance(heads, Bounded):
        return _leaves(heads.bounded)
    if isinstance(heads, Block):
        return _leaves(heads.attention) + _leaves(heads.perceptron)
    return [heads]


def rank(softmax: Softmax) -> tuple[int, bool]:
    """The dimension of the exponential's kernel, and whether each head needs a table of its own (then the keys are K_h y in R^k)."""
    key_dim, dim = softmax.query.shape[-2:]
    return (dim, False) if dim <= LARGEST_RANK else (key_dim, True)


def has_table(heads: Head) -> bool:
    """Softmax heads with d ≤ 3, or of rank k ≤ 3 in any d."""
    found = parts(heads)
    return found is not None and rank(found[0])[0] <= LARGEST_RANK
