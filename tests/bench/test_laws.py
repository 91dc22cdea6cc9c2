"""The laws have radius 1, the heads the norm that they say, and both are repeatable."""

import numpy as np
import pytest

from mckean.bench import laws
from mckean.bench.record import Size
from mckean.bench.setting import Setting


@pytest.mark.parametrize("law", laws.LAWS)
@pytest.mark.parametrize("dim", [1, 2, 3, 8])
def test_every_law_fills_the_unit_ball_to_its_rim(law, dim):
    points = laws.draw(law, 300, dim, seed=4)
    assert points.shape == (300, dim)
    assert abs(np.linalg.norm(points, axis=1).max() - 1) <= 1e-15
    assert np.array_equal(points, laws.draw(law, 300, dim, seed=4))
    assert not np.array_equal(points, laws.draw(law, 300, dim, seed=5))


def test_the_laws_are_what_they_are_called():
    norms = {law: np.linalg.norm(laws.draw(law, 2000, 2, seed=0), axis=1) for law in laws.LAWS}
    assert norms["sphere"].min() >= 1 - 1e-15
    assert norms["annulus"].min() >= 0.989
    assert np.argmax(norms["outlier"]) == 0
    assert np.sort(norms["outlier"])[-2] <= 0.05 + 1e-12
    assert np.median(norms["heavy tails"]) < 0.2
    assert np.linalg.matrix_rank(laws.draw("segment", 2000, 2, seed=0), tol=1e-8) == 1


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_heads_have_exactly_the_exponent(dim):
    setting = Setting(Size("ball", 50, 7, dim, 30.0), seed=1)
    a = np.asarray(setting.rho.points.bilinear)
    assert np.allclose(np.linalg.norm(a, 2, axis=(1, 2)), 30.0, rtol=1e-13)
    assert np.allclose(a, setting.bilinear, rtol=1e-14)
    assert np.allclose(setting.rho.weights, 1 / 7)


def test_a_float32_setting_is_float32_throughout():
    setting = Setting(Size("ball", 50, 2, 2, 5.0, "float32"), seed=1)
    assert {str(leaf.dtype) for leaf in (setting.tokens, setting.bilinear, setting.value, setting.cotangent)} == {"float32"}
    assert setting.rho.points.value.dtype == setting.mu.points.dtype == np.float32
