"""A believed world: what is off in it, what stays true, and a learned policy among those who propose."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.decide.bias import Bias
from fogfold.decide.futures import Futures
from fogfold.decide.policy import Record, Rehearsed, RehearsedParams, replay
from fogfold.decide.proposers import lineup
from fogfold.encoding.arrays import fleet_arrays
from fogfold.encoding.rows import NodeRow, SiteRow
from fogfold.errors import ModelError, UnknownNameError
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.world.faults import FaultSchedule
from fogfold.world.params import WorldParams
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World


def records_of(chosen, hours=0.75):
    built = build(load_scenario("city-20"), 2, hours=hours)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=2)
    chosen.reset(2)
    records: list[Record] = []
    proposals = []
    for _ in range(built.ticks // built.params.ticks_per_step):
        proposals.append(chosen.propose(world.view()))
        if chosen.last is not None:
            records.append(chosen.last)
        world.step(orders_of(proposals[-1], fleet.nodes))
    return proposals, records, fleet


def test_power_and_bandwidth_are_off_by_their_factors_and_nothing_else_is():
    fleet = fleet_arrays(a_cluster([a_node("n0"), a_node("n1")], [a_container("c0")]))
    found = Bias(power=1.3, bandwidth=0.7).fleet(fleet)
    np.testing.assert_allclose(found.power_curve, 1.3 * fleet.power_curve)
    np.testing.assert_allclose(found.idle_w, 1.3 * fleet.idle_w)
    for row in NodeRow:
        factor = {"W": 1.3, "S": 0.7}.get(row.name[-1], 1.0) if row.name[-2:] in ("_W", "_S") else 1.0
        if row in (NodeRow.SHUTDOWN_S, NodeRow.WAKE_S, NodeRow.MTTR_S):
            factor = 1.0
        np.testing.assert_allclose(found.node[row], factor * fleet.node[row], err_msg=row.name)
    for site in SiteRow:
        factor = 0.7 if site is SiteRow.UPLINK_BIT_S else 1.0
        np.testing.assert_allclose(found.site[site], factor * fleet.site[site])
    np.testing.assert_array_equal(found.container, fleet.container)
    assert Bias(bandwidth=0.7).world(WorldParams()).migration_cap_bit_s == pytest.approx(0.7e9)


def test_load_is_off_in_every_future_and_in_their_mean():
    futures = Futures(
        np.ones((2, 3, 1), np.float32),
        np.full((3, 1), 0.5, np.float32),
        (FaultSchedule.none(), FaultSchedule.none()),
        (1, 2),
        150.0,
        0.0,
    )
    found = Bias(load=0.7).futures(futures)
    np.testing.assert_allclose(found.level, 0.7, rtol=1e-6)
    np.testing.assert_allclose(found.mean, 0.35, rtol=1e-6)
    assert found.keys == futures.keys


def test_belief_in_the_truth_changes_nothing():
    fleet = fleet_arrays(a_cluster([a_node("n0")], []))
    assert Bias().fleet(fleet) is fleet
    assert Bias().world(WorldParams()) == WorldParams()


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_factor_that_makes_no_world_is_refused(factor):
    with pytest.raises(ModelError):
        Bias(power=factor)


def test_rehearsal_is_played_in_the_believed_world_and_replays_there():
    bias = Bias(power=2.0, load=1.2)
    _, records, fleet = records_of(policy("rehearsed", futures=2, bias=bias))
    assert records
    for record in records:
        np.testing.assert_allclose(record.view.fleet.power_curve, 2.0 * fleet.power_curve)
        assert replay(record) == record.choice


def test_rehearsal_that_minds_late_requests_prices_them_so():
    chosen = policy("rehearsed", futures=2, late_weight=3.0)
    _, records, _ = records_of(chosen, hours=0.25)
    assert records[0].rates.late_request_wh == pytest.approx(3e-3)


def test_seeing_without_deciding_keeps_the_record_of_demand_whole():
    built = build(load_scenario("city-20"), 2, hours=0.5)
    fleet = fleet_arrays(built.cluster)
    chosen = Rehearsed("rehearsed", RehearsedParams(futures=2, folds=0))
    chosen.reset(2)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=2)
    for _ in range(6):
        chosen.see(world.view())
        world.step(orders_of(policy("hold").propose(world.view()), fleet.nodes))
    assert chosen._experience is not None
    np.testing.assert_allclose(chosen._experience.last, world.tape.level[0, 0], atol=10.0)
    assert chosen._experience._seen == 6


# The learned policy among those who propose.


def test_learned_proposals_stand_after_the_base_rule_and_each_draw_has_a_name_of_its_own():
    names = [proposer.name for proposer in lineup("tuned", "some.safetensors", 2)]
    assert names[:5] == ["hold", "tuned", "learned", "learned-1", "learned-2"]
    assert "learned" not in [proposer.name for proposer in lineup("tuned")]


def test_checkpoint_may_be_named_after_the_colon():
    with pytest.raises(ModelError, match=r"none\.safetensors"):
        policy("rehearsed:learned=none.safetensors")
    with pytest.raises(ModelError):
        RehearsedParams(draws=-1)


def test_forecaster_that_is_none_is_refused():
    with pytest.raises(UnknownNameError, match="combined"):
        policy("rehearsed", forecaster="combine")
