"""How well a world that is off by 30 % is found again from its records, seed by seed.

`python benchmarks/calibration.py --seeds 5`: `tiny-4` with servers in place of mini PCs; draw, boot times, dirty rates
and the chance of failure are 30 % above the scenario, the share of links is 30 % below. A day of exercise, three moves
at once, power meters with 2 % of noise, a clock of 30 s.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from fogfold.calibrate.beliefs import beliefs_of, described
from fogfold.calibrate.calibration import calibrate
from fogfold.calibrate.changes import calibrated_scenario
from fogfold.calibrate.estimate import Parameter
from fogfold.calibrate.files import observations_of
from fogfold.calibrate.playing import exercise_of, record_world
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

SERVER = "hpe-proliant-dl20-gen10-plus"
BELIEVED = {
    "nodes.edge.mix.0.machine": SERVER,
    "world.migration_link_share": 0.3,
    "world.migration_failure_base": 0.2,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--hours", type=float, default=24.0)
    arguments = parser.parse_args()
    for seed in range(1, arguments.seeds + 1):
        believed = build(load_scenario("tiny-4", BELIEVED), seed)
        cluster = described(believed)
        before = beliefs_of(cluster)
        truth = replace(
            before,
            curve_w={name: 1.3 * curve for name, curve in before.curve_w.items()},
            wake_s={name: 1.3 * wake_s for name, wake_s in before.wake_s.items()},
            link_share=0.7 * before.link_share,
            dirty_factor=dict.fromkeys(before.dirty_factor, 1.3),
            failure_base=1.3 * before.failure_base,
        )
        world = build(calibrated_scenario(cluster, before, truth)[0], seed, hours=arguments.hours)
        rows = record_world(world, exercise_of(world, moves_at_once=3), noise=0.02).rows
        found = calibrate(believed, observations_of(rows))
        print(f"seed {seed}: " + ", ".join(f"{len(some)} {kind.value}" for kind, some in rows.items()))
        for one in found.estimates:
            if one.fitted is None:
                continue
            true = {
                Parameter.CURVE: truth.curve_w.get(one.of),
                Parameter.BOOT: truth.wake_s.get(one.of),
                Parameter.LINK_SHARE: truth.link_share,
                Parameter.DIRTY: truth.dirty_factor.get(one.of),
                Parameter.FAILURE: truth.failure_base,
            }.get(one.parameter, one.was)
            off = np.abs(one.fitted / np.asarray(true) - 1.0).max()
            print(f"  {one.parameter.value:16} {one.of:30} off by {100 * off:5.2f} %   {one.verdict}")
        for held in found.predictions:
            for measure, value in held.before.items():
                print(f"  held back: {held.quantity:18} {measure:8} {value:8.4f} -> {held.after[measure]:8.4f}")


if __name__ == "__main__":
    main()
