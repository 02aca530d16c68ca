"""`fogfold bench train`: how fast a policy is trained, and what more cores give."""

from __future__ import annotations

from fogfold.cli.bench_rows import show, words
from fogfold.cli.output import progress
from fogfold.errors import MissingExtraError, UnknownNameError, did_you_mean

__all__ = ["train_bench"]


def train_bench(
    *,
    nodes: tuple[int, ...] = (20, 50),
    method: str = "ppo,ahead",
    cores: tuple[int, ...] = (1, 2),
    rounds: int = 3,
    seats: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    json: bool = False,
) -> int:
    """How fast a policy is trained: one update, played and learned from, eight containers a node.

    Parameters
    ----------
    nodes
        Sizes of the cluster.
    method
        ppo and ahead, with commas between.
    cores
        Numbers of processes; each does the very same update.
    rounds
        How often each does it; the fastest counts.
    seats
        Worlds of an update, instead of 24 (ppo) or 12 (ahead).
    steps
        Decisions of each, instead of 48 (ppo) or 8 (ahead).
    seed
        Root of all draws.
    json
        Print one JSON object.
    """
    try:
        import torch  # noqa: PLC0415 - an extra

        from fogfold.train.speed import METHODS, measure_training  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(f"training needs torch ({error}); install fogfold[train]") from error
    torch.set_num_threads(1)
    names = words(method)
    for name in names:
        if name not in METHODS:
            raise UnknownNameError(f'method "{name}" is unknown; {did_you_mean(name, METHODS)}')
    with progress("train", len(nodes) * len(names) * len(cores), "rows") as track:
        rows = measure_training(
            nodes,
            names,
            cores,
            seed=seed,
            rounds=rounds,
            seats=seats,
            steps=steps,
            on_row=lambda _: track.by(),
        )
    show("train", [row.as_json() for row in rows], json)
    return 0
