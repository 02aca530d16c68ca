"""Trade-offs: who is on the front, worked by hand; what a weight changes; what is drawn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.errors import ModelError, UnknownNameError
from fogfold.evaluate.result import RunResult, Terms
from fogfold.evaluate.trade_offs import (
    Setting,
    best_by_weight,
    pareto,
    settings_of,
    trade_off_tasks,
    trade_offs,
    weights_of,
)
from fogfold.policy.registry import RULES, policy
from fogfold.world.scenario.load import load_scenario

PLAIN = RunResult("s", "p", 0, 24.0, 5.0, 0.0, 0.001, 0.0, 10.0, 100, 0, 0, 100.0, Terms(60.0, 10.0, 20.0, 10.0),
                  1.0, 0.0, 0, None, None, None)  # fmt: skip


def run(energy, sla, moves, *, seed=0, terms=PLAIN.terms):
    cost = terms.energy + terms.migration + terms.sla + terms.latency
    return replace(
        PLAIN, energy_kwh=energy, sla_violation_rate=sla, moves=moves, seed=seed, terms=terms, total_cost=cost
    )


def test_the_front_worked_by_hand():
    # b is worse than a in all; c trades energy for violations; d is as good as a but for one move more; e equals a.
    a, b, c, d, e = (4.0, 0.2, 10), (5.0, 0.3, 11), (6.0, 0.1, 10), (4.0, 0.2, 11), (4.0, 0.2, 10)
    assert pareto([a, b, c, d, e]) == [0, 2, 4]
    assert pareto([]) == []


points = st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=12)


def beats(one, other):
    return all(x <= y for x, y in zip(one, other, strict=True)) and one != other


@given(points)
def test_nobody_on_the_front_is_beaten_and_everybody_off_it_is_by_one_on_it(found):
    front = pareto(found)
    assert front
    for i in range(len(found)):
        beaten_by = [j for j in front if beats(found[j], found[i])]
        assert bool(beaten_by) == (i not in front)


@given(points, st.randoms(use_true_random=False))
def test_the_front_does_not_hang_on_the_order(found, shuffler):
    order = list(range(len(found)))
    shuffler.shuffle(order)
    again = pareto([found[i] for i in order])
    assert sorted(order[i] for i in again) == pareto(found)


def test_rows_are_means_over_seeds_and_differences_are_paired_with_the_default():
    bold, default = Setting("rule", "bold", {"high_mark": 0.8}), Setting("rule", "default")
    rows = trade_offs(
        [
            (bold, run(4.0, 0.02, 8, seed=1)),
            (bold, run(6.0, 0.02, 8, seed=2)),
            (default, run(5.0, 0.01, 10, seed=1)),
            (default, run(9.0, 0.01, 10, seed=2)),
        ]
    )
    assert [row.setting.name for row in rows] == ["bold", "default"]
    assert rows[0].figures["energy_kwh"].mean == 5.0
    assert rows[0].against is not None
    less = rows[0].against["energy_kwh"]
    assert less is not None
    assert less.relative is not None
    assert less.absolute.mean == -2.0
    assert less.relative.mean == pytest.approx(5.0 / 7.0 - 1.0)
    assert rows[1].against is None
    assert [row.is_on_front for row in rows] == [True, True]
    plain = rows[0].as_json()
    assert list(plain) == [
        "policy", "setting", "parameters", "seeds", "energy_kwh", "sla_violation_rate", "moves", "total_cost",
        "is_on_front",
    ]  # fmt: skip
    assert plain["energy_kwh"]["against"]["mean"] == -2.0
    assert rows[1].as_json()["energy_kwh"]["against"] is None


def test_a_setting_that_is_beaten_in_its_means_is_off_the_front():
    one, other = Setting("rule", "default"), Setting("rule", "worse")
    rows = trade_offs([(one, run(4.0, 0.01, 8)), (other, run(4.0, 0.02, 8))])
    assert [row.is_on_front for row in rows] == [True, False]


def test_a_dearer_late_request_changes_who_is_best():
    # At once the price: 100 against 110. At twice the price of SLA: 100 + 60 against 110 + 10.
    thrifty = Setting("a", "default"), run(4.0, 0.02, 8, terms=Terms(30.0, 5.0, 60.0, 5.0))
    careful = Setting("b", "default"), run(6.0, 0.01, 8, terms=Terms(90.0, 5.0, 10.0, 5.0))
    best = best_by_weight([thrifty, careful], [("sla", 1.0), ("sla", 2.0), ("energy", 0.0)])
    assert [(each.weight, each.setting.policy, each.total_cost.mean) for each in best] == [
        ("sla=1", "a", 100.0),
        ("sla=2", "b", 120.0),
        ("energy=0", "b", 20.0),
    ]


def test_weights_are_read_and_refused():
    assert weights_of(["sla=0.5,2", "energy=3"]) == [("sla", 0.5), ("sla", 2.0), ("energy", 3.0)]
    with pytest.raises(UnknownNameError, match='no term "slaa"; did you mean "sla"'):
        weights_of(["slaa=1"])
    for text in ("sla", "sla=", "sla=x", "sla=-1", "sla=inf"):
        with pytest.raises(ModelError, match="--weights has"):
            weights_of([text])


@pytest.mark.parametrize("name", [*RULES, "guided", "rehearsed"])
def test_every_setting_makes_a_policy_and_the_default_is_one_of_them(name):
    found = settings_of(name)
    assert [setting.name for setting in found].count("default") == 1
    assert len({setting.label for setting in found}) == len(found)
    for setting in found:
        policy(name, **setting.parameters)


def test_a_policy_without_dials_plays_as_it_comes():
    assert settings_of("hold") == [Setting("hold", "default")]
    assert Setting("learned:somewhere", "default") in settings_of("learned:somewhere")


def test_only_the_dials_that_are_named_are_turned():
    assert [setting.name for setting in settings_of("drain-relief", ["calm"])] == ["calm 8", "calm 24"]
    assert settings_of("hold", ["calm"]) == [Setting("hold", "default")]
    with pytest.raises(UnknownNameError, match='dial "clam" is unknown; did you mean "calm"'):
        settings_of("hold", ["clam"])


def test_every_setting_meets_every_seed():
    settings = [Setting("hold", "default"), Setting("drain", "bold", {"high_mark": 0.8})]
    tasks = trade_off_tasks(load_scenario("city-20"), settings, [3, 4], hours=1.0)
    assert [(task.policy, task.seed, dict(task.parameters)) for task in tasks] == [
        ("hold", 3, {}),
        ("hold", 4, {}),
        ("drain", 3, {"high_mark": 0.8}),
        ("drain", 4, {"high_mark": 0.8}),
    ]
    with pytest.raises(ModelError, match="0 seeds"):
        trade_off_tasks(load_scenario("city-20"), settings, [])


@pytest.fixture
def rows():
    names = ["marks 0.4", "default", "marks 0.8"]
    settings = [Setting(p, n, {} if n == "default" else {"high_mark": 0.5}) for p in ("a", "b") for n in names]
    return trade_offs((setting, run(4.0 + 0.3 * k, 0.02 / (k + 1), 50 * k)) for k, setting in enumerate(settings))


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_a_figure_is_a_file_with_the_same_bytes_each_time(tmp_path, rows, ending):
    pytest.importorskip("matplotlib")
    from fogfold.evaluate.figures.saved import save_figure
    from fogfold.evaluate.figures.settings import settings_figure

    for name in ("one", "two"):
        save_figure(tmp_path / (name + ending), lambda look, paint: settings_figure(rows, look, paint))
    once = (tmp_path / f"one{ending}").read_bytes()
    assert once == (tmp_path / f"two{ending}").read_bytes()
    if ending == ".svg":
        assert b"#0072b2" in once  # the first policy's colour on light paper
        assert b"#0a0b" not in once  # no stand-in is left


def test_a_figure_without_moves_or_violations_is_drawn_as_well(tmp_path):
    pytest.importorskip("matplotlib")
    from fogfold.evaluate.figures.drawing import NARROW, drawing
    from fogfold.evaluate.figures.settings import settings_figure

    with drawing(NARROW):
        page = settings_figure(trade_offs([(Setting("hold", "default"), run(4.0, 0.0, 0))]), NARROW)
    assert page.get_figwidth() * 72.0 == pytest.approx(380.0)


def test_a_figure_goes_into_a_folder_that_is_there_as_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from fogfold.evaluate.figures.saved import check_figure_path

    check_figure_path(tmp_path / "a.png")
    with pytest.raises(ModelError, match=r"does not end in .png or .svg"):
        check_figure_path(tmp_path / "a.pdf")
    with pytest.raises(ModelError, match="is not there"):
        check_figure_path(tmp_path / "no" / "a.png")


def test_sizes_of_dots_grow_with_the_moves(rows):
    moves = [row.figures["moves"].mean for row in rows]
    assert np.all(np.diff(moves) > 0)
