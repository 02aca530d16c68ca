"""Settings of the service: what they make, and what they refuse, all at once."""

import asyncio

import pytest

from fogfold.adapters.simulated.clocks import MONDAY_S
from fogfold.api.access import Role
from fogfold.bootstrap.service import open_service
from fogfold.bootstrap.settings import TokenPart, parse_settings, read_settings
from fogfold.control.collect import CollectSettings
from fogfold.control.guard.settings import GuardSettings, Rate, Window
from fogfold.control.power_rules import PowerRules
from fogfold.control.schedule import ScheduleSettings
from fogfold.control.waves import PlanSettings
from fogfold.errors import ScenarioError, UnknownNameError
from fogfold.units import WEEK_S

PLANE = "plane: {kind: simulated}\n"


def test_what_is_left_out_is_at_the_default_of_the_code():
    settings = parse_settings(PLANE)
    limits = settings.limits
    assert limits.guard.made() == GuardSettings()
    assert limits.plan.made() == PlanSettings()
    assert limits.power is not None
    assert limits.power.made() == PowerRules()
    assert limits.rhythm.made() == ScheduleSettings()
    assert limits.reading.made() == CollectSettings()
    assert (settings.mode, settings.api.host, settings.api.tokens) == ("recommend", "127.0.0.1", ())


def test_figures_are_given_by_the_names_that_they_have_in_code():
    text = """
plane: {kind: simulated, speed: max}
limits:
  guard:
    cluster_rate: {least: 2, share: 0.5}
    never_move: [db-1]
    windows: [{days: [5, 6], start_s: 3600, duration_s: 7200}]
  power: null
"""
    limits = parse_settings(text).limits
    guard = limits.guard.made()
    assert guard.cluster_rate == Rate(2, 0.5)
    assert guard.site_rate == GuardSettings().site_rate
    assert guard.never_move == {"db-1"}
    assert guard.windows == (Window(frozenset({5, 6}), 3600.0, 7200.0),)
    assert limits.power is None


def test_every_fault_is_told_at_once_with_its_place():
    text = """plane: {kind: simulated, sped: 3, speed: fast}
polcy: drain
policy: drian
limits:
  guard: {cooldown: 60, cluster_rate: {least: -1, share: 0.5}}
  power: {evidence: {quiet_s: -60}}
api: {port: 99999}
"""
    with pytest.raises(ScenarioError) as caught:
        parse_settings(text, "f.yaml")
    assert caught.value.faults == (
        'f.yaml:1:26: unknown key "sped" in plane; did you mean "speed"?',
        'f.yaml:1:42: plane.speed is "fast"; it must be a number',
        'f.yaml:1:42: plane.speed is "fast"; known: max',
        'f.yaml:2:1: unknown key "polcy" in the file; did you mean "policy"?',
        'f.yaml:3:9: policy: "drian" is no policy; did you mean "drain"?',
        'f.yaml:5:11: unknown key "cooldown" in limits.guard; did you mean "cooldown_s"?',
        "f.yaml:5:39: limits.guard.cluster_rate: a rate's least is -1; give at least 0 "
        "(0 with share 0 forbids all moves)",
        "f.yaml:6:21: limits.power.evidence: quiet_s is -60; it must be above 0",
        "f.yaml:7:13: api.port is 99999; it must be at most 65535",
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# nothing\n", "the file is empty"),
        ("mode: recommend\n", 'the file lacks the key "plane"'),
        ("plane: {kind: kubernetes}\n", "plane.kind"),
        (PLANE + "mode: auto\n", 'did you mean "automatic"?'),
        (PLANE + "api: {host: 0.0.0.0}\n", "there are no tokens"),
        (PLANE + "lease_s: 10\n", "a lease must outlast a look"),
        (PLANE + "api: {tokens: [{name: a, role: read, token: short}]}\n", "token has 5 signs; give at least 16"),
        (PLANE + "api: {tokens: [{name: a, role: read}]}\n", "give exactly one of token, token_file and token_env"),
        (
            PLANE + "api: {tokens: [{name: a, role: read, token_env: A}, {name: a, role: admin, token_env: B}]}\n",
            'token name "a" is given twice',
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(text, sentence):
    with pytest.raises(ScenarioError, match=sentence.replace("?", r"\?")):
        parse_settings(text)


def test_host_beyond_this_machine_is_served_with_tokens():
    text = PLANE + "api: {host: 0.0.0.0, tokens: [{name: a, role: read, token_env: A}]}\n"
    assert parse_settings(text).api.host == "0.0.0.0"  # noqa: S104 - that is the point


def test_token_is_read_from_file_or_environment(tmp_path):
    (tmp_path / "token").write_text("t" * 20 + "\n", encoding="utf-8")
    of_file = TokenPart(name="a", role="approve", token_file="token")  # noqa: S106 - a file's name
    assert of_file.read(tmp_path, {}).secret == "t" * 20
    assert of_file.read(tmp_path, {}).role is Role.APPROVE
    of_environment = TokenPart(name="a", role="admin", token_env="T")  # noqa: S106 - a variable's name
    assert of_environment.read(tmp_path, {"T": "e" * 20}).secret == "e" * 20
    with pytest.raises(ScenarioError, match=r"\$T\) has 0 signs"):
        of_environment.read(tmp_path, {})
    with pytest.raises(ScenarioError, match="cannot be read"):
        TokenPart(name="a", role="read", token_file="none").read(tmp_path, {})  # noqa: S106


def test_scenario_file_is_looked_for_beside_the_settings(tmp_path):
    (tmp_path / "mine.yaml").write_text("name: mine\n", encoding="utf-8")
    (tmp_path / "service.yaml").write_text("plane: {kind: simulated, scenario: mine.yaml}\n", encoding="utf-8")
    assert read_settings(tmp_path / "service.yaml").plane.scenario == str(tmp_path / "mine.yaml")
    with pytest.raises(UnknownNameError, match="no settings file"):
        read_settings(tmp_path / "none.yaml")


def test_each_start_is_later_than_all_that_the_journal_tells(tmp_path):
    text = f"plane: {{kind: simulated, speed: max, hours: 1}}\nstore: sqlite:///{tmp_path}/j.db\n"
    settings = parse_settings(text)

    async def twice():
        async with open_service(settings, environment={}) as first:
            began_s = first.plane.clock.now_s()
            await first.loop.cycle()
            held = await first.store.acquire("dead", for_s=60.0, now_s=began_s + 3600.0)
            written = [entry.at_s async for entry in first.store.entries()]
        async with open_service(settings, environment={}) as second:
            await second.loop.cycle()
            return began_s, held, written, second.plane, second.loop.status()

    began_s, held, written, plane, status = asyncio.run(twice())
    assert began_s == MONDAY_S
    assert held is not None
    assert written
    assert plane.clock.now_s() == MONDAY_S + WEEK_S
    assert plane.week_began_s == MONDAY_S + WEEK_S
    assert status.holds_lease
    assert status.trouble == ""


def test_lease_outlasts_a_busy_machine_however_fast_the_cluster_is_played():
    async def lease_s(speed):
        settings = parse_settings(f"plane: {{kind: simulated, speed: {speed}, hours: 1}}")
        async with open_service(settings, environment={}) as service:
            return service.loop.settings.lease_s, service.loop.settings.execute.lease_s

    assert asyncio.run(lease_s("1")) == (60.0, 60.0)
    assert asyncio.run(lease_s("100")) == (3000.0, 3000.0)
    assert asyncio.run(lease_s("max")) == (60.0, 60.0)
