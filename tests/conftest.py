"""The strict settings of every test: float64, no silent promotion of dtype or rank, annotations of shapes and types checked."""

import jax
import jaxtyping

PACKAGES = ("measures", "heads", "field", "tokens", "objective", "adjoint", "training", "coupled", "theory")

# Before the first import of these packages, which it rewrites: their functions check their annotations as they are called (traced).
jaxtyping.install_import_hook([f"mckean.{name}" for name in PACKAGES], "beartype.beartype")

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
