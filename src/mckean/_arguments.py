"""What numbers, keys and arrays must be before anything is computed with them: the same words everywhere.

Values that JAX traces are unknown and pass; shapes and dtypes are always looked at.
"""

import math
import numbers
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from mckean.errors import Refused


def real(value: Any, name: str, wanted: str = "one real number", advice: str = "") -> Any:
    """`value` as a float (what JAX traces as it is), or a refusal; `wanted` says what it must be, `advice` what to do."""
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise Refused(f"`{name}` must be {wanted}; found {_shown(value)}.{advice}") from None
    if array.shape != () or not _is_real(array.dtype) or jnp.issubdtype(array.dtype, jnp.bool_):
        found = _shown(value) if array.shape == () else f"an array of shape {array.shape}"
        raise Refused(f"`{name}` must be {wanted}; found {found}.{advice}")
    return value if isinstance(array, Tracer) else float(value)


def positive(value: Any, name: str, wanted: str = "a positive, finite number", advice: str = "") -> Any:
    """A number in (0, ∞)."""
    return _within(value, name, wanted, advice, lambda number: 0 < number < math.inf)


def not_negative(value: Any, name: str) -> Any:
    """A number in [0, ∞)."""
    return _within(value, name, "a finite number that is not negative", "", lambda number: 0 <= number < math.inf)


def _within(value: Any, name: str, wanted: str, advice: str, inside: Any) -> Any:
    number = real(value, name, wanted, advice)
    if not isinstance(number, Tracer) and not inside(number):
        raise Refused(f"`{name}` must be {wanted}; found {_shown(value)}.{advice}")
    return number


def count(value: Any, name: str, what: str, least: int = 1) -> int:
    """A whole number ≥ `least` as an int; `what` says what is counted."""
    if isinstance(value, Tracer):
        raise Refused(f"`{name}`, the number of {what}, sets the size of the program: inside jax.jit it must be a plain integer.")
    scalar = value.item() if getattr(value, "shape", None) == () else value  # an integer of NumPy or JAX
    if not isinstance(scalar, numbers.Integral) or isinstance(scalar, bool):
        whole = isinstance(scalar, float) and scalar.is_integer()
        advice = f"; write {name}={scalar:.0f}" if whole else ""
        raise Refused(f"The number of {what} must be an integer of at least {least}; found {name}={_shown(value)}{advice}.")
    if scalar < least:
        raise Refused(f"The number of {what} must be at least {least}; found {name}={scalar}.")
    return int(scalar)


def random_key(key: Any) -> Any:
    """One key of JAX, of the new or the old kind."""
    dtype, shape = getattr(key, "dtype", None), getattr(key, "shape", None)
    new = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    if (new and shape == ()) or (dtype == jnp.uint32 and shape in ((2,), (4,))):
        return key
    seed = key if isinstance(key, int) and not isinstance(key, bool) else 0
    found = f"{shape[0] if shape else 'several'} keys" if new else _shown(key)
    raise Refused(f"`key` must be one random key, as jax.random.key({seed}); found {found}.")


def as_float(value: Any, what: str) -> jax.Array:
    """`value` as an array of real floating numbers; `what` says what they are, in the plural."""
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise Refused(f"{what} must be real numbers; found {_shown(value)}. Pass an array of numbers.") from None
    if not _is_real(array.dtype):
        advice = "Take the real part, or two real coordinates for each complex one."
        if not jnp.issubdtype(array.dtype, jnp.complexfloating):
            advice = "Pass an array of numbers."
        raise Refused(f"{what} must be real numbers; found dtype {array.dtype}. {advice}")
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(jnp.result_type(float))


def _is_real(dtype: Any) -> bool:
    return any(jnp.issubdtype(dtype, kind) for kind in (jnp.bool_, jnp.floating, jnp.integer))


def _shown(value: Any) -> str:
    """A short text of what was found."""
    if hasattr(value, "shape") and value.shape != ():
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, numbers.Number) or value is None or getattr(value, "shape", None) == ():
        return str(value)
    return f"an object of type {type(value).__name__}"
