"""One step size for every number of heads: risk curves at H heads converge to one curve.

    python benchmarks/transfer.py [--seeds 48] [--steps 40]

Softmax heads with hidden units (H i.i.d. Gaussian ones, β = 0), trained at one step size; the error of H is sup over training time of
|L_H(s) − L_ref(s)|, as root mean square over the seeds, with a reference of quasi-random heads. Draws docs/figures/transfer.svg and prints
the slope of log error against log H with a bootstrap interval over seeds.
"""

import argparse
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm, qmc

import mckean as mk
from mckean.coupled import stepper as training
from mckean.measures.empirical import unchecked

DIM, TOKENS, PROMPTS = 2, 4, 4
# Query, key and value matrices, then weight, bias and output of the hidden unit.
NUMBERS = 3 * DIM * DIM + 2 * DIM + 1
STEP_SIZE = 0.2


def problem() -> mk.Problem:
    """Four prompts of four tokens in the plane, a scalar regression through two Heun steps."""
    rng = np.random.default_rng(0)
    prompts = mk.Empirical(rng.uniform(-1, 1, size=(PROMPTS, TOKENS, DIM)), np.full((PROMPTS, TOKENS), 1 / TOKENS))
    loss = mk.losses.SquaredError(mk.Readout(np.asarray([[1.0, -0.5]])))
    targets = np.asarray([[0.8], [-0.6], [0.4], [-1.0]])
    return mk.Problem(prompts, targets, loss, horizon=1.0, steps=2, scheme="heun", confinement=0.01)


def block(numbers: np.ndarray) -> mk.Block:
    """Heads from standard normal numbers (H, 17)."""
    matrices = numbers[:, : 3 * DIM * DIM].reshape(-1, 3, DIM, DIM) / np.sqrt(DIM)
    rest = numbers[:, 3 * DIM * DIM :]
    hidden = mk.Perceptron(rest[:, :DIM] / np.sqrt(DIM), rest[:, DIM], rest[:, DIM + 1 :] / np.sqrt(DIM))
    return mk.Block(mk.Softmax(matrices[:, 0], matrices[:, 1], matrices[:, 2]), hidden)


def quasi_random(heads: int) -> np.ndarray:
    """Scrambled Sobol points through the normal quantile (heads, 17)."""
    return norm.ppf(qmc.Sobol(NUMBERS, seed=0).random(heads))


@partial(jax.jit, static_argnums=0)
def _curves(steps: int, stepper: training.Stepper, heads: mk.Block, weights: jax.Array) -> jax.Array:
    """L(s) (H's, steps) of several measures on the same atoms: those beyond the first H weigh nothing."""

    def one(mass: jax.Array) -> jax.Array:
        state = stepper.init(unchecked(heads, mass), jax.random.key(0))
        _, risks = jax.lax.scan(lambda s, _: _advance(stepper, s), state, None, length=steps)
        return risks

    return jax.lax.map(one, weights)


def _advance(stepper: training.Stepper, state: training.State) -> tuple[training.State, jax.Array]:
    state, record = training.step(stepper, state)
    return state, record["risk"]


def curves(
    sizes: tuple[int, ...], seeds: int, steps: int, reference: int, widths: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Risk curves (seeds, len(sizes), steps) of i.i.d. heads, and the reference's (steps,).

    Sizes are padded to the next of `widths` by heads of weight 0, so that the flow is compiled once a width and not once a size.
    """
    stepper = training.Stepper(problem(), mk.Langevin(), step_size=STEP_SIZE, total=steps)
    groups = {width: [size for size in sizes if low < size <= width] for low, width in zip((0, *widths), widths, strict=False)}
    found = []
    for seed in range(seeds):
        numbers = np.random.default_rng(1 + seed).normal(size=(widths[-1], NUMBERS))
        parts = [
            _curves(steps, stepper, block(numbers[:width]), jnp.asarray([np.where(np.arange(width) < size, 1 / size, 0.0) for size in some]))
            for width, some in groups.items()
        ]
        found.append(np.concatenate(parts))
    equal = jnp.full((1, reference), 1 / reference)
    return np.stack(found), np.asarray(_curves(steps, stepper, block(quasi_random(reference)), equal))[0]


def slope(sizes: tuple[int, ...], errors: np.ndarray, draws: int = 4000) -> tuple[float, float, float, np.ndarray]:
    """Slope of log rms error against log H with its 95 % bootstrap interval over seeds; errors (seeds, len(sizes))."""
    rng = np.random.default_rng(0)
    fit = lambda e: np.polyfit(np.log(sizes), np.log(np.sqrt(np.mean(e**2, axis=0))), 1)[0]  # noqa: E731
    again = [fit(errors[rng.integers(len(errors), size=len(errors))]) for _ in range(draws)]
    low, high = np.quantile(again, [0.025, 0.975])
    return float(fit(errors)), float(low), float(high), np.sqrt(np.mean(errors**2, axis=0))


def draw(path: Path, sizes: tuple[int, ...], found: np.ndarray, reference: np.ndarray, rms: np.ndarray, text: str) -> None:
    """Curves on the left, their error on the right."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    s = STEP_SIZE * np.arange(reference.size)
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(sizes)))
    for index, (size, colour) in enumerate(zip(sizes, colours, strict=True)):
        for seed in range(min(4, len(found))):
            left.plot(s, found[seed, index], color=colour, lw=0.9, alpha=0.8, label=f"H = {size}" if seed == 0 else None)
    left.plot(s, reference, "k--", lw=1.4, label="reference")
    left.set(xlabel="training time s", ylabel="risk", yscale="log", title=f"one step size, h = {STEP_SIZE:g}")
    left.legend(frameon=False, fontsize=8)
    right.loglog(sizes, rms, "o-", color="k", label=text)
    right.loglog(sizes, rms[0] * np.sqrt(sizes[0] / np.asarray(sizes)), ":", color="grey", label="$H^{-1/2}$")
    right.set(xlabel="heads H", ylabel="rms of $\\sup_s |L_H(s) - L_{ref}(s)|$")
    right.legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Run, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=48)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--reference", type=int, default=8192)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    sizes = (32, 128, 512, 2048)
    found, reference = curves(sizes, options.seeds, options.steps, options.reference, widths=(512, 2048))
    finite = np.all(np.isfinite(found), axis=(1, 2))
    print(f"{int((~finite).sum())} of {len(found)} seeds diverged")
    fitted, low, high, rms = slope(sizes, np.max(np.abs(found - reference), axis=2)[finite])
    for index, size in enumerate(sizes):
        print(f"H = {size:5d}: rms sup error {rms[index]:.3e}, final risk {found[finite, index, -1].mean():.5f}")
    print(f"reference: risk {reference[0]:.5f} → {reference[-1]:.5f}")
    text = f"slope {fitted:.3f} [{low:.3f}, {high:.3f}]"
    print(text)
    draw(Path(__file__).parents[1] / "docs" / "figures" / "transfer.svg", sizes, found[finite], reference, rms, text)


if __name__ == "__main__":
    main()
