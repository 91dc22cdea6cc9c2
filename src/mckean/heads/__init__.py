"""The head maps φ_θ(x, μ): what one head adds to a token x in the presence of the token measure μ.

`Softmax` (attention) and `Perceptron` (a hidden unit) are the two elementary kinds; `Block` is their sum, `Bounded` passes the
output parameters of any kind through c·tanh(·/c), `Layered` stacks one batch of heads a depth layer. All are batches: every array
has a leading axis of H heads. A new kind is a subclass of `Head` with its `map` written; `attention` is the kernel that `Softmax`
evaluates in tiles.
"""

from mckean.heads.base import Head
from mckean.heads.block import Block
from mckean.heads.bounded import Bounded
from mckean.heads.layered import Layered
from mckean.heads.perceptron import Perceptron
from mckean.heads.softmax import Softmax

__all__ = ["Block", "Bounded", "Head", "Layered", "Perceptron", "Softmax"]
