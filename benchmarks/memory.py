"""Memory of the gradient of a long flow: the library's adjoint against plain reverse mode of the dense field.

    python benchmarks/memory.py [--tokens 512] [--depth 100] [--heads 8] [--dim 4]

Prints what XLA plans to hold in temporaries for both (the plain one is only compiled, never run), and the peak memory of a process that
runs the lean one, above that of the same process before the run.
"""

import argparse
import json
import resource
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import mckean as mk
from mckean.adjoint import particle_gradient

CLAIM = 200


def setting(tokens: int, depth: int, heads: int, dim: int) -> tuple[mk.Problem, mk.Empirical]:
    """One prompt, softmax heads, squared error of the mean token, RK4."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.normal(size=shape) / np.sqrt(dim)  # noqa: E731
    rho = mk.Empirical(mk.Softmax(draw(heads, dim, dim), draw(heads, dim, dim), draw(heads, dim, dim)))
    prompts = mk.Empirical(rng.normal(size=(1, tokens, dim)), np.full((1, tokens), 1 / tokens))
    loss = mk.losses.SquaredError(mk.Readout(np.eye(dim)))
    return mk.Problem(prompts, np.ones((1, dim)), loss, horizon=1.0, steps=depth, scheme="rk4"), rho


def lean_bytes(problem: mk.Problem, rho: mk.Empirical) -> int:
    """Temporaries of the library's gradient at the atoms."""
    arrays, static = eqx.partition((problem, rho), eqx.is_array)
    return _temporaries(lambda moving: particle_gradient(*eqx.combine(moving, static)), arrays)


def plain_bytes(problem: mk.Problem, rho: mk.Empirical) -> int:
    """Temporaries of reverse mode through a scan of dense steps: nothing is recomputed."""

    def field(heads: mk.Softmax, x: jax.Array) -> jax.Array:
        logits = jnp.einsum("ia,hka,hkb,jb->hij", x, heads.query, heads.key, x)
        return jnp.einsum("hab,hij,jb->ia", heads.value, jax.nn.softmax(logits, axis=2), x) / rho.size

    def risk(heads: mk.Softmax) -> jax.Array:
        h = 1.0 / problem.steps

        def step(x, _):
            k1 = field(heads, x)
            k2 = field(heads, x + h / 2 * k1)
            k3 = field(heads, x + h / 2 * k2)
            k4 = field(heads, x + h * k3)
            return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        x, _ = jax.lax.scan(step, problem.prompts.points[0], None, length=problem.steps)
        return 0.5 * jnp.sum((jnp.mean(x, axis=0) - 1.0) ** 2)

    return _temporaries(jax.grad(risk), rho.points)


def _temporaries(function, argument) -> int:
    analysis = jax.jit(function).lower(argument).compile().memory_analysis()
    return int(analysis.temp_size_in_bytes)


def measured_bytes(tokens: int, depth: int, heads: int, dim: int) -> dict[str, float]:
    """Peak resident memory of a process that runs the lean gradient, above its peak after compiling."""
    code = f"import sys; sys.path.insert(0, {str(__file__.rsplit('/', 1)[0])!r}); import memory; memory.run({tokens}, {depth}, {heads}, {dim})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(tokens: int, depth: int, heads: int, dim: int) -> None:
    """Compile, run, and print the two peaks as JSON: the child process of `measured_bytes`."""
    jax.config.update("jax_enable_x64", True)
    problem, rho = setting(tokens, depth, heads, dim)
    arrays, static = eqx.partition((problem, rho), eqx.is_array)
    compiled = jax.jit(lambda moving: particle_gradient(*eqx.combine(moving, static))).lower(arrays).compile()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    jax.block_until_ready(compiled(arrays))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"before": before, "after": after}))


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("tokens", 512), ("depth", 100), ("heads", 8), ("dim", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    sizes = vars(parser.parse_args())
    jax.config.update("jax_enable_x64", True)
    problem, rho = setting(**sizes)
    lean, plain = lean_bytes(problem, rho), plain_bytes(problem, rho)
    peaks = measured_bytes(**sizes)
    print("gradient of an RK4 flow, float64:", ", ".join(f"{name} {value}" for name, value in sizes.items()))
    print(f"  plain reverse mode, planned: {plain / 1e6:10.1f} MB")
    print(f"  this library, planned:       {lean / 1e6:10.1f} MB")
    print(f"  ratio {plain / lean:.0f} (claim at the default sizes: at least {CLAIM})")
    print(f"  peak of the process before the run {peaks['before'] / 1e6:.0f} MB, after {peaks['after'] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
