"""The program of one process: prints one JSON object. Run by the tests as `program.py {apart CASE ... | memory | process PORT INDEX}`."""

import json
import sys
import time
from functools import partial

import equinox as eqx
import jax

import mckean as mk
from mckean.adjoint import particle_gradient
from mckean.field.sharding import looked_at, place_heads
from tests.field.sharding import cases

MESHES = {
    "training": (2, 2, 2), "gradients": (2, 2, 2), "reverse_mode": (2, 2, 2), "tables": (1, 2, 4), "adaptive": (4, 1, 2),
}  # fmt: skip


def sharded(shape, method):
    return mk.Sharded(method, **dict(zip(("prompts", "tokens", "heads"), shape, strict=True)))


def apart(*names):
    """How far the numbers of several devices are from those of one."""
    found = {}
    for name in names:
        start, case = time.process_time(), cases.CASES[name]
        found[name] = cases.farthest(case(lambda method: method), case(partial(sharded, MESHES[name])))
        print(name, time.process_time() - start, file=sys.stderr)
    return found


def memory():
    """Temporaries a device of the gradient of a long flow, for each mesh."""
    rng = cases._rng()
    size, tokens, heads = 8, 64, 8
    rho = mk.Empirical(cases.softmax(rng, heads))
    mu, targets = cases.prompts(rng, size, tokens), rng.normal(size=(size, 2))
    found = {}
    for shape in ((1, 1, 1), (2, 1, 1), (1, 2, 2), (8, 1, 1), (1, 8, 1), (1, 1, 8), (2, 2, 2)):
        method = sharded(shape, mk.Exact())
        loss = mk.losses.SquaredError(mk.Readout(rng.normal(size=(2, 2))))
        given = mk.Problem(mu, targets, loss, horizon=1.0, steps=400, scheme="euler", method=method)
        arrays, static = eqx.partition((given, place_heads(method, rho)), eqx.is_array)
        program = jax.jit(lambda moving, static=static: particle_gradient(*eqx.combine(moving, static)))
        found["×".join(map(str, shape))] = program.lower(arrays).compile().memory_analysis().temp_size_in_bytes
    return found


def process(port, index):
    """One of two processes: the numbers of all devices against those of this process alone."""
    jax.distributed.initialize(coordinator_address=f"localhost:{port}", num_processes=2, process_id=int(index))
    found = {"devices": len(jax.devices()), "here": jax.local_device_count()}
    for name in ("training", "tables"):
        many = jax.tree.map(looked_at, cases.CASES[name](partial(sharded, (1, 2, 2))))
        found[name] = cases.farthest(cases.CASES[name](lambda method: method), many)
    try:
        mk.Sharded(tokens=2)
    except mk.Refused as error:
        found["refused"] = str(error)
    return found


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    verb, *arguments = sys.argv[1:]
    print(json.dumps({"apart": apart, "memory": memory, "process": process}[verb](*arguments)))
