"""Explicit Runge–Kutta schemes, as tables.

A stage is Y_i = X + h Σ_j a_ij k_j with k_i = V(Y_i): the field is evaluated at the stage's own measure. Freezing the measure over the step
makes every scheme first order.
"""

from dataclasses import dataclass

from mckean.errors import Refused


@dataclass(frozen=True)
class Scheme:
    """A table: `a` strictly lower triangular (one row a stage), weights `b`, abscissae `c`; `order` of convergence."""

    name: str
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    order: int
    adaptive: bool = False

    @property
    def stages(self) -> int:
        """How many times a step evaluates the field."""
        return len(self.b)


EULER = Scheme("euler", a=((),), b=(1.0,), c=(0.0,), order=1)
"""A residual transformer layer is one step of it."""

HEUN = Scheme("heun", a=((), (1.0,)), b=(1 / 2, 1 / 2), c=(0.0, 1.0), order=2)

RK4 = Scheme(
    "rk4", a=((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)), b=(1 / 6, 1 / 3, 1 / 3, 1 / 6), c=(0.0, 1 / 2, 1 / 2, 1.0), order=4
)  # fmt: skip

TSIT5 = Scheme(
    "tsit5",
    a=(
        (),
        (161 / 1000,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
    ),
    b=(0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774),
    c=(0.0, 161 / 1000, 327 / 1000, 9 / 10, 0.9800255409045097, 1.0),
    order=5,
    adaptive=True,
)
"""Tsitouras 2011 (doi 10.1016/j.camwa.2011.06.002); the step sizes are chosen by diffrax."""

SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in (EULER, HEUN, RK4, TSIT5)}


def find(name: str) -> Scheme:
    """The scheme of that name, or a refusal that lists them."""
    if not isinstance(name, str) or name not in SCHEMES:
        raise Refused(f"`scheme` must be one of {', '.join(SCHEMES)}; found {name!r}.")
    return SCHEMES[name]
