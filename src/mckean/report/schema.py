"""The JSON documents of a run folder, as frozen records; unknown keys are ignored, missing ones refused."""

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mckean.errors import Refused

SCHEMA_VERSION = 1

Model = TypeVar("Model", bound=BaseModel)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Outcome(Frozen):
    """How a computation ended: a code, a sentence, and where (depth, training time, head)."""

    code: str
    message: str = ""
    where: dict[str, Any] | None = None


class Check(Frozen):
    """One self-check: an identity, how far the run is from it, and how far it may be."""

    name: str
    what: str
    value: float | None
    limit: float | None
    verdict: Literal["holds", "fails"]
    step: int | None = None


class Manifest(Frozen):
    schema_version: int
    mckean: str
    status: Literal["running", "done", "stopped", "failed"]
    python: str | None = None
    versions: dict[str, Any] = {}
    platform: str | None = None
    device: Any = None
    cores: Any = None
    xla_flags: Any = None
    git: dict[str, Any] | None = None
    command: list[str] = []
    seed: int | None = None
    started: str | None = None
    ended: str | None = None
    wall_s: float | None = None
    result: Outcome | None = None
    name: str | None = None
    checks: list[Check] = []
    warnings: list[str] = []
    resumed: list[dict[str, Any]] = []


class Sizes(Frozen):
    """What was solved, in numbers; `dim` is d, `heads` H, `steps` the depth steps L."""

    prompts: int
    dim: int
    heads: int
    horizon: float
    steps: int
    held_out: int | None = None
    copies: int | None = None
    tokens_max: int | None = None
    data_dim: int | None = None
    head: str | None = None
    key_dim: int | None = None
    scheme: str | None = None
    depth: str = "tied"
    classes: list[str] | None = None
    parameters: int | None = None


class Risk(Frozen):
    initial: float | None = None
    final: float | None = None
    held_out: float | None = None


class Accuracy(Frozen):
    train: float | None = None
    test: float | None = None


class Baseline(Frozen):
    name: str
    label: str
    failed: str | None = None
    train_accuracy: float | None = None
    test_accuracy: float | None = None
    held_out_risk: float | None = None


class Paired(Frozen):
    """A comparison prompt by prompt: `better` counts prompts that the run has right and the other wrong, or of the lower loss."""

    against: str
    better: int
    worse: int
    difference: float
    interval: tuple[float, float]
    p_value: float
    test: str = "exact McNemar"


class Timing(Frozen):
    compile_s: float | None = None
    train_s: float | None = None
    total_s: float | None = None


class Summary(Frozen):
    schema_version: int
    name: str
    title: str
    problem: Sizes
    result: Outcome
    risk: Risk
    trust: Literal["trusted", "UNTRUSTED"]
    accuracy: Accuracy | None = None
    baselines: list[Baseline] = []
    paired: list[Paired] = []
    checks: list[Check] = []
    timing: Timing = Timing()
    confusion: list[list[int]] | None = None


def parse(model: type[Model], document: object, name: str) -> Model:
    """The record of `document`, read from the file `name`. Raises `Refused` naming the first wrong entry."""
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise Refused(
            f"{name} must have schema_version {SCHEMA_VERSION}, but it has {version!r}; "
            "make the report with the version of mckean that wrote the run."
        )
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Refused(f"{name} is not complete: the entry `{place}` is wrong ({first['msg']}); run the problem again.") from error
