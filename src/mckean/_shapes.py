"""The one vocabulary of array shapes; the axis letters mean the same everywhere.

n prompts · N tokens · H heads · L depth steps · d token coordinates · k key coordinates · C outputs of a readout.
"""

from jaxtyping import Array, Float, Int, PRNGKeyArray

Token = Float[Array, " d"]
Tokens = Float[Array, "N d"]
Queries = Float[Array, "M d"]
Masses = Float[Array, " N"]
Prompts = Float[Array, "n N d"]
PromptQueries = Float[Array, "n M d"]
PromptMasses = Float[Array, "n N"]
HeadMasses = Float[Array, " H"]
Times = Float[Array, " times"]
Scalar = Float[Array, ""]
Index = Int[Array, ""]
Key = PRNGKeyArray

__all__ = [
    "Array", "Float", "HeadMasses", "Index", "Int", "Key", "Masses", "PromptMasses", "PromptQueries", "Prompts", "Queries", "Scalar",
    "Times", "Token", "Tokens",
]  # fmt: skip
