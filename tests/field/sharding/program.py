"""The program of one process: calls one of its functions with the words of the command line, and prints what it gives as JSON."""

import json
import sys
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import mckean as mk
from mckean.adjoint import particle_gradient
from mckean.field.sharding import looked_at, place_heads
from tests.field.sharding import cases


def sharded(shape, method):
    return mk.Sharded(method, **dict(zip(("prompts", "tokens", "heads"), shape, strict=True)))


def apart(shape, folder, *names):
    """How far the numbers of several devices are from those of one, which stay in the folder."""
    found = {}
    for name in names:
        one = cases.CASES[name](lambda method: method)
        np.savez(Path(folder) / name, *jax.tree.leaves(one))
        found[name] = cases.farthest(one, cases.CASES[name](partial(sharded, json.loads(shape))))
    return found


def memory(*shapes):
    """Temporaries a device of the gradient of a long flow, for each mesh."""
    rng = cases.fresh()
    heads = cases.softmax(rng, 8)
    mu, targets, readout = cases.prompts(rng, 8, 64), rng.normal(size=(8, 2)), mk.Readout(rng.normal(size=(2, 2)))
    found = {}
    for shape in shapes:
        method = sharded(json.loads(shape), mk.Exact())
        loss = mk.losses.SquaredError(readout)
        given = mk.Problem(mu, targets, loss, horizon=1.0, steps=400, scheme="euler", method=method)
        arrays, static = eqx.partition((given, place_heads(method, mk.Empirical(heads))), eqx.is_array)
        program = jax.jit(lambda moving, static=static: particle_gradient(*eqx.combine(moving, static)))
        found[shape] = program.lower(arrays).compile().memory_analysis().temp_size_in_bytes
    return found


def process(port, index, shape, folder, *names):
    """One of two processes: the numbers of all devices against those in the folder."""
    jax.distributed.initialize(coordinator_address=f"localhost:{port}", num_processes=2, process_id=int(index))
    found = {"devices": len(jax.devices()), "here": jax.local_device_count()}
    for name in names:
        many = jax.tree.leaves(cases.CASES[name](partial(sharded, json.loads(shape))))
        with np.load(Path(folder) / f"{name}.npz") as one:
            found[name] = cases.farthest(list(one.values()), [looked_at(leaf) for leaf in many])
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
