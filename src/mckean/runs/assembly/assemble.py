"""From a configuration to the objects of the library: prompts, heads, problem, stepper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from mckean.coupled import State, Stepper
from mckean.errors import Refused
from mckean.heads import Block, Bounded, Head, Layered, Perceptron, Softmax
from mckean.measures import Empirical
from mckean.objective import Problem, Readout, losses
from mckean.runs.assembly.embedding import embed, embedded_dim, with_copies
from mckean.runs.assembly.magnitudes import check_magnitude
from mckean.runs.assembly.reach import check_reach
from mckean.runs.configuration.config import Config
from mckean.runs.counting import counted
from mckean.runs.datasets import Dataset, PromptSet, load
from mckean.training import Dynamics, Inertial, Langevin, Optax, schedules

TOLERANCES = {"float64": (1e-8, 1e-10), "float32": (1e-4, 1e-6)}
"""rtol and atol of adaptive steps: well above the rounding of the number format, below which no step is accepted."""


@dataclass(frozen=True)
class Assembly:
    """A configuration made ready to run.

    `problem` holds the training prompts as they are measured, `held_out` the others (or None); `stepper.problem` is what is trained on:
    the training prompts and their moved copies.
    """

    config: Config
    dataset: Dataset
    problem: Problem
    held_out: Problem | None
    stepper: Stepper
    rho0: Empirical
    key: Any
    title: str
    facts: dict[str, Any]


def assemble(config: Config) -> Assembly:
    """Build everything; raises Refused where data and configuration do not fit each other."""
    dataset = prompts_of(config)
    heads_key, readout_key, key = jax.random.split(jax.random.key(config.seed), 3)
    loss = _loss(config, dataset, readout_key)
    problem = _problem(config, dataset, dataset.train, loss)
    held_out = None if dataset.test is None else _problem(config, dataset, dataset.test, loss)
    rho0 = Empirical(_cast(config, initial_heads(config, heads_key)))
    moved = with_copies(config, dataset)
    stepper = _stepper(config, problem if moved is dataset.train else _problem(config, dataset, moved, loss))
    for carried in (stepper.problem, held_out):
        if carried is not None:
            check_reach(carried, rho0)
    facts = _facts(config, dataset, rho0)
    title = (
        f"{dataset.name}: {counted(facts['prompts'], 'prompt')} of up to {counted(facts['tokens_max'], 'token')}, {counted(facts['heads'], 'head')}, "
        f"depth {facts['horizon']:g} in {facts['steps']} {facts['scheme']} steps"
    )
    return Assembly(config, dataset, problem, held_out, stepper, rho0, key, title, facts)


def prompts_of(config: Config) -> Dataset:
    """The data set that a configuration names, split and limited as it says."""
    dataset = load(config.data.name, seed=config.data.split_seed, held_out=config.data.held_out)
    return dataset.take(config.data.limit, config.data.limit)


def at_state(problem: Problem, state: State) -> Problem:
    """The problem with the state's readout."""
    return eqx.tree_at(lambda p: p.loss, problem, state.loss)


def initial_heads(config: Config, key: Any) -> Head:
    """Heads with i.i.d. Gaussian entries, of the standard deviations that the configuration states."""
    model = config.model
    if model.depth == "layered":
        layers = model.layers or model.steps
        each = [_batch(config, k) for k in jax.random.split(key, layers)]
        return Layered(jax.tree.map(lambda *leaves: jnp.stack(leaves), *each))
    return _batch(config, key)


def _batch(config: Config, key: Any) -> Head:
    model = config.model
    root = model.dim**0.5  # the laws divide by √d; the configuration states the entries' own deviation
    attention_key, unit_key = jax.random.split(key)
    scale = 1.0 if model.scale == "one" else model.key_dim**-0.5
    parts: list[Head] = []
    if model.head in ("softmax", "block"):
        parts.append(
            Softmax.normal(
                model.heads, model.dim, model.key_dim, key=attention_key, scale=scale,
                query_std=model.query_std * root, key_std=model.key_std * root, value_std=model.value_std * root,
            )
        )  # fmt: skip
    if model.head in ("perceptron", "block"):
        parts.append(
            Perceptron.normal(
                model.heads, model.dim, key=unit_key,
                weight_std=model.weight_std * root, bias_std=model.bias_std, output_std=model.output_std * root,
            )
        )  # fmt: skip
    head = Block(*parts) if len(parts) == 2 else parts[0]
    return head if model.bound is None else Bounded(head, model.bound)


def _loss(config: Config, dataset: Dataset, key: Any) -> Any:
    readout = config.readout
    classes = dataset.classes is not None
    if readout.loss == "cross-entropy" and not classes:
        raise Refused(
            f'readout.loss = "cross-entropy" needs classes; {dataset.name} has numbers as targets: set readout.loss="squared-error".'
        )
    targets = dataset.train.targets
    outputs = len(dataset.classes) if dataset.classes is not None else targets.reshape(len(targets), -1).shape[1]
    std = readout.init_std * config.model.dim**0.5
    made = Readout.normal(outputs, config.model.dim, key=key, std=std, trained=readout.trained, ridge=readout.ridge)
    made = _cast(config, made)
    return losses.CrossEntropy(made) if readout.loss == "cross-entropy" else losses.SquaredError(made)


def _problem(config: Config, dataset: Dataset, part: PromptSet, loss: Any) -> Problem:
    dtype = config.model.precision
    points = embed(config, dataset, part.points)
    check_magnitude("The coordinates of the tokens", points, dtype)
    if dataset.classes is None:
        check_magnitude("The targets", part.targets, dtype)
    prompts = Empirical(jnp.asarray(points, dtype), jnp.asarray(part.weights, dtype), normalize=True)
    model, training = config.model, config.training
    rtol, atol = TOLERANCES[model.precision]
    return Problem(
        prompts,
        _targets(config, dataset, part),
        loss,
        horizon=model.horizon,
        steps=model.steps,
        scheme=model.scheme,
        confinement=training.confinement,
        temperature=training.temperature,
        rtol=rtol,
        atol=atol,
    )


def _targets(config: Config, dataset: Dataset, part: PromptSet) -> Any:
    """Class indices; for squared error, the one-hot vector of a class or the numbers themselves."""
    if config.readout.loss == "cross-entropy":
        return jnp.asarray(part.targets)
    if dataset.classes is not None:
        return jnp.asarray(np.eye(len(dataset.classes))[part.targets.astype(np.int64)], config.model.precision)
    return jnp.asarray(part.targets, config.model.precision)


def _stepper(config: Config, problem: Problem) -> Stepper:
    training = config.training
    dynamics: dict[str, Any] = {
        "langevin": Langevin,
        "inertial": lambda: Inertial(training.friction),
        "adam": lambda: Optax(optax.adam(1.0, b2=0.99)),
        "sgd": lambda: Optax(optax.sgd(1.0)),
    }
    chosen: Dynamics = dynamics[training.dynamics]()
    annealing = None
    if training.anneal != "constant" and training.final_temperature is not None:
        factor = training.final_temperature / training.temperature
        annealing = schedules.exponential(factor) if training.anneal == "exponential" else schedules.linear(factor)
    return Stepper(
        problem,
        chosen,
        step_size=training.step_size,
        total=training.steps,
        batch=training.batch if 0 < training.batch < problem.size else None,
        step_decay=schedules.cosine() if training.step_decay == "cosine" else None,
        annealing=annealing,
        readout_rate=config.readout.rate,
    )


def _cast(config: Config, tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.astype(config.model.precision), tree)


def _facts(config: Config, dataset: Dataset, rho0: Empirical) -> dict[str, Any]:
    model = config.model
    return {
        "prompts": dataset.train.size,
        "copies": config.data.copies,
        "held_out": 0 if dataset.test is None else dataset.test.size,
        "tokens_max": dataset.train.tokens_max,
        "data_dim": dataset.train.dim,
        "filled_dim": embedded_dim(config, dataset),
        "dim": model.dim,
        "heads": model.heads,
        "head": model.head if model.bound is None else f"bounded {model.head}",
        "key_dim": None if model.head == "perceptron" else model.key_dim,
        "horizon": model.horizon,
        "steps": model.steps,
        "scheme": model.scheme,
        "depth": model.depth if model.depth == "tied" else f"layered ({model.layers or model.steps})",
        "classes": None if dataset.classes is None else list(dataset.classes),
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(rho0.points)),
    }
