"""How a computation ended: a code, and the place where it ended."""

from typing import Any

import equinox as eqx

from mckean.errors import NumericalFailure

CODES = {
    "successful": "The solve reached its end.",
    "nonfinite_tokens": "A token left the finite numbers.",
    "depth_step_limit": "The adaptive scheme reached its limit of depth steps before the horizon.",
    "blow_up": "The covariance of the Gaussian solution blew up.",
    "nonfinite_risk": "The risk or its gradient left the finite numbers.",
    "traced": "How the solve ended is not known inside a JAX transformation.",
    "stopped": "The solve was stopped and can be resumed.",
}


class Result(eqx.Module):
    """The end of a solve.

    `code` is one of `CODES`, `where` the place as a mapping (depth t, training time s, step), `advice` the argument to change.
    """

    code: str = eqx.field(static=True, default="successful")
    where: dict[str, Any] = eqx.field(static=True, default_factory=dict)
    advice: str = eqx.field(static=True, default="")

    @property
    def ok(self) -> bool:
        """Whether the solve is known to have reached its end."""
        return self.code == "successful"

    @property
    def message(self) -> str:
        """One sentence: what happened, where, and what to do."""
        place = ", ".join(
            f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in self.where.items()
        )
        text = CODES[self.code]
        return " ".join(part for part in (text[:-1] + (f" at {place}." if place else "."), self.advice) if part)

    def raise_if_failed(self) -> None:
        """Raise `NumericalFailure` unless the solve is known to have reached its end."""
        if not self.ok:
            raise NumericalFailure(self.message)

    def __repr__(self) -> str:
        return f"<{self.code}: {self.message}>"
