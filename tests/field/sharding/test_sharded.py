"""Several devices give the numbers of one, to 1e-12, and each holds its share of the memory."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import mckean as mk
from tests.field.sharding import cases

ROOT = Path(__file__).parents[3]
CLOSE = 1e-12  # accepted, relative to the largest number of an array
SHARE = 1.25  # accepted: memory a device, times devices, over the memory of one device
MESHES = ("[1, 1, 1]", "[2, 1, 1]", "[1, 2, 2]", "[2, 2, 2]")


def start(devices, *words):
    """`program` in a process of its own; what it computes needs no fast machine code, which would take long to make."""
    flags = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    environ = os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.field.sharding.program", *words]
    return subprocess.Popen(command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(process):
    """The JSON that it prints in its last line; other libraries may write before."""
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("numbers")


@pytest.fixture(scope="module")
def eight(folder):
    """How far eight devices are from one, case by case."""
    return told(start(8, "apart", "[2, 2, 2]", str(folder), *cases.CASES))


@pytest.mark.parametrize("case", cases.CASES)
def test_eight_devices_give_the_numbers_of_one(eight, case):
    assert eight[case] <= CLOSE


def test_two_processes_give_the_numbers_of_one_device(eight, folder):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    both = [start(2, "process", port, str(i), "[2, 1, 2]", str(folder), "training", "flow") for i in range(2)]
    for found in [told(process) for process in both]:
        assert (found["devices"], found["here"]) == (4, 2)
        assert max(found["training"], found["flow"]) <= CLOSE
        assert "all 4 devices" in found["refused"]


def test_memory_a_device_falls_like_one_over_devices():
    planned = told(start(8, "memory", *MESHES))
    alone = planned.pop("[1, 1, 1]")
    for shape, here in planned.items():
        a, b, c = json.loads(shape)
        assert here * a * b * c <= SHARE * alone, (shape, here, alone)


def test_devices_that_are_not_there_are_refused():
    there = len(jax.devices())
    with pytest.raises(mk.Refused, match=f"1 × 1 × {there + 1} = {there + 1} and {there} cpu device"):
        mk.Sharded(heads=there + 1)


def test_numbers_of_devices_are_checked():
    with pytest.raises(mk.Refused, match="devices along the tokens must be at least 1"):
        mk.Sharded(tokens=0)


def test_meshes_are_not_nested():
    with pytest.raises(mk.Refused, match="how each device evaluates"):
        mk.Sharded(mk.Sharded())
