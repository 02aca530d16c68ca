"""What is wrong with a scenario file is told all at once, with place, value, rule and remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.errors import ScenarioError, UnknownNameError
from fogfold.world.scenario.load import load_scenario, parse_scenario


def faults(text: str, **more: object) -> tuple[str, ...]:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "f.yaml", **more)  # type: ignore[arg-type]
    return caught.value.faults


def line_of(text: str, piece: str) -> int:
    return text[: text.index(piece)].count("\n") + 1


CASES = [
    # what is replaced, by what, the place (line of this text, column), the sentence
    ("hours: 2", "huors: 2", "huors", 1, 'unknown key "huors" in the file; did you mean "hours"?'),
    (
        "    access_ms: 3",
        "    access_ms: 3\n    acess_ms: 3",
        "acess",
        5,
        'unknown key "acess_ms" in sites[0]; did you mean "access_ms"?',
    ),
    (
        "      count: 3",
        "      count: 3\n      cuont: 3",
        "cuont",
        7,
        'unknown key "cuont" in sites[0].layout; did you mean "count"?',
    ),
    ("kind: generated\n", "kind: genrated\n", "genrated", 13, 'sites[0].layout.kind is "genrated"; did you mean'),
    ("{kind: generated, mean", "{mean", "{mean", 11, 'workload lacks the key "kind"; known: bitbrains'),
    ("day: monday", "day: mondya", "mondya", 14, 'start.day is "mondya"; did you mean "monday"?'),
    ("hours: 2", 'hours: "2"', '"2"', 8, 'hours is "2"; it must be a number'),
    ("hours: 2", "hours: -2", "-2", 8, "hours is -2; it must be above 0"),
    ("hours: 2", "hours: 0.001", "0.001", 8, "hours: hours is 0.001; it must be a whole number of ticks of 30 s"),
    ("hours: 2", "hours: .inf", ".inf", 8, "hours is inf; it must be a finite number"),
    ("    count: 6", "    count: 0", "count: 0", 12, "nodes[0].count is 0; it must be at least 1"),
    ("    count: 6", "    count: 6.5", "6.5", 12, "nodes[0].count is 6.5; it must be a whole number"),
    ("    count: 6", "    count: 2", "count: 2", 12, 'nodes[0] has 2 nodes for the 3 sites of "city"'),
    ("    count: 6", "    count: 31", "31", 12, 'nodes[0] has 31 nodes, but 3 sites of "city" hold at most 10 each'),
    ("    count: 6", "    count: 6\n    failures: yes", "yes", 15, 'failures is the word "yes"; write true or false'),
    ("    count: 6", "    count: 6\n    failures: off", "off", 15, 'failures is the word "off"; write true or false'),
    ("    sites: city", "    sites: cty", "cty", 12, 'site group "cty" is unknown; did you mean "city"?'),
    ("machine: radxa-rock-5b", "machine: radxa-rok-5b", "radxa-rok", 19, 'did you mean "radxa-rock-5b"?'),
    ("radxa-rock-5b, share: 0.5", "radxa-rock-5b, share: 0.4", "- {machine: gm", 7, "sum to 0.9; they must sum to 1"),
    ("  - name: my-box", "  - name: raspberry-pi-5", "raspb", 11, "is in the catalogue already; choose another name"),
    ("  - name: my-box", "  - name: My Box", "My Box", 11, "use lower-case letters, digits and hyphens"),
    ("    power_w: [10,", "    #", "name: my-box", 5, 'machines[0] lacks the key "power_w". Power curve: eleven'),
    ("19, 20]", "19]", "[10,", 14, "the power curve has 10 points; give 11"),
    ("19, 20]", "19, 9]", "[10,", 14, "falls from 10 W idle to 9 W at full load"),
    ("sleep_w: 1\n", "sleep_w: 11\n", "name: my-box", 5, "sleep_w is 11 W, above the idle power of 10 W"),
    ("memory_gib: 8", "memory_gib: -8", "-8", 17, "machines[0].memory_gib is -8; it must be above 0"),
    ("name: api\n", "name: web\n", "name: web\n      share: 0.25", 13, 'service "web" is given twice, first as'),
    ("share: 0.25", "share: 0.2", "- name: web", 5, "the shares of the services sum to 0.95; they must sum to 1"),
    ("profile: business", "profile: busines", "busines", 16, 'profile "busines" is unknown; did you mean "business"?'),
    ("name: api, size", "name: web, size", "140}", 36, 'image "web" is 140 MiB here and 180 MiB in another service'),
    ("  total: 24\n", "", "services:", 3, "containers has neither total nor per_node"),
    ("  total: 24", "  total: 24\n  per_node: 4", "total: 24", 3, "both total and per_node are given; keep one"),
    ("{kind: generated, mean_level: 0.4}", "{kind: planetlab}", "total: 24", 10, "the trace says how many containers"),
    ("[amd64, arm64]\n      image: {name: web", "[amd46]\n      image: {name: web", "amd46", 23, 'mean "amd64"?'),
    ("[amd64, arm64]\n      image: {name: web", "[]\n      image: {name: web", "[]", 22, "is empty; give at least"),
    ("{median: 0.3, sigma", "{median: 3, sigma", "{median: 3,", 18, "they must be in rising order"),
    ("cpu_cores: 0.4", "cpu_cores: 0", "cpu_cores: 0", 18, "cpu_cores is 0; it must be above 0"),
    ("image: {name: web, size_mib: 180}", "image: web", "image: web", 14, 'image is "web"; it must be a mapping'),
    ("name: small", "name: 7", "name: 7", 7, "name is 7; it must be text; put it in quotes"),
    ("schema_version: 1", "schema_version: 2", "schema_version: 2", 17, "schema_version is 2; it must be 1"),
    ("hours: 2", "hours: 2\nworld: {ceilling: 1}", "ceill", 9, 'key "ceilling" in world; did you mean "ceiling"?'),
    ("hours: 2", "hours: 2\nworld: {ceiling: 2}", "2}", 18, "ceiling is 2; it must be above 0 and at most 1"),
    ("hours: 2", "hours: 2\nfaults: {node_loss: 1}", "1}", 21, "faults.node_loss is 1; it must be true or false"),
    ("hours: 2", "hours: 2\nfaults: never", "never", 9, "faults: 'never' is no answer; write off, or a mapping"),
    ("hours: 2", "hours: 2\nhours: 3", "hours: 3", 1, 'key "hours" is given twice, first in line 4; keep one'),
    ("loss: 0", "loss: 0\n    users: false", "- name: city", 3, "no site group has users"),
]


@pytest.mark.parametrize(("old", "new", "at", "column", "sentence"), CASES)
def test_fault_is_told_with_its_place(
    changed: Callable[..., str], old: str, new: str, at: str, column: int, sentence: str
):
    text = changed((old, new))
    told = faults(text)
    assert len(told) == 1
    assert told[0].startswith(f"f.yaml:{line_of(text, at)}:{column}: ")
    assert sentence in told[0]


def test_six_faults_give_six_lines_in_order_of_the_file(changed: Callable[..., str]):
    text = changed(
        ("day: monday", "day: mondya"),
        ("    access_ms: 3", "    acess_ms: 3\n    access_ms: 3"),
        ("    count: 6", "    count: -6"),
        ("machine: radxa-rock-5b", "machine: radxa-rok-5b"),
        ("    power_source: measured at the plug\n", ""),
        ("profile: business", "profile: busines"),
    )
    told = faults(text)
    lines = [int(fault.split(":")[1]) for fault in told]
    assert lines == [3, 13, 20, 23, line_of(text, "name: my-box"), line_of(text, "busines")]
    assert len(told) == 6


def test_places_of_one_id_are_refused(changed: Callable[..., str], area: str):
    place = "{id: a, latitude_deg: 1, longitude_deg: 1}"
    text = changed((area, f"kind: listed\n      places: [{place}, {place}]"))
    assert any('site "a" is given twice' in fault for fault in faults(text))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "f.yaml:1:1: the file is empty"),
        ("~", "f.yaml:1:1: the file says null"),
        ("- 1", "f.yaml:1:1: the file is a list; it must be a mapping"),
        ("a: [1", "f.yaml:1:6: this is not YAML"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: this is not YAML"),
        ("name: x\nb: \x07", "f.yaml:2:4: this is not YAML: sign 0x0007 is not allowed"),
        ("a: &a [*a]", "f.yaml:1:4: an alias leads back into itself"),
        ("1: 2", "f.yaml:1:1: key '1' is not text"),
        ("[a]: 2", "f.yaml:1:1: key 'a list or mapping' is not text"),
        ("<<: {name: x}", "f.yaml:1:1: merge keys (<<) are not used"),
        ("name: !mine x", "f.yaml:1:7: tag !mine is not used"),
        ("sites: !!set {a}", "f.yaml:1:8: tag !!set is not used"),
        ("hours: !!float x", "f.yaml:1:8: tag !!float is not used"),
        ("[" * 1200, "f.yaml:1:1: "),
    ],
)
def test_file_that_is_no_mapping_of_text_is_refused(text: str, sentence: str):
    assert any(fault.startswith(sentence) for fault in faults(text))


def test_aliases_that_multiply_are_refused():
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 9):
        text += f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n"
    assert any("multiplies without end" in fault for fault in faults(text))


def test_file_that_is_not_there_gets_the_nearest_name():
    with pytest.raises(UnknownNameError, match=r'neither a file nor .* did you mean "city-20"'):
        load_scenario("cty-20")


def test_file_that_is_not_utf_8_is_refused(tmp_path: Path):
    path = tmp_path / "latin.yaml"
    path.write_bytes("description: für".encode("latin-1"))
    with pytest.raises(ScenarioError, match="cannot be read as UTF-8"):
        load_scenario(path)


def test_override_that_leads_nowhere_is_told(small: str):
    told = faults(small, overrides={"nodes.egde.count": "7", "nodes.edge.cuont": "7", "hours.x": "1", "nodes.9": "1"})
    assert told == (
        'override nodes.egde.count: nodes has no entry "egde"; did you mean "edge"?',
        'override hours.x: hours has no entry "x"',
        'override nodes.9: nodes has no entry "9"; known: edge',
        'override nodes.edge.cuont: unknown key "cuont" in nodes[0]; did you mean "count"?',
    )


def test_override_of_a_wrong_type_is_told(small: str):
    told = faults(small, overrides={"nodes.0.count": "many", "start.day": "sunnday"})
    assert told == (
        'override start.day: start.day is "sunnday"; did you mean "sunday"?',
        'override nodes.0.count: nodes[0].count is "many"; it must be a whole number',
    )


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*!#'\"\n ,|>?@%`<0.1~=\t", max_size=60))
def test_no_text_breaks_the_reader(text: str):
    with pytest.raises(ScenarioError):
        parse_scenario(text)
