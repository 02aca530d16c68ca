"""Containers and images: figures that cannot be are refused with their name, the rule and the remedy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.model.container import Container, Image
from fogfold.model.identity import ImageId, SiteId
from fogfold.testing.builders import a_container


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        ({"cores": 0.0}, "cpu_cores is 0; it must be above 0"),
        ({"memory_gib": 0.0}, "memory_bytes is 0; it must be above 0"),
        ({"service_time_ms": 0.0}, "service_time_ms is 0; it must be above 0"),
        ({"service_time_ms": math.inf}, "service_time_ms is inf; give a finite number"),
        ({"latency_objective_ms": 0.0}, "latency_objective_ms is 0; it must be above 0"),
        ({"latency_objective_ms": math.nan}, "latency_objective_ms is nan; give a finite number"),
        ({"latency_objective_ms": -math.inf}, "latency_objective_ms is -inf; give a finite number"),
        ({"data_site": SiteId("s0"), "data_distance_km": -1.0}, "data_distance_km is -1; it must be at least 0"),
        ({"data_site": SiteId("s0"), "data_distance_km": math.nan}, "data_distance_km is nan; give a finite number"),
        ({"data_distance_km": 5.0}, "data_distance_km is given without data_site; say where the data is"),
        ({"dirty_rate_bit_s": -1.0}, "dirty_rate_bit_s is -1; it must be at least 0"),
        ({"start_s": -1.0}, "start_s is -1; it must be at least 0"),
        ({"architectures": frozenset()}, "architectures is empty; name at least one"),
        ({"users": ()}, r"users is empty; name at least one region \(its own site will do\)"),
        ({"users": [("s0", 1.5), ("s1", -0.5)]}, "share of region 's1' is -0.5; it must be at least 0"),
        ({"users": [("s0", math.nan)]}, "share of region 's0' is nan; give a finite number"),
        ({"users": [("s0", 0.5), ("s1", 0.4)]}, "the shares of its user regions sum to 0.9; they must sum to 1"),
        # The sum is written out as far as it differs from the rule.
        ({"users": [("s0", 0.5), ("s1", 0.500002)]}, "the shares of its user regions sum to 1.000002; they must"),
    ],
)
def test_figure_that_cannot_be_is_refused(figures, sentence):
    with pytest.raises(ModelError, match=f"^container 'web': {sentence}"):
        a_container("web", **figures)


def test_malformed_ids_are_refused():
    with pytest.raises(ModelError, match="container id 'my app' is not allowed"):
        a_container("my app")
    with pytest.raises(ModelError, match="image id '' is not allowed"):
        Image(ImageId(""), 1.0)


@pytest.mark.parametrize(
    ("size", "sentence"), [(-1.0, "is -1; it must be at least 0"), (math.nan, "is nan; give a finite number")]
)
def test_image_of_no_size_is_refused(size, sentence):
    with pytest.raises(ModelError, match=f"^image 'app': size_bytes {sentence}"):
        Image(ImageId("app"), size)


def test_what_may_be_unlimited_or_nothing_is_allowed():
    batch = a_container(latency_objective_ms=math.inf, network_mbit_s=0.0, disk_iops=0.0, start_s=0.0)
    assert (batch.latency_objective_ms, batch.data_distance_km) == (math.inf, math.inf)
    assert Image(ImageId("scratch"), 0.0).size_bytes == 0.0


def test_data_may_be_bound_to_its_own_site():
    assert a_container(data_site=SiteId("s0"), data_distance_km=0.0).data_distance_km == 0.0


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8))
def test_shares_of_any_number_of_regions_may_sum_to_one(weights):
    total = sum(weights)
    users = [(f"s{i}", weight / total) for i, weight in enumerate(weights)]
    made: Container = a_container(users=users)
    assert [share for _, share in made.users] == [share for _, share in users]


@given(st.floats(2e-6, 0.5), st.booleans())
def test_shares_that_miss_one_are_refused_and_the_sum_is_named(miss, above):
    total = 1.0 + miss if above else 1.0 - miss
    with pytest.raises(ModelError, match="they must sum to 1") as refused:
        a_container(users=[("s0", total)])
    assert "sum to 1;" not in str(refused.value)
