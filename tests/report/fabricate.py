"""Run folders made up for tests: real shapes and plausible numbers, without running anything."""

import json
from pathlib import Path
from typing import Any

import numpy as np

CONFIG = """# resolved
seed = 7

[data]
name = "digits"

[model]
head = "block"
heads = 64
key_dim = 4
dim = 12
horizon = 1.0
steps = 8
scheme = "heun"
depth = "tied"

[readout]
loss = "cross-entropy"
trained = true

[training]
steps = 600
step_size = 0.05
batch = 64
temperature = 1e-6
confinement = 1e-4
"""

DIGITS = [str(digit) for digit in range(10)]
CHECKS = (
    ("mass", "head weights sum to one at the end", 2.2e-16, 1e-12),
    ("horizon", "∫ (δL/δρ) dρ equals T ∂L/∂T on 16 prompts", 3.1e-13, 1e-9),
    ("gauge", "Q(∂L/∂Q)ᵀ equals (∂L/∂K)Kᵀ for each head", 4.4e-15, 1e-10),
    ("hamiltonian", "Σ wᵢ ⟨pᵢ, V(xᵢ)⟩ does not change with depth, up to the scheme's order", 2.4e-3, 2e-2),
    ("padding", "tokens of weight 0 receive no gradient", 0.0, 0.0),
)


def run_folder(
    root: Path,
    *,
    status: str = "done",
    results: bool = True,
    classes: list[str] | None = None,
    regression: bool = False,
    layered: bool = False,
    dim: int = 12,
    prompts: int = 12,
    lines: int = 61,
    trust: str = "trusted",
    title: str = "Handwritten digits as measures on the plane",
    annealed: bool = False,
    seed: int = 0,
) -> Path:
    """A folder `root/2026-11-30-digits-3f2a` as a run leaves it."""
    rng = np.random.default_rng(seed)
    run = root / "2026-11-30-digits-3f2a"
    (run / "checkpoints").mkdir(parents=True)
    (run / "results").mkdir()
    (run / "checkpoints" / "600.npz").write_bytes(b"x" * 2048)
    (run / "run.log").write_text("started\n")
    (run / "config.toml").write_text(CONFIG)
    names = None if regression else (classes or DIGITS)
    _write(run / "manifest.json", manifest(status))
    metrics(run / "metrics.jsonl", rng, lines=lines, classes=names is not None, annealed=annealed)
    if results:
        _write(
            run / "results" / "summary.json",
            summary(rng, names, trust=trust, title=title, layered=layered, dim=dim),
        )
        arrays(run / "results", rng, dim=dim, prompts=prompts, layered=layered, classes=names)
    return run


def manifest(status: str) -> dict[str, Any]:
    outcome: dict[str, Any] | None = {
        "code": "successful",
        "message": "600 of 600 training steps.",
        "where": {},
    }
    if status == "failed":
        outcome = {
            "code": "not-finite",
            "message": "The velocity left the finite numbers; use a smaller training.step_size.",
            "where": {"training step": 212, "depth": 0.625, "head": 31},
        }
    return {
        "schema_version": 1,
        "mckean": "0.1.0",
        "python": "3.11.2",
        "versions": {"jax": "0.10.1", "jaxlib": "0.10.1", "equinox": "0.13.8", "POT": None},
        "platform": "Linux-6.1-x86_64",
        "device": "cpu",
        "cores": 2,
        "xla_flags": "",
        "git": {"commit": "0" * 40, "dirty": False},
        "command": ["mckean", "run", "digits", "--set", "model.heads=64"],
        "seed": 7,
        "started": "2026-11-30T10:00:00+00:00",
        "ended": "2026-11-30T10:02:20+00:00" if status != "running" else None,
        "wall_s": 140.2,
        "result": outcome if status in ("done", "failed") else None,
        "status": status,
    }


def metrics(path: Path, rng: np.random.Generator, *, lines: int, classes: bool, annealed: bool) -> None:
    with path.open("w") as file:
        for line in range(lines):
            s = 0.5 * line
            risk = 2.3 * np.exp(-0.35 * s) + 0.06 + 0.02 * rng.standard_normal() * np.exp(-0.1 * s)
            accuracy = 1 - 0.88 * np.exp(-0.3 * s) - 0.02
            seen = line % 5 == 0 or line == lines - 1
            row = {
                "step": 10 * line,
                "s": s,
                "risk": float(risk),
                "temperature": 1e-3 * 0.9**line if annealed else 1e-6,
                "train_accuracy": float(min(accuracy + 0.01, 1.0)) if classes and seen else None,
                "test_accuracy": float(accuracy) if classes and seen else None,
                "held_out_risk": float(risk + 0.04) if seen else None,
                "rate": 5.1,
                "wall_s": 2.2 * line,
            }
            file.write(json.dumps(row) + "\n")


def summary(
    rng: np.random.Generator, classes: list[str] | None, *, trust: str, title: str, layered: bool, dim: int
) -> dict[str, Any]:
    checks = [
        {"name": name, "what": what, "value": value, "limit": limit, "verdict": "holds", "step": 600}
        for name, what, value, limit in CHECKS
    ]
    if trust == "UNTRUSTED":
        checks[3] |= {"value": 0.31, "verdict": "fails"}
    count = len(classes) if classes else 0
    confusion = np.diag(rng.multinomial(438, np.full(count, 1 / count))) if count else None
    if confusion is not None:
        for _ in range(12):
            row, column = rng.choice(count, 2, replace=False)
            confusion[row, column] += 1
    return {
        "schema_version": 1,
        "name": "digits",
        "title": title,
        "problem": {
            "prompts": 1347, "held_out": 450, "tokens_max": 42, "data_dim": min(3, dim), "dim": dim, "heads": 64,
            "head": "block", "key_dim": 4, "horizon": 1.0, "steps": 8, "scheme": "heun",
            "depth": "layered" if layered else "tied", "classes": classes, "parameters": 18240,
        },
        "result": {"code": "successful", "message": "600 of 600 training steps were made."},
        "risk": {"initial": 2.36, "final": 0.0612, "held_out": 0.104},
        "accuracy": {"train": 0.991, "test": 438 / 450} if classes else None,
        "baselines": [
            {"name": "readout", "label": "the same readout without the flow", "train_accuracy": 0.92 if classes else None,
             "test_accuracy": 0.9 if classes else None, "held_out_risk": 0.41},
            {"name": "hidden-units", "label": "the flow with attention off", "train_accuracy": 0.97 if classes else None,
             "test_accuracy": 428 / 450 if classes else None, "held_out_risk": 0.19},
        ],
        "paired": [
            {"against": "hidden-units", "better": 14, "worse": 4, "difference": 10 / 450, "interval": [0.004, 0.041],
             "p_value": 0.031, "test": "exact McNemar"},
        ] if classes else [],
        "checks": checks,
        "trust": trust,
        "timing": {"compile_s": 4.1, "train_s": 118.0, "total_s": 140.2},
        "confusion": confusion.tolist() if confusion is not None else None,
    }  # fmt: skip


def arrays(
    folder: Path,
    rng: np.random.Generator,
    *,
    dim: int,
    prompts: int,
    layered: bool,
    classes: list[str] | None,
) -> None:
    steps, tokens, heads, key = 8, 42, 64, 4
    times = np.linspace(0, 1, steps + 1)
    angle = np.linspace(0, 2 * np.pi, tokens, endpoint=False)
    points = np.zeros((prompts, steps + 1, tokens, dim))
    weights = rng.uniform(0.2, 1.0, (prompts, tokens))
    for row in range(prompts):
        weights[row, rng.integers(25, tokens) :] = 0
        start = 0.15 * rng.standard_normal((tokens, dim))
        start[:, 0] += np.cos(angle) * (0.5 + 0.3 * rng.random())
        if dim > 1:
            start[:, 1] += np.sin((1 + row % 3) * angle)
        turn = rng.standard_normal((dim, dim)) / np.sqrt(dim)
        points[row, 0] = start
        for step in range(steps):
            points[row, step + 1] = points[row, step] + (points[row, step] @ turn + 0.4 * rng.standard_normal(dim)) / steps
    weights /= weights.sum(axis=1, keepdims=True)
    targets = np.arange(prompts) % len(classes) if classes else rng.standard_normal(prompts)
    predicted = targets.copy()
    if classes and prompts > 6:
        predicted[6] = (targets[6] + 1) % len(classes)
    flow = {"index": np.arange(prompts) * 7, "times": times, "points": points, "weights": weights}
    flow |= {"targets": targets, "predicted": predicted, "costate": 0.1 * rng.standard_normal(points.shape)}
    np.savez(folder / "flow.npz", **flow)
    size = np.exp(rng.normal(0, 0.3, (200, 1)) + 0.8 * (1 - times)) * 0.1
    spread = np.exp(rng.normal(0, 0.1, (200, 1)) + 0.5 * times)
    quantiles = [0.1, 0.5, 0.9]
    np.savez(
        folder / "costate.npz", times=times, rms=np.quantile(size, quantiles, axis=0),
        tokens_rms=np.quantile(spread, quantiles, axis=0), prompts=200,
    )  # fmt: skip
    lead = (4, heads) if layered else (heads,)
    shapes = {
        "attention.query": (key, dim), "attention.key": (key, dim), "attention.value": (dim, dim),
        "perceptron.weight": (dim,), "perceptron.bias": (), "perceptron.output": (dim,),
    }  # fmt: skip
    before = {name: rng.standard_normal(lead + shape) / np.sqrt(dim) for name, shape in shapes.items()}
    pull = rng.choice([-1.0, 1.0], lead)
    after = {
        name: leaf + 0.3 * rng.standard_normal(leaf.shape) + 0.5 * pull.reshape(lead + (1,) * (leaf.ndim - len(lead)))
        for name, leaf in before.items()
    }
    uniform = np.full(heads, 1 / heads)
    np.savez(
        folder / "heads.npz", weights_before=uniform, weights_after=uniform,
        **{f"before.{name}": leaf for name, leaf in before.items()},
        **{f"after.{name}": leaf for name, leaf in after.items()},
    )  # fmt: skip
    _write(folder / "arrays.json", {"flow.npz": {"points": ["prompt", "depth", "token", "coordinate"]}})


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
