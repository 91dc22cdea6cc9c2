"""What a run is: frozen sections, each field with its meaning and its bounds.

The descriptions here are the reference: the documentation's table is generated from them. A field that may
be left unset is absent from the TOML file (TOML has no null); `--set section.field=none` unsets it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """A table of the file: unknown fields, wrong types and non-finite numbers are refused, nothing is
    converted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, validate_default=True)


class Data(Section):
    """The prompts."""

    name: str = Field(
        default="digits",
        min_length=1,
        description="A packaged data set by name, or the path of an .npz or .safetensors file.",
    )
    held_out: float = Field(
        default=0.25,
        ge=0.0,
        lt=1.0,
        description=("Fraction of the prompts kept for testing, where the data set does not bring its own split."),
    )
    limit: int | None = Field(
        default=None,
        ge=1,
        description="Use only so many prompts of each split, balanced over the classes; unset means all.",
    )
    positional: str = Field(
        default="",
        description=(
            "Names of the data's coordinates, parted by spaces, that are also given as waves sin(πjx), cos(πjx): "
            "a positional encoding. Empty means none."
        ),
    )
    waves: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Number of harmonics j = 1, 2, … of the positional encoding.",
    )
    copies: int = Field(
        default=0,
        ge=0,
        le=1000,
        description=(
            "Moved copies of each training prompt that are trained on beside it: the coordinates named in `moved` pass "
            "through a random affine map near the identity. Held-out prompts are never moved."
        ),
    )
    moved: str = Field(
        default="",
        description="Names of the data's coordinates, parted by spaces, that copies are moved in.",
    )
    jitter: float = Field(
        default=0.1,
        ge=0.0,
        description="Standard deviation of the entries of that affine map beyond the identity, in the data's units.",
    )
    split_seed: int = Field(
        default=0,
        ge=0,
        lt=2**32,
        description=(
            "Seed of the split into training and held-out prompts; separate from `seed`, so that seeds are compared on one split."
        ),
    )

    @model_validator(mode="after")
    def _copies_have_coordinates(self) -> Self:
        if self.copies > 0 and not self.moved.split():
            raise ValueError(
                f"data.moved must name the coordinates that copies are moved in; found none beside copies = {self.copies}."
            )
        return self


class Model(Section):
    """The heads, and the depth that the tokens cross."""

    head: Literal["softmax", "perceptron", "block"] = Field(
        default="block",
        description="Softmax attention, hidden units, or the sum of both.",
    )
    heads: int = Field(default=32, ge=1, description="Number H of atoms of the head measure (in each layer).")
    key_dim: int = Field(default=4, ge=1, description="Dimension k of queries and keys.")
    dim: int = Field(
        default=12,
        ge=1,
        description=("Dimension d of the tokens' space; the data's coordinates come first, the others start at 0."),
    )
    bound: float | None = Field(
        default=None,
        gt=0.0,
        description=("Bound c of the values and outputs, which pass through c·tanh(v/c); unset means unbounded heads."),
    )
    scale: Literal["one", "inverse-sqrt"] = Field(default="one", description="Factor of the logits: 1, or 1/√k.")
    horizon: float = Field(default=1.0, gt=0.0, description="Depth T that the tokens cross.")
    steps: int = Field(default=3, ge=1, description="Number L of depth steps; for tsit5 the most that its adaptive steps may be.")
    scheme: Literal["euler", "heun", "rk4", "tsit5"] = Field(
        default="euler",
        description="Integrator in depth; one Euler step is one residual layer.",
    )
    depth: Literal["tied", "layered"] = Field(
        default="tied",
        description="One head measure for every depth, or one for each layer.",
    )
    layers: int | None = Field(
        default=None,
        ge=1,
        description=("Number of layers of a layered depth; it divides `steps`, and unset means one layer a step."),
    )
    query_std: float = Field(default=0.5, ge=0.0, description="Standard deviation of the entries of Q at the start, times √dim.")
    key_std: float = Field(default=0.5, ge=0.0, description="Standard deviation of the entries of K at the start, times √dim.")
    value_std: float = Field(default=0.5, ge=0.0, description="Standard deviation of the entries of V at the start, times √dim.")
    weight_std: float = Field(
        default=1.0,
        ge=0.0,
        description="Standard deviation of the hidden units' weights w at the start, times √dim.",
    )
    bias_std: float = Field(
        default=0.5,
        ge=0.0,
        description="Standard deviation of the hidden units' biases b at the start.",
    )
    output_std: float = Field(
        default=0.5,
        ge=0.0,
        description="Standard deviation of the hidden units' outputs a at the start, times √dim.",
    )
    precision: Literal["float64", "float32"] = Field(
        default="float64",
        description="Number format of tokens and heads.",
    )

    @model_validator(mode="after")
    def _layers_divide_steps(self) -> Self:
        if self.depth == "layered" and self.layers is not None and self.steps % self.layers:
            raise ValueError(
                f"model.layers must divide model.steps; found {self.layers} layers and {self.steps} steps: "
                f"take {_nearest_divisor(self.steps, self.layers)} layers."
            )
        return self


class Readout(Section):
    """From the terminal measure to a prediction, and the loss."""

    loss: Literal["cross-entropy", "squared-error"] = Field(
        default="cross-entropy",
        description="Loss of a prediction: cross-entropy for classes, squared error for numbers.",
    )
    trained: bool = Field(
        default=True,
        description="Train the readout beside the heads (outside the theorems' hypotheses).",
    )
    rate: float = Field(
        default=1.0,
        gt=0.0,
        description="Step size of the readout as a multiple of `training.step_size`.",
    )
    ridge: float = Field(
        default=1e-4, ge=0.0, description="Factor κ of the readout's own term (κ/2)|B|², in force while it is trained."
    )
    init_std: float = Field(
        default=0.0,
        ge=0.0,
        description="Standard deviation of the readout's entries at the start, times the root of the number of features.",
    )


class Training(Section):
    """The head dynamics in training time s."""

    steps: int = Field(default=200, ge=1, description="Number of training steps.")
    step_size: float = Field(default=0.05, gt=0.0, description="Training time of one step.")
    dynamics: Literal["langevin", "inertial", "adam", "sgd"] = Field(
        default="langevin",
        description=(
            "Mean-field Langevin, its inertial form, or an optimiser without noise (adam, sgd: outside the theorems' hypotheses)."
        ),
    )
    friction: float = Field(default=1.0, gt=0.0, description="Friction γ of the inertial dynamics.")
    batch: int = Field(
        default=64,
        ge=0,
        description=(
            "Prompts in a step, drawn anew each time (outside the theorems' hypotheses); all of them where it is 0, or where there are no more."
        ),
    )
    temperature: float = Field(default=0.0, ge=0.0, description="Temperature β of the noise, √(2β·step_size) a step.")
    anneal: Literal["constant", "exponential", "linear"] = Field(
        default="constant",
        description="Course of the temperature over the run.",
    )
    final_temperature: float | None = Field(
        default=None,
        ge=0.0,
        description="Temperature at the last step of an annealed run, which must have one.",
    )
    step_decay: Literal["constant", "cosine"] = Field(
        default="constant",
        description="Course of the step size over the run.",
    )
    confinement: float = Field(default=1e-4, ge=0.0, description="Factor λ of ½∫|θ|² dρ.")

    @model_validator(mode="after")
    def _temperature_has_its_course(self) -> Self:
        if self.dynamics in ("adam", "sgd") and self.temperature > 0.0:
            raise ValueError(
                f'training.temperature must be 0 under dynamics = "{self.dynamics}", which has no noise; '
                f'found {self.temperature:g}: take dynamics = "langevin" or "inertial".'
            )
        if self.anneal != "constant" and self.final_temperature is None:
            raise ValueError(f'training.final_temperature must be set where anneal = "{self.anneal}"; found none.')
        if self.anneal != "constant" and self.temperature == 0.0:
            raise ValueError(
                f'training.temperature must be positive where anneal = "{self.anneal}", which multiplies it; '
                'found 0: take anneal = "constant".'
            )
        if self.anneal == "exponential" and self.final_temperature == 0.0:
            raise ValueError(
                'training.final_temperature must be positive where anneal = "exponential"; '
                'found 0: take anneal = "linear" to reach 0.'
            )
        return self


class Output(Section):
    """What is written, and when."""

    dir: str = Field(default="runs", min_length=1, description="Folder in which run folders are made.")
    log_every: int = Field(
        default=10,
        ge=1,
        le=64,
        description="Training steps between two lines of metrics.jsonl.",
    )
    checkpoint_every: int = Field(
        default=50,
        ge=1,
        description="Training steps between two checkpoints: what a killed run loses at most.",
    )
    evaluate_every: int = Field(
        default=50,
        ge=1,
        description="Training steps between two evaluations on all prompts.",
    )
    baselines: bool = Field(
        default=True,
        description="Compare with the readout without the flow, and with hidden units alone.",
    )
    animate: bool = Field(default=True, description="Also draw the flow as an animation in the report.")
    deterministic: bool = Field(
        default=True,
        description="Compute on one thread, so that the same run gives the same bits.",
    )
    report: bool = Field(default=True, description="Write report.html and the figures at the end.")


class Config(Section):
    """A run. `seed` draws the heads, the batches and the noise."""

    seed: int = Field(default=0, ge=0, lt=2**32, description="Seed of the heads, the batches and the noise.")
    data: Data = Data()
    model: Model = Model()
    readout: Readout = Readout()
    training: Training = Training()
    output: Output = Output()

    def unused(self) -> dict[str, str]:
        """Fields that mean nothing beside the others, each with the reason: {"model.layers": "…"}."""
        model, training = self.model, self.training
        reasons: dict[str, str] = {}
        if model.head == "softmax":
            reasons |= dict.fromkeys(_UNITS, 'model.head = "softmax" has no hidden units')
        if model.head == "perceptron":
            reasons |= dict.fromkeys(_ATTENTION, 'model.head = "perceptron" has no attention')
        if model.depth == "tied":
            reasons["model.layers"] = 'model.depth = "tied" has one head measure for every depth'
        if not self.readout.trained:
            reasons |= dict.fromkeys(("readout.rate", "readout.ridge"), "readout.trained = false leaves the readout as it is")
        if training.dynamics != "inertial":
            reasons["training.friction"] = f'training.dynamics = "{training.dynamics}" has no velocity'
        if training.anneal == "constant":
            reasons["training.final_temperature"] = 'training.anneal = "constant" keeps the temperature'
        return reasons


_UNITS = ("model.weight_std", "model.bias_std", "model.output_std")
_ATTENTION = ("model.key_dim", "model.scale", "model.query_std", "model.key_std", "model.value_std")
SECTIONS: tuple[str, ...] = tuple(name for name, field in Config.model_fields.items() if name != "seed")


def field_names() -> tuple[str, ...]:
    """Every field by its dotted name, in the order of the file."""
    names = ["seed"]
    for section in SECTIONS:
        annotation = Config.model_fields[section].annotation
        assert isinstance(annotation, type)
        assert issubclass(annotation, Section)
        names += [f"{section}.{field}" for field in annotation.model_fields]
    return tuple(names)


def is_path(name: str) -> bool:
    """Whether `data.name` names a file rather than a packaged data set."""
    return "/" in name or "\\" in name or Path(name).suffix.lower() in (".npz", ".safetensors")


def _nearest_divisor(steps: int, layers: int) -> int:
    return min((n for n in range(1, steps + 1) if steps % n == 0), key=lambda n: abs(n - layers))
