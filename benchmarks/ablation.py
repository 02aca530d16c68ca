"""What parts of a learned policy's state are worth: the same lessons learned without them, judged over the same days.

`python benchmarks/ablation.py --run runs/fogfold-base --seeds 12 --json` takes the lessons that a training run has
written, lets a network learn from them once for each variant as the run's warm-up does, and judges each over days that
no training sees. What a variant does without stands at 0 in its lessons and has no weight where it decides. The main
phase is left out: it would take half an hour for each, so this says what a figure is worth to a pupil, and not all that
it is worth in the end. `untaught` has learned nothing, and does what the rule beside it does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from fogfold.evaluate.episodes import run_episode
from fogfold.evaluate.statistics import compare, summarise
from fogfold.policy.learned.deciding import Context
from fogfold.policy.learned.policy import Learned
from fogfold.policy.learned.rows import GlobalRow, NodeRow, Stage, TargetRow, TokenRow
from fogfold.policy.learned.weights import Weights
from fogfold.policy.registry import policy
from fogfold.seeding import stream
from fogfold.train.imitation import Imitator
from fogfold.train.lessons import Lesson, LessonStore
from fogfold.train.network import PolicyNetwork
from fogfold.train.settings import TrainSettings, read_settings
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

Rows = Mapping[str, tuple[int, ...]]
"""Figures that are left out: of options by stage, of nodes (`token`), of the cluster (`whole`); `lead` is the mark."""

FORECAST: Rows = {
    "node": (NodeRow.PEAK_SOON, NodeRow.PEAK_HOUR, NodeRow.TURN),
    "target": (TargetRow.PEAK_HOUR_AFTER,),
    "token": (TokenRow.PEAK_HOUR, TokenRow.TURN),
    "whole": (GlobalRow.PEAK_HOUR,),
}
PAIR: Rows = {
    "target": (
        TargetRow.CPU_AFTER,
        TargetRow.PEAK_AFTER,
        TargetRow.TREND_AFTER,
        TargetRow.SPACE_AFTER,
        TargetRow.PROMISED_AFTER,
        TargetRow.POWER,
        TargetRow.LATE_THERE,
        TargetRow.NEIGHBOURS_COST,
        TargetRow.OWN_COST,
        TargetRow.TRIP,
        TargetRow.IMAGE,
        TargetRow.SAME_SITE,
        TargetRow.CROSSING,
        TargetRow.PEAK_HOUR_AFTER,
    )
}
VARIANTS: Mapping[str, Rows] = {
    "all": {},
    "without forecasts": FORECAST,
    "without pair figures": PAIR,
    "without the rule's mark": {"lead": (0,)},
}
SHOWN = ("total_cost", "energy_kwh", "sla_violation_rate", "moves")


def without(lesson: Lesson, rows: Rows) -> Lesson:
    """The lesson with those figures at 0."""

    def cleared(array: np.ndarray, which: tuple[int, ...]) -> np.ndarray:
        if not which:
            return array
        out = array.copy()
        out[..., list(which)] = 0.0
        return out

    context = Context(
        cleared(lesson.context.tokens, rows.get("token", ())), cleared(lesson.context.whole, rows.get("whole", ()))
    )
    choices = tuple(
        replace(
            choice,
            rows=cleared(choice.rows, rows.get(choice.stage.name.lower(), ())),
            lead=np.zeros_like(choice.lead) if "lead" in rows else choice.lead,
        )
        for choice in lesson.choices
    )
    return Lesson(context, choices)


def blind(weights: Weights, rows: Rows) -> Weights:
    """Weights that those figures do not reach: what they say where the figures stand at 0."""
    arrays = {name: array.copy() for name, array in weights.arrays.items()}
    for stage in Stage:
        name = stage.name.lower()
        arrays[f"{name}.row.weight"][:, list(rows.get(name, ()))] = 0.0
        if "lead" in rows:
            arrays[f"{name}.follow"][:] = 0.0
    arrays["encoder.0.weight"][:, list(rows.get("token", ()))] = 0.0
    of_whole = arrays["summary.weight"][:, 2 * weights.shape.encoder :]
    of_whole[:, list(rows.get("whole", ()))] = 0.0
    return Weights(weights.shape, arrays, weights.notes)


def taught(
    settings: TrainSettings, learned: Sequence[Lesson], held_back: Sequence[Lesson], rows: Rows
) -> tuple[Weights, float, float]:
    """The weights that came of it, and loss and agreement on the lessons held back."""
    torch.manual_seed(settings.seed)
    network = PolicyNetwork(settings.shape, follow=settings.follow)
    learned, held_back = ([without(lesson, rows) for lesson in part] for part in (learned, held_back))
    pupil = Imitator(network, learned, rate=settings.lesson_rate, part=settings.lesson_part, device=torch.device("cpu"))
    for k in range(settings.lesson_passes):
        pupil.learn(done=k / settings.lesson_passes, rng=stream(settings.seed, "train", "lessons", k))
    figures = pupil.judge(held_back)
    return blind(network.weights({}), rows), figures.loss, figures.agreement


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--run", type=Path, required=True, help="folder of a training run with a warm-up")
    parser.add_argument("--scenario", default="city-20")
    parser.add_argument("--seeds", type=int, default=12, help="days that are judged")
    parser.add_argument("--first-seed", type=int, default=20)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--passes", type=int, help="passes over the lessons, where not as many as the run made")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    settings = read_settings(asked.run / "settings.yaml")
    if asked.passes is not None:
        settings = replace(settings, lesson_passes=asked.passes)
    lessons = LessonStore(asked.run / "lessons").divided(settings)
    torch.manual_seed(settings.seed)
    players = {"drain-relief": policy("drain-relief")}
    players["untaught"] = Learned("untaught", PolicyNetwork(settings.shape, follow=4.0).weights({}))
    told: dict[str, tuple[float | None, float | None]] = dict.fromkeys(players, (None, None))
    for name, rows in VARIANTS.items():
        weights, loss, agreement = taught(settings, *lessons, rows)
        players[name], told[name] = Learned(name, weights), (loss, agreement)
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    days = [build(load_scenario(asked.scenario), seed, hours=asked.hours) for seed in seeds]
    runs = [run_episode(day, player).result for player in players.values() for day in days]
    rows_out = []
    against = {one: {pair.policy: pair.figures for pair in compare(runs, one)} for one in ("drain-relief", "all")}
    summaries = summarise(runs)
    for summary in summaries:
        row: dict[str, object] = {"variant": summary.policy, "seeds": asked.seeds}
        row |= {key: None if (value := summary.figures[key]) is None else value.as_json() for key in SHOWN}
        for one, pairs in against.items():
            cost = pairs[summary.policy]["total_cost"] if summary.policy in pairs else None
            row[f"total_cost_against_{one}"] = None if cost is None or not cost.relative else cost.relative.as_json()
        row["held_back_loss"], row["held_back_agreement"] = told[summary.policy]
        rows_out.append(row)
    if asked.json:
        print(json.dumps({"bench": "ablation", "scenario": asked.scenario, "rows": rows_out}))
        return
    for summary in summaries:
        pair = against["drain-relief"].get(summary.policy, {}).get("total_cost")
        relative = None if pair is None or pair.relative is None else pair.relative
        paid = "-" if relative is None else f"{relative.mean:+.1%} [{relative.low:+.1%}, {relative.high:+.1%}]"
        held_back = told[summary.policy]
        learned = "" if held_back[0] is None else f"held back: loss {held_back[0]:.3f}, agreement {held_back[1]:.1%}"
        print(f"{summary.policy:24s} J against drain-relief {paid:28s} {learned}")


if __name__ == "__main__":
    main()
