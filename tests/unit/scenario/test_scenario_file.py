"""A scenario file that is in order: what it may leave out, what it says in full, and its published schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fogfold.errors import ScenarioError
from fogfold.world.faults import FaultParams
from fogfold.world.params import WorldParams
from fogfold.world.scenario.load import effective_yaml, load_scenario, parse_scenario, scenario_names
from fogfold.world.scenario.read import read_scalar, read_yaml
from fogfold.world.scenario.reference import page
from fogfold.world.scenario.schema import json_schema

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "scenarios.md"


def test_reference_page_is_written_from_the_schema():
    assert page() == DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", scenario_names())
def test_effective_yaml_loads_back_to_the_same(name: str):
    scenario = load_scenario(name)
    assert parse_scenario(effective_yaml(scenario)) == scenario


def test_effective_yaml_says_every_default(small: str):
    text = effective_yaml(parse_scenario(small))
    for piece in ("users_sigma: 0.5", "ceiling: 0.9", "spare: 0", "start_s: 5.0", "restart_loop_s: 600.0"):
        assert piece in text


def test_effective_yaml_keeps_words_that_look_like_numbers(changed: Callable[..., str]):
    scenario = parse_scenario(changed(("name: small", 'name: "1e9"\ndescription: "off"')))
    text = effective_yaml(scenario)
    assert parse_scenario(text) == scenario
    # Readers of YAML 1.1 find the same words.
    assert yaml.safe_load(text)["description"] == "off"


def test_effective_yaml_of_faults_off_stays_off(changed: Callable[..., str]):
    scenario = parse_scenario(changed(("hours: 2", "hours: 2\nfaults: off")))
    assert not scenario.faults.enabled
    assert parse_scenario(effective_yaml(scenario)) == scenario


def test_constants_left_out_have_their_defaults(small: str):
    scenario = parse_scenario(small)
    assert WorldParams(**scenario.world.model_dump()) == WorldParams()
    faults = scenario.faults.model_dump()
    assert faults.pop("enabled")
    assert FaultParams(**faults) == FaultParams()


def test_constants_are_set_by_name(changed: Callable[..., str]):
    text = changed(("hours: 2", "hours: 2\nworld: {ceiling: 0.8, migration_attempts: 5}\nfaults: {node_loss: false}"))
    scenario = parse_scenario(text)
    params = WorldParams(**scenario.world.model_dump())
    assert (params.ceiling, params.migration_attempts, params.hop_ms) == (0.8, 5, 1.0)
    assert not scenario.faults.model_dump()["node_loss"]


def test_plain_number_stands_for_no_spread(small: str):
    service = parse_scenario(small).containers.services[1]
    assert (service.cpu_cores.median, service.cpu_cores.sigma) == (0.4, 0.0)


def test_overrides_are_read_as_yaml_reads_them(small: str):
    overrides = {"nodes.edge.count": "9", "hours": 3, "world.ceiling": "0.7", "faults": "off", "start.day": "sunday"}
    scenario = parse_scenario(small, overrides=overrides)
    assert scenario.nodes[0].count == 9
    assert scenario.hours == 3.0
    assert scenario.world.model_dump()["ceiling"] == 0.7
    assert not scenario.faults.enabled
    assert scenario.start.seconds == (6 * 24 + 6) * 3600.0


def test_override_of_one_fault_leaves_the_others(changed: Callable[..., str]):
    text = changed(("hours: 2", "hours: two"))
    assert parse_scenario(text, overrides={"hours": "2"}).hours == 2.0


def test_planetlab_day_may_be_a_number_or_text():
    for day in (20110306, "20110306", '"20110306"'):
        workload = load_scenario("planetlab", {"workload.day": day}).workload
        assert workload.model_dump()["day"] == "20110306"


def test_relative_path_of_a_workload_starts_at_the_file(tmp_path: Path, changed: Callable[..., str]):
    path = tmp_path / "mine.yaml"
    text = changed(("{kind: generated, mean_level: 0.4}", "{kind: file, path: load.npz}"), ("  total: 24\n", ""))
    path.write_text(text, encoding="utf-8")
    assert load_scenario(path).workload.model_dump()["path"] == str(tmp_path / "load.npz")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-012", -12),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e9", 1e9),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("2011-03-03", "2011-03-03"),
        ("[1, off]", [1, "off"]),
    ],
)
def test_words_and_numbers_follow_yaml_1_2(text: str, value: object):
    assert read_scalar(text) == value


def test_key_without_a_value_is_null():
    assert read_yaml("a:\nb: ~\n").values == {"a": None, "b": None}


def test_marks_count_lines_and_columns_from_one():
    document = read_yaml("a:\n  - b: 7\n")
    assert document.mark(("a", 0, "b")) == (2, 8)
    assert document.mark(("a", 0, "b"), key=True) == (2, 5)
    assert document.mark(("a", 0, "b", "absent")) == (2, 8)


def test_scenarios_are_frozen(small: str):
    scenario = parse_scenario(small)
    with pytest.raises(Exception, match="frozen"):
        setattr(scenario, "hours", 3.0)  # noqa: B010 - written so that type checkers let it through


def test_json_schema_describes_every_key():
    schema = json_schema()
    parts = [schema, *(each for each in schema["$defs"].values() if "properties" in each)]
    assert len(parts) > 20
    for part in parts:
        for key, value in part["properties"].items():
            sentence = value.get("description", "")
            assert sentence.endswith((".", ")")), f"{key} has no sentence: {sentence!r}"


def test_json_schema_is_plain_json_and_names_its_draft():
    schema = json.loads(json.dumps(json_schema()))
    assert schema["$schema"].endswith("2020-12/schema")
    assert {"const": "off"} in schema["properties"]["faults"]["anyOf"]
    assert not schema["additionalProperties"]


def test_hand_made_scenario_is_held_to_the_same_rules(small: str):
    from fogfold.world.scenario.build import build

    scenario = parse_scenario(small)
    node = scenario.nodes[0].model_copy(update={"sites": "nowhere"})
    with pytest.raises(ScenarioError, match='site group "nowhere" is unknown'):
        build(scenario.model_copy(update={"nodes": (node,)}), 1)
