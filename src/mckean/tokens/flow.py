"""The result of `transport`."""

from typing import Any

import equinox as eqx
from jax.core import Tracer

from mckean._shapes import Array
from mckean.errors import Refused
from mckean.measures.empirical import Empirical, unchecked
from mckean.result import Result


class Flow(eqx.Module):
    """Tokens through depth.

    Attributes:
        times: the saved depths (L+1,) (fewer if fewer were asked for).
        points: the tokens there (L+1, N, d), for a batch (n, L+1, N, d); None where a function of the state was saved instead.
        weights: (N,) or (n, N): mass does not change along the flow.
        saved: what the function of the state gave at each time, stacked along axis 0, or None.
        final: the terminal measure.
        stats: scheme, depth steps, evaluations of the field, how it was evaluated and its error's bound (`field`),
            effective sample size of the attention, warnings.
        result: how the solve ended; `.ok`, `.message`.
    """

    times: Array
    points: Array | None
    weights: Array
    saved: Any
    final: Empirical
    stats: dict[str, Any]
    result: Result = eqx.field(static=True)

    def at(self, index: int) -> Empirical:
        """The token measure at the saved depth `times[index]`."""
        if self.points is None:
            raise Refused("This flow saved a function of the state, not the tokens; use save='all' or a list of times.")
        return unchecked(self.points[..., index, :, :], self.weights)

    def __repr__(self) -> str:
        return self.card()

    def card(self) -> str:
        """The flow on a few lines: what was solved, sizes, dtype, effective sample size, warnings."""
        stats, shape = self.stats, self.final.points.shape
        prompts = f"{shape[0]} prompts of " if len(shape) == 3 else ""
        end = "T" if isinstance(self.times, Tracer) else f"{float(self.times[-1]):g}"
        lines = [
            f"Flow: {prompts}{shape[-2]} tokens in R^{shape[-1]}, t from 0 to {end}, {self.final.points.dtype.name}",
            f"  {stats['scheme']}, {stats['steps']} depth steps, {stats['evaluations']} evaluations of the field, {stats['heads']} heads",
            f"  saved {len(self.times)} depths; result: {self.result.message}",
        ]
        field = stats.get("field")
        if field is not None and "bound" in field:
            lines.append(
                f"  field by a table: {field['tabulated']} of {field['evaluations']} evaluations, relative error at most {field['bound']:.1e}"
            )
            lines.extend([f"  {field['note']}"] if "note" in field else [])
        ess = stats.get("effective_sample_size")
        if ess is not None:
            lines.append(
                f"  effective sample size of the attention: median {ess['median']:.3g}, least {ess['least']:.3g} "
                f"(uniform attention: {ess['uniform']:.3g})"
            )
        return "\n".join([*lines, *(f"  warning: {text}" for text in stats["warnings"])])
