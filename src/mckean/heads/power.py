r"""2^x by a polynomial: on a CPU half the time of XLA's own exponential, in both precisions.

With n the integer nearest to x and f = x − n in [−½, ½], 2^x = 2^n 2^f. Adding 1.5·2^52 (1.5·2^23 in float32) to n leaves it in the
last bits of the sum, from where one shift carries it into the exponent of the polynomial's value.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array

# 2^f on [−½, ½], interpolated at Chebyshev's nodes in extended precision: relative errors 3e-17 and 2.5e-9 before rounding.
_FLOAT64 = (
    1.0,
    0.6931471805599453,
    0.2402265069591016,
    0.05550410866482163,
    0.009618129107587223,
    0.0013333558146405434,
    0.0001540353046375614,
    1.5252733842758916e-05,
    1.3215432520547035e-06,
    1.0178056472371986e-07,
    7.074197066047615e-09,
    4.455930741563682e-10,
)
_FLOAT32 = (
    1.0,
    0.6931472067028326,
    0.24022650922288757,
    0.05550327226670302,
    0.009618056678524643,
    0.0013400428177615916,
    0.00015461444698568514,
)


def smallest_power(dtype) -> float:
    """The least x that `power_of_two` takes: 2^x stays a normal number."""
    return float(jnp.finfo(dtype).minexp + 1)


def power_of_two(x: Array) -> Array:
    """2^x for `smallest_power` ≤ x below the largest exponent of the dtype; not checked. Relative error 2 ulp. Has no derivative rule of its own."""
    if x.dtype == jnp.float64:
        coefficients, integer, mantissa = _FLOAT64, jnp.int64, 52
    else:
        coefficients, integer, mantissa = _FLOAT32, jnp.int32, 23
    # By an operation of its own: the compiler takes (x + magic) − magic for x.
    nearest = jax.lax.round(x, jax.lax.RoundingMethod.TO_NEAREST_EVEN)
    fraction = x - nearest
    value = jnp.full_like(fraction, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * fraction + jnp.asarray(coefficient, x.dtype)
    shifted = jax.lax.bitcast_convert_type(nearest + jnp.asarray(1.5 * 2.0**mantissa, x.dtype), integer) << mantissa
    return jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(value, integer) + shifted, x.dtype)
