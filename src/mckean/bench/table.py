"""The certified table on a setting: chosen once on the host, then called as compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mckean.bench.setting import Setting
from mckean.bench.timing import Competitor
from mckean.field import CertifiedVelocity, Exact, Tabulated, certified_velocity, dispatch
from mckean.field.method import Method
from mckean.field.tabulated.guarded import Planned

NAME, CHOSEN, BY_AUTODIFF = "table", "table, with its choice", "table, by jax.grad"


class Table:
    """mk.Tabulated(rtol) settled for a setting: `found` is its velocity with bound, plan and reason."""

    def __init__(self, setting: Setting, rtol: float):
        self.setting, self.asked = setting, Tabulated(rtol=rtol)
        self.found: CertifiedVelocity = certified_velocity(setting.rho, setting.mu, method=self.asked)

    @property
    def taken(self) -> bool:
        """Whether a table was taken, and not the exact sum."""
        return self.found.method == "tabulated"

    @property
    def method(self) -> Method:
        """Ready to be compiled."""
        return Planned(self.found.plan) if self.found.plan is not None else Exact()

    def plan(self) -> str:
        """The plan in a line: key cells and boxes in u an axis with their nodes, and those of the grid in x."""
        plan = self.found.plan
        if plan is None:
            return f"exact: {self.found.reason}"
        lattices = [("keys", plan.keys), ("u", plan.boxes), *([("x", plan.grid)] if plan.grid is not None else [])]
        return ", ".join(f"{name} {'×'.join(map(str, one.cells))} cells of {one.p} nodes" for name, one in lattices)

    def forward(self) -> Competitor:
        """The compiled evaluation, (N, d)."""
        return self._compiled(NAME, dispatch.field)

    def with_choice(self) -> Competitor:
        """The public verb: choice on the host, evaluation, and the look at its bound."""
        rho, mu = self.setting.rho, self.setting.mu
        return Competitor(CHOSEN, lambda: jax.block_until_ready(certified_velocity(rho, mu, method=self.asked).velocity))

    def gradient(self) -> Competitor:
        """The adjoint's pullback: with V evaluated on the way, the gradients of Σ_i ⟨g_i, V(x_i)⟩ in tokens and heads."""
        g = jnp.asarray(self.setting.cotangent)[None]
        return self._compiled(NAME, lambda heads, mass, x, w, method: dispatch.pullback(heads, mass, x, w, g, method))

    def gradient_by_autodiff(self) -> Competitor:
        """The same by reverse mode of the evaluation."""
        g = jnp.asarray(self.setting.cotangent)[None]

        def value_and_gradient(heads: Any, mass: Any, x: Any, w: Any, method: Method) -> Any:
            return jax.value_and_grad(lambda *moving: jnp.sum(g * dispatch.field(moving[0], mass, moving[1], w, method)), (0, 1))(
                heads, x
            )

        return self._compiled(BY_AUTODIFF, value_and_gradient)

    def _compiled(self, name: str, function: Callable[..., Any]) -> Competitor:
        compiled, rho, mu, method = eqx.filter_jit(function), self.setting.rho, self.setting.mu, self.method
        x, w = mu.points[None], mu.weights[None]
        return Competitor(name, lambda: jax.block_until_ready(compiled(rho.points, rho.weights, x, w, method)))
