"""Attention and a hidden unit in one head, in parallel."""

from mckean._shapes import Token, Tokens
from mckean.errors import Refused
from mckean.heads.attention import TILE
from mckean.heads.base import Head
from mckean.measures.empirical import Empirical


class Block(Head):
    """The sum of two kinds, θ = (θ_1, θ_2) and φ_θ = φ_θ1 + φ_θ2, as in a transformer block whose sublayers act in parallel.

    Arguments: attention and perceptron, any two batches with the same number of heads H, or it is `Refused`.
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

    def map(self, x: Token, mu: Empirical) -> Token:
        return self.attention.map(x, mu) + self.perceptron.map(x, mu)

    def apply(self, x: Tokens, mu: Empirical, tile: int | None = TILE) -> Tokens:
        return self.attention.apply(x, mu, tile) + self.perceptron.apply(x, mu, tile)

    def costate(self, mu: Empirical, p: Tokens, tile: int | None = TILE) -> Tokens:
        return self.attention.costate(mu, p, tile) + self.perceptron.costate(mu, p, tile)
