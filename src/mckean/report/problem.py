"""What was solved, as rows of a table, and where the run leaves the theorems' hypotheses."""

from dataclasses import dataclass

from mckean.report.folder import Record
from mckean.report.words import exact, integer, number


@dataclass(frozen=True)
class Row:
    symbol: str
    meaning: str
    value: str


HEAD_MAPS = {
    "softmax": "head map: attention",
    "perceptron": "head map: hidden unit",
    "block": "head map: attention plus hidden unit",
}


def rows(record: Record) -> list[Row]:
    """Sizes and coefficients of the problem; what is not known is not listed."""
    if record.summary is None:
        return []
    sizes = record.summary.problem
    steps = int(record.metrics["step"][-1]) if len(record.metrics) else None
    over_depth = "one measure for all" if sizes.depth == "tied" else "one measure a layer"
    tokens = f"≤ {integer(sizes.tokens_max)}" if sizes.tokens_max is not None else None
    lifted = sizes.data_dim is not None and sizes.data_dim != sizes.dim
    table = [
        ("n", "training prompts", integer(sizes.prompts)),
        ("", "moved copies of each, trained on beside it", integer(sizes.copies) if sizes.copies else None),
        ("", "held-out prompts", integer(sizes.held_out) if sizes.held_out else None),
        ("N", "tokens a prompt", tokens),
        ("d", "dimension of a token", f"{sizes.dim} (data: {sizes.data_dim})" if lifted else str(sizes.dim)),
        ("H", "heads", integer(sizes.heads)),
        ("φ", HEAD_MAPS.get(sizes.head or "", "head map"), sizes.head),
        ("k", "dimension of queries and keys", None if sizes.key_dim is None else str(sizes.key_dim)),
        ("T", "horizon of depth", exact(sizes.horizon)),
        ("L", f"depth steps ({sizes.scheme})" if sizes.scheme else "depth steps", integer(sizes.steps)),
        ("", f"heads over depth: {over_depth}", sizes.depth),
        ("", "parameters", None if sizes.parameters is None else integer(sizes.parameters)),
        ("λ", "confinement", _setting(record, "confinement")),
        ("β", "temperature at the end", _last_temperature(record)),
        ("Δs", "step of training time", _setting(record, "step_size")),
        ("", "training steps", None if steps is None else integer(steps)),
        ("", "prompts in a minibatch", _setting(record, "batch") if _minibatches(record) else None),
    ]
    return [Row(symbol, meaning, value) for symbol, meaning, value in table if value]


def departures(record: Record) -> list[str]:
    """Settings under which the convergence theorems are not stated."""
    found: list[str] = []
    if _minibatches(record):
        found.append("each step sees a minibatch of the prompts")
    if record.setting("readout", "trained") is True:
        found.append("the readout is trained along with the heads")
    if record.setting("training", "confinement") == 0:
        found.append("there is no confinement (λ = 0)")
    return found


def _minibatches(record: Record) -> bool:
    """Whether a step sees only some of the prompts."""
    batch = record.setting("training", "batch")
    prompts = record.summary.problem.prompts if record.summary else None
    return isinstance(batch, int) and not isinstance(batch, bool) and batch > 0 and (prompts is None or batch < prompts)


def _setting(record: Record, key: str) -> str | None:
    value = record.setting("training", key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return integer(value) if isinstance(value, int) else exact(value)


def _last_temperature(record: Record) -> str | None:
    value = record.metrics.last("temperature")
    return _setting(record, "temperature") if value is None else number(value)
