"""Attention and a hidden unit in one head, in parallel."""

from mckean._shapes import Token, Tokens
from mckean.errors import Refused
from mckean.heads.attention import TILE
from mckean.heads.base import Head
from mckean.measures.empirical import Empirical


class Block(Head):
    """The sum of two kinds, θ = (θ_1, θ_2) and φ_θ = φ_θ1 + φ_θ2, as in a transformer block whose sublayers act in parallel.

    Arguments: attention and perceptron, any two batches with the same number of heads H, on tokens of one R^d, or it is `Refused`.
    Source: mathematics, section 1.
    """

    attention: Head
    perceptron: Head

    def __check_init__(self):
        if self.attention.heads != self.perceptron.heads:
            raise Refused(
                f"A block pairs its parts head by head: found {self.attention.heads} attention heads and "
                f"{self.perceptron.heads} hidden units; give both the same H."
            )
        first, second = self.attention.token_dim, self.perceptron.token_dim
        if first is not None and second is not None and first != second:
            raise Refused(
                f"The parts of a block map the same tokens: found heads of R^{first} and hidden units of R^{second}; give both the same d."
            )

    def map(self, x: Token, mu: Empirical) -> Token:
        return self.attention.map(x, mu) + self.perceptron.map(x, mu)

    def apply(self, x: Tokens, mu: Empirical, tile: int | None = TILE) -> Tokens:
        return self.attention.apply(x, mu, tile) + self.perceptron.apply(x, mu, tile)

    def costate(self, mu: Empirical, p: Tokens, tile: int | None = TILE) -> Tokens:
        return self.attention.costate(mu, p, tile) + self.perceptron.costate(mu, p, tile)

    @property
    def token_dim(self) -> int | None:
        return self.perceptron.token_dim if self.attention.token_dim is None else self.attention.token_dim
