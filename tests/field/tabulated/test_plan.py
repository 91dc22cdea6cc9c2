"""Plans: they meet their tolerance, cover their reach, and are None where no table serves."""

import pytest

from mckean.field.tabulated import bounds, costs
from mckean.field.tabulated.plan import Reach, Work, best


def _work(d, count=10**5, bits=64, own=False):
    return Work(count, count, 8, d, d, own, bits)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-9])
@pytest.mark.parametrize(("d", "reach"), [(1, 0.0), (1, 200.0), (2, 7.0), (3, 2.0)])
def test_a_plan_covers_its_reach_within_its_tolerance(d, reach, tolerance):
    plan = best(Reach((reach,) * d, (reach,) * d, 500.0), _work(d), tolerance, costs.CPU)
    assert plan is not None
    assert plan.error <= tolerance
    for lattice, kind in ((plan.keys, "error"), (plan.boxes, "error"), (plan.grid, "strip")):
        if lattice is not None:
            assert all(cells * lattice.length >= reach * (1 - 1e-9) for cells in lattice.cells)
            assert getattr(bounds, kind)(lattice.p, lattice.length) <= tolerance
    # η as the docstring has it.
    e_u = (1 + bounds.error(plan.boxes.p, plan.boxes.length)) ** d - 1
    e_y = (1 + bounds.error(plan.keys.p, plan.keys.length)) ** d - 1
    assert plan.eta == pytest.approx(e_u + bounds.amplification(plan.boxes.p, plan.boxes.length) ** d * e_y, rel=1e-12)


def test_where_no_table_serves_there_is_no_plan():
    near = Reach((2.0,), (), 10.0)
    assert best(near, _work(1), 1e-15, costs.CPU) is None
    assert best(near, _work(1, bits=32), 1e-7, costs.CPU) is None
    assert best(near, _work(1), float("nan"), costs.CPU) is None
    assert best(Reach((2.0,), (), 700.0), _work(1), 1e-3, costs.CPU) is None
    assert best(Reach((2.0,), (), 70.0), _work(1, bits=32), 1e-2, costs.CPU) is None
    assert best(Reach((200.0,) * 3, (), 599.0), _work(3), 1e-6, costs.CPU) is None


def test_a_grid_in_x_is_for_more_queries_than_it_has_nodes_and_where_its_exponents_are_known():
    reach = Reach((5.0,), (5.0,), 20.0)
    few, many = (Work(count, count, 100, 1, 1, False, 64) for count in (30, 10**5))
    assert best(reach, few, 1e-6, costs.CPU).grid is None
    assert best(reach, many, 1e-6, costs.CPU).grid is not None
    assert best(Reach((5.0,), (), 20.0), many, 1e-6, costs.CPU).grid is None


def test_reaches_that_differ_little_share_a_plan():
    plans = {best(Reach((beta,), (), 3 * beta).rounded(), _work(1), 1e-6, costs.CPU) for beta in (5.0, 5.01, 5.1)}
    assert len(plans) == 1
    a, b = Reach((1.0, 4.0), (2.0,), 7.0), Reach((2.0, 3.0), (1.0,), 9.0)
    assert a.join(b) == Reach((2.0, 4.0), (2.0,), 9.0)
    assert a.widened(2.0) == Reach((2.0, 8.0), (4.0,), 14.0)
