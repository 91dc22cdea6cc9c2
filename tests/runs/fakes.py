"""A numerical side that is small enough for tests of the machinery around it: noisy descent of a quadratic
well.

Its state has what a real one has (arrays, a random key, a step), so that checkpoints, stops and resumes are
exercised on the same kinds of leaves.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mckean.runs.execution.contracts import Tools


class State(NamedTuple):
    heads: jax.Array
    key: jax.Array
    step: jax.Array
    time: jax.Array


def step(state: State, bad_step: int) -> tuple[State, jax.Array]:
    key, sub = jax.random.split(state.key)
    heads = 0.95 * state.heads + 0.01 * jax.random.normal(sub, state.heads.shape, state.heads.dtype)
    heads = jnp.where(state.step == bad_step, heads.at[3].set(jnp.inf), heads)
    return State(heads, key, state.step + 1, state.time + 0.05), jnp.mean(state.heads**2)


_step = jax.jit(step, static_argnums=1)


@dataclass(frozen=True)
class Stepper:
    bad_step: int = -1
    pause_s: float = 0.0
    free: bool = True

    def init(self, rho0: jax.Array, key: jax.Array) -> State:
        return State(rho0, key, jnp.asarray(0), jnp.asarray(0.0))

    def settled(self, _state: State) -> Stepper:
        return self

    def cut_free(self, _state: State) -> bool:
        return self.free

    def advance(self, state: State, steps: int) -> tuple[State, dict[str, jax.Array]]:
        time.sleep(self.pause_s)
        risks: list[jax.Array] = []
        while len(risks) < steps:
            advanced, risk = _step(state, self.bad_step)
            if not jnp.isfinite(advanced.heads).all():
                break
            state = advanced
            risks.append(risk)
        records = {"risk": jnp.asarray(risks), "temperature": jnp.zeros(len(risks))}
        return state, records | {"finite": jnp.asarray(len(risks) == steps)}


@dataclass(frozen=True)
class Dataset:
    content: str = "prompts"

    def content_hash(self) -> str:
        return self.content


@dataclass(frozen=True)
class Assembly:
    stepper: Any = Stepper()
    start: Any = None
    seed: int = 0
    dataset: Dataset = Dataset()
    title: str = "a quadratic well"
    facts: dict[str, Any] = field(
        default_factory=lambda: {
            "prompts": 10,
            "tokens_max": 4,
            "data_dim": 2,
            "dim": 3,
            "heads": 8,
            "horizon": 1.0,
            "steps": 4,
        }
    )

    @property
    def rho0(self) -> Any:
        return jnp.arange(1.0, 9.0) if self.start is None else self.start

    @property
    def key(self) -> jax.Array:
        return jax.random.key(self.seed)


def tools(
    *,
    bad_step: int = -1,
    pause_s: float = 0.0,
    failing_check: bool = False,
    broken: str = "",
    dataset: Dataset | None = None,
) -> Tools:
    """The fake functions; `broken` names the one that raises as a bug would."""

    def boom(name: str) -> None:
        if broken == name:
            raise KeyError("planted")

    def assemble(config: Any) -> Assembly:
        boom("assemble")
        return Assembly(Stepper(bad_step, pause_s), seed=config.seed, dataset=dataset or Dataset())

    def evaluate(_assembly: Any, state: State) -> dict[str, float | None]:
        boom("evaluate")
        risk = float(jnp.mean(state.heads**2))
        return {"train_accuracy": 0.5, "test_accuracy": 0.5, "risk": risk, "held_out_risk": risk}

    def selfcheck(_assembly: Any, state: State) -> list[dict[str, Any]]:
        boom("selfcheck")
        value = 1.0 if failing_check else 0.0
        verdict = "fails" if failing_check else "holds"
        return [{"name": "mass", "what": "Weights sum to 1.", "value": value, "limit": 1e-9, "verdict": verdict}]

    def write_results(
        assembly: Assembly, state: State, folder: Path, checks: list[dict[str, Any]], progress: Any
    ) -> dict[str, Any]:
        boom("write_results")
        progress("Writing results.")
        risk = float(jnp.mean(state.heads**2))
        summary = {
            "schema_version": 1,
            "name": "fake",
            "problem": assembly.facts,
            "risk": {"initial": 25.5, "final": risk, "held_out": risk},
            "accuracy": {"train": 0.5, "test": 0.5},
            "baselines": [],
            "paired": [],
            "checks": checks,
        }
        (folder / "results" / "summary.json").write_text(json.dumps(summary))
        (folder / "results" / "heads.json").write_text(json.dumps(state.heads.tolist()))
        return summary

    def attempt(stepper: Stepper, state: State) -> tuple[State, float]:
        advanced, risk = _step(state, stepper.bad_step)
        return advanced, float(risk)

    return Tools(assemble, evaluate, selfcheck, write_results, attempt)


def report(run: Path, _animate: bool) -> Path:
    page = run / "report.html"
    page.write_text("<!doctype html>")
    return page


def broken_report(_run: Path, _animate: bool) -> Path:
    raise KeyError("planted")


def tools_from_environment() -> Tools:
    """For commands in a process of their own: MCKEAN_FAKE is a JSON object of the arguments of `tools`."""
    return tools(**json.loads(os.environ.get("MCKEAN_FAKE", "{}")))
