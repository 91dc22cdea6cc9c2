"""What a finished run leaves in `results/`: predictions and baselines in words and numbers, flow, costate and heads as labelled arrays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mckean.adjoint import functional_gradient
from mckean.coupled import State
from mckean.heads import Head, Layered
from mckean.objective import risk
from mckean.objective.evaluation import trajectories
from mckean.runs.assembly.assemble import Assembly, at_state
from mckean.runs.evaluation.baselines import Baseline, all_baselines
from mckean.runs.evaluation.beside import Beside
from mckean.runs.evaluation.pairing import paired
from mckean.runs.evaluation.predictions import Predictions, predict

SHOWN = 6
SAMPLED = 64
DIMS = {
    "flow.npz": {
        "index": ["prompt"],
        "times": ["depth"],
        "points": ["prompt", "depth", "token", "coordinate"],
        "weights": ["prompt", "token"],
        "targets": ["prompt"],
        "predicted": ["prompt"],
        "costate": ["prompt", "depth", "token", "coordinate"],
    },
    "costate.npz": {"times": ["depth"], "rms": ["quantile", "depth"], "tokens_rms": ["quantile", "depth"], "prompts": []},
    "predictions.npz": {"scores": ["prompt", "output"], "losses": ["prompt"], "correct": ["prompt"]},
}


def write_results(
    assembly: Assembly,
    state: State,
    folder: Path,
    checks: list[dict[str, Any]],
    progress: Callable[[str], None],
    beside: Beside | None = None,
) -> dict[str, Any]:
    """Write `results/` of the run folder and give the summary. `beside` is the baseline with attention off, where it is under way."""
    results = folder / "results"
    progress("Evaluating all prompts.")
    train = predict(assembly, state, held_out=False)
    assert train is not None
    held_out = predict(assembly, state, held_out=True)
    initial = float(risk(assembly.problem, assembly.rho0))
    progress("Following tokens and costate through depth.")
    shown = held_out if held_out is not None else train
    _write_flow(assembly, state, results, shown)
    progress("Comparing heads before and after.")
    names = _write_heads(assembly, state, results)
    _save(results / "predictions.npz", _prediction_arrays(train, held_out))
    baselines = (
        all_baselines(assembly, state, progress, None if beside is None else beside.result)
        if assembly.config.output.baselines
        else []
    )
    dims = DIMS | {"heads.npz": names}
    (results / "arrays.json").write_text(json.dumps(dims, indent=2) + "\n")
    return {
        "schema_version": 1,
        "name": assembly.dataset.name,
        "title": assembly.title,
        "problem": assembly.facts,
        "risk": {"initial": initial, "final": train.risk, "held_out": None if held_out is None else held_out.risk},
        "accuracy": _accuracy(train, held_out),
        "baselines": [_baseline(entry) for entry in baselines],
        "paired": [
            {"against": entry.name, **compared}
            for entry in baselines
            if held_out is not None and entry.held_out is not None
            if (compared := paired(held_out, entry.held_out)) is not None
        ],
        "confusion": _confusion(assembly, held_out),
    }


def _save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """An .npz file; names may hold dots."""
    np.savez(path, allow_pickle=False, **arrays)  # type: ignore[arg-type]


def _accuracy(train: Predictions, held_out: Predictions | None) -> dict[str, float | None] | None:
    if train.accuracy is None:
        return None
    return {"train": train.accuracy, "test": None if held_out is None else held_out.accuracy}


def _baseline(entry: Baseline) -> dict[str, Any]:
    held_out = entry.held_out
    return {
        "name": entry.name,
        "label": entry.label,
        "failed": entry.failed,
        "train_accuracy": None if entry.train is None else entry.train.accuracy,
        "test_accuracy": None if held_out is None else held_out.accuracy,
        "held_out_risk": None if held_out is None else held_out.risk,
    }


def _confusion(assembly: Assembly, held_out: Predictions | None) -> list[list[int]] | None:
    """Counts by [target][predicted] on the held-out prompts."""
    classes, test = assembly.dataset.classes, assembly.dataset.test
    if held_out is None or classes is None or test is None:
        return None
    counts = np.zeros((len(classes), len(classes)), int)
    np.add.at(counts, (test.targets.astype(np.int64), held_out.scores.argmax(axis=1)), 1)
    return counts.tolist()


def _prediction_arrays(train: Predictions, held_out: Predictions | None) -> dict[str, np.ndarray]:
    part = train if held_out is None else held_out
    arrays = {"scores": part.scores, "losses": part.losses}
    return arrays if part.correct is None else arrays | {"correct": part.correct}


def _write_flow(assembly: Assembly, state: State, results: Path, shown: Predictions) -> None:
    """Tokens and costate of a few prompts, and quantiles over more of them; held-out prompts where there are any."""
    held_out = assembly.held_out is not None
    problem = at_state(assembly.held_out if assembly.held_out is not None else assembly.problem, state)
    part = assembly.dataset.test if held_out and assembly.dataset.test is not None else assembly.dataset.train
    index = _some(part.targets, assembly.dataset.classes is not None)
    sample = problem.select(jnp.asarray(index))
    times, points = trajectories(sample, state.rho)
    costate = np.asarray(functional_gradient(sample, state.rho).costate)
    points, weights = np.asarray(points), np.asarray(sample.prompts.weights)
    few = slice(0, min(SHOWN, len(index)))
    predicted = shown.scores.argmax(axis=1) if assembly.dataset.classes is not None else shown.scores
    np.savez(
        results / "flow.npz",
        index=index[few], times=np.asarray(times), points=points[few], weights=weights[few],
        targets=np.asarray(part.targets)[index][few], predicted=predicted[index][few], costate=costate[few],
    )  # fmt: skip
    w = weights[:, None, :, None]
    spread = points - np.sum(w * points, axis=2, keepdims=True)
    np.savez(
        results / "costate.npz",
        times=np.asarray(times), rms=_quantiles(w * costate**2), tokens_rms=_quantiles(w * spread**2), prompts=np.asarray(len(index)),
    )  # fmt: skip


def _quantiles(squares: np.ndarray) -> np.ndarray:
    """10, 50 and 90 % over prompts of the root of the sum over tokens and coordinates: (3, L+1)."""
    return np.quantile(np.sqrt(squares.sum(axis=(2, 3))), [0.1, 0.5, 0.9], axis=0)


def _some(targets: np.ndarray, classes: bool) -> np.ndarray:
    """Up to 64 prompts, the classes in turn."""
    if not classes:
        return np.arange(min(SAMPLED, len(targets)))
    rank = np.zeros(len(targets), int)
    for value in np.unique(targets):
        rank[targets == value] = np.arange(np.sum(targets == value))
    return np.lexsort((targets, rank))[:SAMPLED]


def _write_heads(assembly: Assembly, state: State, results: Path) -> dict[str, list[str]]:
    before, after = assembly.rho0, state.rho
    layered = isinstance(before.points, Layered)
    atoms = ["layer", "head"] if layered else ["head"]
    arrays = {"weights_before": np.asarray(before.weights), "weights_after": np.asarray(after.weights)}
    dims = dict.fromkeys(arrays, atoms)
    for moment, rho in (("before", before), ("after", after)):
        heads: Head = rho.points.heads_by_layer if isinstance(rho.points, Layered) else rho.points
        for path, leaf in jax.tree_util.tree_flatten_with_path(heads)[0]:
            name = moment + jax.tree_util.keystr(path)
            arrays[name] = np.asarray(leaf)
            dims[name] = atoms + [f"axis_{i}" for i in range(leaf.ndim - len(atoms))]
    _save(results / "heads.npz", arrays)
    return dims
