"""A scenario and a seed make a world's inputs: the same each time, part by part from streams of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.errors import ModelError, PlacementError, ScenarioError, TraceError
from fogfold.model.cluster import Scope
from fogfold.model.container import Movability
from fogfold.model.geography import great_circle_km
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import Architecture, NodeState
from fogfold.model.placement import refusal
from fogfold.model.reason import Reason
from fogfold.model.snapshot import Snapshot
from fogfold.units import GIB, MIB
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.crew import draw_crew
from fogfold.world.scenario.fleet import draw_fleet, whole_counts
from fogfold.world.scenario.ground import draw_ground
from fogfold.world.scenario.load import load_scenario, parse_scenario
from fogfold.world.workload.archive import save_workload


def built(text: str, seed: int = 1, **more: float) -> BuiltScenario:
    return build(parse_scenario(text), seed, **more)


def same_workload(a: BuiltScenario, b: BuiltScenario) -> bool:
    return a.workload.level.tobytes() == b.workload.level.tobytes()


def test_same_seed_gives_the_same_bytes():
    first, second = (build(load_scenario("city-20"), 5) for _ in range(2))
    assert first.cluster == second.cluster
    assert same_workload(first, second)
    assert first.workload.surge.tobytes() == second.workload.surge.tobytes()
    for name in ("tick", "kind", "target", "ticks", "magnitude"):
        assert getattr(first.faults, name).tobytes() == getattr(second.faults, name).tobytes()


def test_another_seed_gives_another_world():
    first, second = (build(load_scenario("city-20"), seed) for seed in (1, 2))
    assert first.cluster.sites != second.cluster.sites
    assert first.cluster.containers != second.cluster.containers
    assert not same_workload(first, second)


def test_negative_seed_is_refused(small: str):
    with pytest.raises(ModelError, match="seed -1 is negative"):
        built(small, -1)


def test_more_hours_meet_the_same_cluster_and_begin_alike(small: str):
    short, long = built(small), built(small, hours=30.0)
    assert short.cluster == long.cluster
    assert (short.ticks, long.ticks) == (240, 3600)
    samples = len(short.workload.level)
    assert long.workload.level[:samples].tobytes() == short.workload.level.tobytes()


def test_hours_that_end_within_a_sample_are_kept(small: str):
    world = built(small, hours=2.1)
    assert world.ticks == 252
    assert world.workload.ticks >= 252


def test_hours_off_the_tick_are_refused(small: str):
    with pytest.raises(ScenarioError, match=r"hours is 0\.003; it must be a whole number of ticks"):
        built(small, hours=0.003)


def test_parts_do_not_shift_each_other(changed: Callable[..., str], small: str):
    plain = built(small)
    more_users = built(changed(("    loss: 0", "    loss: 0\n    users_sigma: 1.5")))
    assert more_users.cluster.sites == plain.cluster.sites
    assert more_users.cluster.nodes == plain.cluster.nodes
    assert [c.request for c in more_users.cluster.containers] == [c.request for c in plain.cluster.containers]
    assert [c.users for c in more_users.cluster.containers] != [c.users for c in plain.cluster.containers]
    calmer = built(changed(("mean_level: 0.4", "mean_level: 0.2"), ("hours: 2", "hours: 2\nfaults: off")))
    assert calmer.cluster == plain.cluster
    assert len(calmer.faults) == 0


def test_start_is_seconds_since_monday(small: str):
    assert built(small).start_s == 6 * 3600.0


def test_constants_of_the_scenario_reach_the_world(changed: Callable[..., str]):
    assert built(changed(("hours: 2", "hours: 2\nworld: {ceiling: 0.75}"))).params.ceiling == 0.75


def test_machine_of_the_file_makes_nodes(changed: Callable[..., str]):
    world = built(changed(("machine: radxa-rock-5b", "machine: my-box")))
    mine = [node for node in world.cluster.nodes if node.power_curve.name == "my-box"]
    assert len(mine) == 3
    assert mine[0].capacity.as_tuple() == (4.0, 8 * GIB, 1e9, 1000.0)
    assert mine[0].power_curve.points_w == tuple(float(w) for w in range(10, 21))
    assert (mine[0].mtbf_s, mine[0].mttr_s, mine[0].sleep_w) == (365 * 86400.0, 4 * 3600.0, 1.0)


def test_nodes_without_failures_never_fail(changed: Callable[..., str]):
    world = built(changed(("    count: 6", "    count: 6\n    failures: false")))
    assert all(node.mtbf_s == float("inf") for node in world.cluster.nodes)


def test_spare_nodes_do_not_count_for_containers(changed: Callable[..., str]):
    per_node = ("  total: 24", "  per_node: 4\n  request_share: {cpu: 0.5, memory: 0.4}")
    plain = built(changed(per_node))
    spare = built(changed(per_node, ("    count: 6", "    count: 6\n    spare: 4")))
    assert len(plain.cluster.containers) == len(spare.cluster.containers) == 24
    assert (len(plain.cluster.nodes), len(spare.cluster.nodes)) == (6, 10)
    offered = sum(node.capacity.cpu_cores for node in spare.cluster.nodes[:6])
    asked = sum(container.request.cpu_cores for container in spare.cluster.containers)
    assert asked == pytest.approx(0.5 * offered, rel=0.01)


def test_requests_take_the_share_that_was_asked_for(changed: Callable[..., str]):
    world = built(changed(("  total: 24", "  total: 24\n  request_share: {cpu: 0.4, memory: 0.3}")))
    offered = np.sum([node.capacity.as_tuple() for node in world.cluster.nodes], axis=0)
    asked = np.sum([container.request.as_tuple() for container in world.cluster.containers], axis=0)
    assert asked[0] / offered[0] == pytest.approx(0.4, rel=0.01)
    assert asked[1] / offered[1] == pytest.approx(0.3, rel=0.01)
    for container in world.cluster.containers:
        assert container.request.cpu_cores * 1000 == pytest.approx(round(container.request.cpu_cores * 1000), abs=1e-6)
        assert container.request.memory_bytes % MIB == 0


def test_request_share_that_the_bounds_forbid_is_refused(changed: Callable[..., str]):
    text = changed(
        ("  total: 24", "  total: 4\n  request_share: {cpu: 0.9}"),
        ("cpu_cores: 0.4", "cpu_cores: {median: 0.4, most: 0.5}"),
    )
    with pytest.raises(ScenarioError, match=r"request_share.cpu cannot be met"):
        built(text)


def test_never_sleeping_nodes_are_rounded_up(changed: Callable[..., str]):
    world = built(changed(("    count: 6", "    count: 6\n    never_sleep_share: 0.2")))
    assert sum(node.never_sleep for node in world.cluster.nodes) == 2


def test_every_site_has_a_node_and_none_too_many(changed: Callable[..., str]):
    text = changed(("    count: 6", "    count: 14\n    spare: 1\n    most_per_site: 5"))
    for seed in range(8):
        counts = Counter(node.site for node in built(text, seed).cluster.nodes)
        assert sorted(counts.values()) == [5, 5, 5]


def test_services_have_their_shares_and_groups_their_members(small: str):
    world = built(small)
    assert Counter(c.id.split("-")[0] for c in world.cluster.containers) == {"web": 18, "api": 6}
    assert [group.id for group in world.cluster.groups] == ["api-set-00", "api-set-01"]
    for group in world.cluster.groups:
        members = world.cluster.members(group.id)
        assert len(members) == 3
        assert len({(m.request, m.image, m.users) for m in members}) == 1
        assert group.anti_affinity is Scope.NODE


def test_last_group_takes_what_is_left_over(changed: Callable[..., str]):
    world = built(changed(("count: 3, anti_affinity", "count: 4, anti_affinity")))
    assert Counter(c.group for c in world.cluster.containers if c.group) == {"api-set-00": 4, "api-set-01": 2}


def test_users_are_local_first_and_then_the_nearest(changed: Callable[..., str]):
    for neighbours, expected in ((1, [0.6, 0.4]), (2, [0.6, 0.2, 0.2])):
        rule = f"users: {{local_share: 0.6, neighbours: {neighbours}}}"
        cluster = built(changed(("replicas: {count: 3, anti_affinity: node}", rule))).cluster
        for container in cluster.containers[18:]:
            assert [share for _, share in container.users] == pytest.approx(expected)
            home, *others = [cluster.sites[cluster.site_index[region]] for region, _ in container.users]
            away = [great_circle_km(home.latitude_deg, home.longitude_deg, one.latitude_deg, one.longitude_deg)
                    for one in cluster.sites if one is not home]  # fmt: skip
            met = [great_circle_km(home.latitude_deg, home.longitude_deg, one.latitude_deg, one.longitude_deg)
                   for one in others]  # fmt: skip
            assert met == sorted(away)[:neighbours]


def test_main_user_region_sets_the_clock(changed: Callable[..., str], area: str):
    places = "{id: here, latitude_deg: 50.9, longitude_deg: 0}, {id: there, latitude_deg: 50.9, longitude_deg: 150}"
    text = changed(
        (area, f"kind: listed\n      places: [{places}]"),
        ("hours: 2", "hours: 24"),
        ("  total: 24", "  total: 240"),
        ("profile: residential", "profile: business\n      users: {local_share: 1, neighbours: 0}"),
        ("cpu_cores: {median: 0.3, sigma: 0.5, most: 2}", "cpu_cores: 0.02"),
        ("cpu_cores: 0.4", "cpu_cores: 0.02"),
    )
    world = built(text)
    level = world.workload.level
    peak_h = {}
    for site in ("here", "there"):
        columns = [
            i for i, c in enumerate(world.cluster.containers) if c.id.startswith("web") and c.users[0][0] == site
        ]
        assert len(columns) > 30
        by_hour = level[:288, columns].mean(axis=1).reshape(24, 12).mean(axis=1)
        angle = np.angle((by_hour * np.exp(2j * np.pi * np.arange(24) / 24)).sum())
        peak_h[site] = (6 + angle / (2 * np.pi) * 24) % 24
    # Ten hours of longitude lie between them: noon there is 02:00 here.
    assert (peak_h["here"] - peak_h["there"]) % 24 == pytest.approx(10, abs=1.5)


def test_data_lies_within_reach_of_a_node_that_fits(changed: Callable[..., str]):
    text = changed(
        ("extent_km: 10", "extent_km: 100"),
        ("      image: {name: api", "      data: {share: 1, distance_km: 0}\n      image: {name: api"),
        ("architectures: [amd64, arm64]\n      data", "architectures: [arm64]\n      data"),
        ("replicas: {count: 3, anti_affinity: node}", "start_s: 1"),
    )
    for seed in range(10):
        cluster = built(text, seed).cluster
        arm_sites = {node.site for node in cluster.nodes if node.architecture is Architecture.ARM64}
        assert {c.data_site for c in cluster.containers[18:]} <= arm_sites
        assert all(c.data_distance_km == 0 for c in cluster.containers[18:])


def test_pinned_containers_fit_together_on_their_nodes(changed: Callable[..., str]):
    text = changed(
        ("      image: {name: api", "      pinned_share: 1\n      image: {name: api"), ("  total: 24", "  total: 50")
    )
    for seed in range(5):
        cluster = built(text, seed).cluster
        pinned = [c for c in cluster.containers if c.pinned_to is not None]
        assert pinned
        for node in cluster.nodes:
            here = [c for c in pinned if c.pinned_to == node.id]
            assert sum(c.request.cpu_cores for c in here) <= node.capacity.cpu_cores
        for group in cluster.groups:
            places = [c.pinned_to for c in cluster.members(group.id) if c.pinned_to is not None]
            assert len(places) == len(set(places))


def test_pins_stop_where_nodes_are_full(changed: Callable[..., str]):
    text = changed(
        ("      image: {name: api", "      pinned_share: 1\n      image: {name: api"),
        ("replicas: {count: 3, anti_affinity: node}", "start_s: 1"),
        ("cpu_cores: 0.4", "cpu_cores: 2.5"),
    )
    for seed in range(5):
        pinned = [c.pinned_to for c in built(text, seed).cluster.containers if c.pinned_to is not None]
        # Each node holds one of 2.5 cores, none holds two.
        assert len(pinned) == len(set(pinned)) == 6


def test_main_region_is_the_one_with_the_largest_share(changed: Callable[..., str]):
    text = changed(
        ("replicas: {count: 3, anti_affinity: node}", "users: {local_share: 0.2, neighbours: 1}"),
        ("profile: residential", "profile: residential\n      users: {local_share: 0.5, neighbours: 2}"),
    )
    scenario = parse_scenario(text)
    ground = draw_ground(scenario, 1)
    crew = draw_crew(scenario, ground, draw_fleet(scenario, ground, 1), 24, 1)
    for container, region in zip(crew.containers, crew.main_region, strict=True):
        shares = dict(container.users)
        assert shares[ground.sites[region].id] == max(shares.values())


def test_movability_is_drawn_in_its_shares(changed: Callable[..., str]):
    text = changed(
        ("image: {name: web", "movability: {live: 0.5, restart: 0.3, never: 0.2}\n      image: {name: web"),
        ("  total: 24", "  total: 800\n  request_share: {cpu: 0.5, memory: 0.4}"),
    )
    counts = Counter(c.movability for c in built(text).cluster.containers[:600])
    assert counts[Movability.LIVE] == pytest.approx(300, abs=60)
    assert counts[Movability.RESTART] == pytest.approx(180, abs=60)
    assert counts[Movability.NEVER] == pytest.approx(120, abs=50)


WEB = "      image: {name: web"
NOWHERE = [
    ("[amd64, arm64]\n      image: {name: web", "[riscv64]\n      image: {name: web", "none has architecture riscv64"),
    (
        WEB,
        f"      accelerator: {{kind: tpu}}\n{WEB}",
        "none with architecture amd64/arm64 has 1 x tpu",
    ),
    ("{median: 0.3, sigma: 0.5, most: 2}", "30", r"are too small \(cpu 30 of at most 4.12"),
    ("memory_mib_per_core: 2000", "memory_mib_per_core: 1e6", "are too small .*memory .* lower its sizes with `most`"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), NOWHERE)
def test_container_that_fits_nowhere_is_named_with_the_reason(
    changed: Callable[..., str], old: str, new: str, sentence: str
):
    with pytest.raises(PlacementError, match=f"container 'web-00' fits on none of the 6 nodes: .*{sentence}"):
        built(changed((old, new)))


def test_group_with_more_members_than_places_is_named(changed: Callable[..., str]):
    text = changed(("count: 3, anti_affinity: node", "count: 6, anti_affinity: site"))
    with pytest.raises(PlacementError, match="group 'api-set-00' has 6 members that may not share a site, but only 3"):
        built(text)


def test_containers_that_ask_for_more_than_there_is_are_refused(changed: Callable[..., str]):
    with pytest.raises(PlacementError, match=r"all containers together ask for .* of cpu, all nodes offer 22\.95"):
        built(changed(("  total: 24", "  total: 240")))


def test_more_accelerators_than_there_are_is_refused(changed: Callable[..., str]):
    text = changed(
        ("machine: radxa-rock-5b", "machine: nvidia-jetson-orin-nx"),
        ("replicas: {count: 3, anti_affinity: node}", "accelerator: {kind: nvidia-orin}"),
    )
    with pytest.raises(PlacementError, match="need 6 x nvidia-orin together, the nodes have 3"):
        built(text)


def test_accelerators_near_data_are_enough_in_any_order(changed: Callable[..., str]):
    need = "accelerator: {kind: nvidia-orin}\n      data: {share: 1, distance_km: 4}"
    text = changed(
        ("machine: radxa-rock-5b", "machine: nvidia-jetson-orin-nx"),
        ("replicas: {count: 3, anti_affinity: node}", need),
        ("  total: 24", "  total: 40"),
        ("share: 0.75", "share: 0.95"),
        ("share: 0.25", "share: 0.05"),
        ("    count: 6", "    count: 12"),
        ("      count: 3", "      count: 6"),
    )
    for seed in range(8):
        cluster = built(text, seed).cluster
        states = {node.id: NodeState.ON for node in cluster.nodes}
        for order in (1, -1):
            placement: dict[ContainerId, NodeId] = {}
            for container in [c for c in cluster.containers if c.accelerator][::order]:
                snapshot = Snapshot(cluster, placement, states)
                free = [n.id for n in cluster.nodes if refusal(snapshot, container.id, n.id) is Reason.NONE]
                assert free
                placement[container.id] = free[::order][0]


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=8), st.integers(0, 500))
def test_whole_counts_sum_up_and_stay_near_their_shares(shares: list[float], total: int):
    counts = whole_counts(shares, total)
    assert sum(counts) == total
    for count, share in zip(counts, shares, strict=True):
        assert abs(count - total * share / sum(shares)) < 1 + 1e-6


def test_workload_of_a_file_is_replayed(tmp_path: Path, changed: Callable[..., str]):
    source = built(changed(("hours: 2", "hours: 3")))
    save_workload(source.workload, tmp_path / "load.npz")
    text = changed(
        ("{kind: generated, mean_level: 0.4}", f"{{kind: file, path: {tmp_path / 'load.npz'}, load_factor: 2}}"),
        ("  total: 24\n", ""),
    )
    world = built(text)
    assert len(world.cluster.containers) == 24
    assert (world.ticks, world.start_s) == (240, source.start_s)
    assert np.array_equal(world.workload.level, source.workload.level * np.float32(2))
    with pytest.raises(TraceError, match="lasts 3 h, 4 h are asked for"):
        built(text, hours=4.0)
    with pytest.raises(TraceError, match="has surges for 3 sites, the scenario has 4"):
        built(text.replace("      count: 3", "      count: 4"))


def test_service_too_rare_for_one_container_is_left_out(changed: Callable[..., str]):
    containers = built(changed(("  total: 24", "  total: 1"))).cluster.containers
    assert [container.id for container in containers] == ["web-00"]


def test_variants_of_an_image_are_images_of_their_own(changed: Callable[..., str]):
    cluster = built(changed(("size_mib: 180}", "size_mib: 180, variants: 3}"))).cluster
    assert [image.id for image in cluster.images] == ["web:0", "web:1", "web:2", "api"]
    assert {container.image for container in cluster.containers[:18]} == {"web:0", "web:1", "web:2"}
