"""`fogfold train`: a policy learned by PPO in the simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fogfold.cli.options import jobs_of
from fogfold.cli.output import print_json, progress, screen
from fogfold.errors import MissingExtraError, ModelError

__all__ = ["train"]


def train(
    *,
    config: Annotated[Path | None, Parameter(name="--config")] = None,
    out: Path = Path("runs/train"),
    updates: int | None = None,
    seed: int | None = None,
    device: str = "cpu",
    jobs: int | None = None,
    threads: int = 1,
    tracker: str | None = None,
    json: bool = False,
) -> int:
    """Train a policy; a run that was interrupted goes on when the same command is given again.

    Parameters
    ----------
    config
        YAML file with settings of the run; what it leaves out is at its default.
    out
        Folder of the run: settings, log, weights, and the state to go on from.
    updates
        Updates in all, instead of the settings'.
    seed
        Root of all draws, instead of the settings'.
    device
        Where torch computes: cpu, cuda, or auto for a graphics card where there is one.
    jobs
        Processes that play; all processors where not given. How many changes nothing but the time.
    threads
        Threads that torch may use for one operation.
    tracker
        Show the log in tensorboard or trackio as well.
    json
        Print one JSON object at the end.
    """
    try:
        import torch  # noqa: PLC0415 - an extra

        from fogfold.train.loop import Report  # noqa: PLC0415
        from fogfold.train.loop import train as run  # noqa: PLC0415
        from fogfold.train.settings import TrainSettings, read_settings  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(f"training needs torch ({error}); install fogfold[train]") from error
    if threads < 1:
        raise ModelError(f"--threads is {threads}; at least one is needed")
    torch.set_num_threads(threads)
    settings = TrainSettings() if config is None else read_settings(config)
    changes: dict[str, Any] = {k: v for k, v in (("updates", updates), ("seed", seed)) if v is not None}
    settings = replace(settings, **changes)
    lines = screen()
    with progress("train", settings.updates, "updates") as track:

        def told(report: Report) -> None:
            track.to(report.update + 1)
            f = report.figures
            track.name(
                f"reward {f.reward:.4f}, KL {f.divergence:.4f}, clipped {f.clip_share:.1%}, entropy {f.entropy:.2f}, "
                f"explained {f.explained_variance:.2f}, {report.steps_per_s:.0f} decisions/s"
            )
            if json:
                return
            if report.judged is not None:
                j = report.judged
                lines.print(
                    f"update {report.update}: J against the rule likeliest {j.likeliest.against_rule:+.2%}, "
                    f"drawn {j.drawn.against_rule:+.2%}; energy {j.likeliest.energy_wh:.0f} Wh (rule "
                    f"{j.rule.energy_wh:.0f}), SLA {j.likeliest.sla_wh:.0f} Wh-eq ({j.rule.sla_wh:.0f}), moves "
                    f"{j.likeliest.moves:.0f} ({j.rule.moves:.0f})",
                    markup=False,
                )
            if report.warning:
                lines.print(f"warning: {report.warning}", style="yellow", markup=False)

        def taught(what: str, done: int, of: int) -> None:
            track.name(f"warm-up: {done} of {of} {what}")

        outcome = run(
            settings,
            out,
            device=device,
            jobs=jobs_of(jobs),
            tracker=tracker,
            on_update=told,
            on_lesson=taught,
        )
    if json:
        print_json(
            {
                "updates": outcome.updates,
                "best_against_rule": outcome.best_against_rule,
                "best": str(outcome.folder / "best.safetensors"),
            }
        )
    else:
        lines.print(
            f"best J against the rule: {outcome.best_against_rule:+.2%}; weights in {outcome.folder}", markup=False
        )
    return 0
