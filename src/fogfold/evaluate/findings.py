"""What a comparison found, in sentences: what was saved, at which price, how sure that is, and what to be wary of.

A report opens with these. They are made from the same intervals as the tables; where an interval holds zero they say
that no change was measured, and what would make a saving worthless (work not done, users let down) is said unasked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fogfold.evaluate.result import FIGURES, Figure
from fogfold.evaluate.statistics import LEAST_BOOTSTRAP_SEEDS, Difference, Interval, Paired, Summary
from fogfold.evaluate.tables import difference_text, number_text, plain_line, value_text

__all__ = ["Findings", "KeyFigure", "findings"]

KEY_FIGURES = ("energy_kwh", "nodes_asleep_share", "sla_violation_rate", "mean_latency_ms", "migration_cost")
"""The figures shown large at the head of a report."""
WORK_LOST = 0.01
"""Share of the baseline's CPU work above which work that was not done must be named beside a saving."""
SLA_MULTIPLE = 2.0
"""Multiple of the baseline's SLA violations above which a policy is called over-consolidating."""
FAILED_SHARE = 0.1
"""Share of failed attempts above which moves are called unreliable."""

_FIGURE = {figure.key: figure for figure in FIGURES}


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One figure shown large: what it is, its value, and how it differs from the baseline's."""

    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Findings:
    """The sentences at the head of a report."""

    headline: str
    key_figures: tuple[KeyFigure, ...]
    cautions: tuple[str, ...]


def findings(summary: Summary, pair: Paired | None, summaries: Sequence[Summary], hours: float) -> Findings:
    """What is to be said of one policy.

    Args:
        summary: the policy that the report speaks of.
        pair: its differences from the baseline, or nothing where it ran alone or is the baseline.
        summaries: all policies.
        hours: length of a run.
    """
    return Findings(
        headline=_alone(summary, hours) if pair is None else _saving(summary, pair, hours),
        key_figures=tuple(_key_figure(summary, pair, key) for key in KEY_FIGURES),
        cautions=tuple(_cautions(summary, pair, summaries)),
    )


def _alone(summary: Summary, hours: float) -> str:
    parts = [f"{plain_line(summary.policy)} used {_quantity(summary, 'energy_kwh')} over {hours:g} h"]
    if summary.figures["nodes_asleep_share"] is not None:
        parts.append(f"with {_quantity(summary, 'nodes_asleep_share')} of nodes asleep")
    sentence = ", ".join(parts) + "."
    if summary.figures["sla_violation_rate"] is not None:
        rest = f"{_quantity(summary, 'sla_violation_rate')} of requests were late, failed or unserved"
        if summary.figures["mean_latency_ms"] is not None:
            rest += f"; the others took {_quantity(summary, 'mean_latency_ms')} on average"
        sentence += f" {rest}."
    return sentence


def _quantity(summary: Summary, key: str) -> str:
    figure = _FIGURE[key]
    return f"{value_text(figure, summary.figures[key])} {figure.unit}".strip()


def _saving(summary: Summary, pair: Paired, hours: float) -> str:
    """Energy first, then what it cost, then what came for free."""
    against = plain_line(pair.against)
    energy = pair.figures["energy_kwh"]
    name = plain_line(summary.policy)
    seeds = "one seed, so no interval" if len(pair.seeds) == 1 else f"{len(pair.seeds)} seeds"
    if energy is None or energy.relative is None:
        first = f"{name} and {against} cannot be compared by energy."
    elif energy.relative.holds_zero:
        mean = difference_text(_FIGURE["energy_kwh"], energy)
        first = (
            f"{name} used about as much energy as {against} ({mean}{_range(energy.relative, 100.0, ' %')}; {seeds})."
        )
    else:
        word = "less" if energy.relative.mean < 0.0 else "more"
        percent = f"{abs(energy.relative.mean) * 100:.1f} %"
        ends = _range(energy.relative, 100.0, " %", size_only=True).removeprefix(", ")
        first = f"{name} used {percent} {word} energy than {against} ({f'{ends}; ' if ends else ''}{seeds})."
    worse: list[str] = []
    better: list[str] = []
    for key, noun in (("sla_violation_rate", "SLA violations"), ("mean_latency_ms", "mean latency")):
        difference = pair.figures[key]
        if difference is not None:
            clause, rose = _change(_FIGURE[key], noun, difference, summary.figures[key])
            (worse if rose else better).append(clause)
    moves = summary.figures["moves"]
    if moves is not None and moves.mean > 0.0:
        worse.append(f"{number_text(_FIGURE['moves'], moves.mean)} moves in {hours:g} h")
    sentences = [first]
    if worse:
        sentences.append(f"The price: {_listed(worse)}.")
    if better:
        clause = _listed(better)
        sentences.append(f"{clause[0].upper()}{clause[1:]}.")
    return " ".join(sentences)


def _change(figure: Figure, noun: str, difference: Difference, value: Interval | None) -> tuple[str, bool]:
    """The change as a clause, and whether it is for the worse."""
    is_share = figure.unit == "%"
    shown = difference.absolute if is_share or difference.relative is None else difference.relative
    level = "" if value is None else f"{number_text(figure, value.mean)} {figure.unit}"
    if shown.mean == 0.0 or (shown.holds_zero and shown.low != shown.high):
        return f"{noun} did not measurably change ({level})", False
    verb = "up" if shown.mean > 0.0 else "down"
    size = difference_text(figure, difference).removeprefix("≈ ").lstrip("+−").replace(" pp", " percentage points")
    ends = ""
    if shown.low is not None and shown.high is not None:
        near, far = sorted((abs(shown.low), abs(shown.high)))
        texts = [
            number_text(figure, end) if is_share or difference.relative is None else f"{end * 100:.1f}"
            for end in (near, far)
        ]
        ends = f" ({texts[0]} to {texts[1]})"
    return f"{noun} {verb} {size}{ends} to {level}", shown.mean > 0.0


def _range(interval: Interval, scale: float, unit: str, *, size_only: bool = False) -> str:
    """`, 95 % interval a to b`, or nothing; with `size_only` without signs, the smaller first."""
    if interval.low is None or interval.high is None:
        return ""
    ends = [interval.low * scale, interval.high * scale]
    texts = [f"{abs(end):.1f}" for end in sorted(ends, key=abs)] if size_only else [f"{end:+.1f}" for end in ends]
    return f", 95 % interval {texts[0]} to {texts[1]}{unit}".replace("-", "−")


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _key_figure(summary: Summary, pair: Paired | None, key: str) -> KeyFigure:
    figure = _FIGURE[key]
    interval = summary.figures[key]
    value = "n/a" if interval is None else f"{number_text(figure, interval.mean)} {figure.unit}"
    difference = "" if pair is None else difference_text(figure, pair.figures[key])
    if pair is None or not difference:
        return KeyFigure(figure.label, value, "")
    unit = "" if difference.endswith((" %", " pp")) else f" {figure.unit}"
    return KeyFigure(figure.label, value, f"{difference}{unit} against {plain_line(pair.against)}")


def _cautions(summary: Summary, pair: Paired | None, summaries: Sequence[Summary]) -> list[str]:
    said = []
    name = plain_line(summary.policy)
    count = len(summary.seeds)
    if count == 1:
        said.append(
            "One seed shows one possible day: there are no intervals. Run more seeds before believing a ranking."
        )
    elif count < LEAST_BOOTSTRAP_SEEDS:
        said.append(f"With {count} seeds the intervals lean on Student's t, which takes the figures to be near normal.")
    if len({one.seeds for one in summaries}) > 1:
        said.append(
            "Not all policies ran the same seeds: compare means with care; differences use the shared seeds only."
        )
    if pair is None:
        return said + _moves_caution(summary, name)
    against = plain_line(pair.against)
    cost, work, sla = (pair.figures[key] for key in ("total_cost", "work_core_h", "sla_violation_rate"))
    if cost is not None and cost.absolute.holds_zero:
        said.append(f"The seeds do not settle whether {name} beats {against} by total cost J: the interval holds zero.")
    elif cost is not None and cost.absolute.mean >= 0.0:
        said.append(f"By total cost J {name} does not beat {against}: what it saves it pays for elsewhere.")
    if work is not None and work.relative is not None and work.relative.mean < -WORK_LOST:
        lost = f"{-work.relative.mean * 100:.1f} %"
        said.append(f"{name} served {lost} less CPU work than {against}: part of the saving is work that was not done.")
    if sla is not None and sla.relative is not None and not sla.absolute.holds_zero:
        multiple = 1.0 + sla.relative.mean
        if multiple >= SLA_MULTIPLE:
            said.append(
                f"{name} has {multiple:.1f} times the SLA violations of {against}: nodes sleep at users' expense."
            )
    return said + _moves_caution(summary, name)


def _moves_caution(summary: Summary, name: str) -> list[str]:
    moves, failed = summary.figures["moves"], summary.figures["failed_moves"]
    if moves is None or failed is None or failed.mean == 0.0:
        return []
    share = failed.mean / (failed.mean + moves.mean)
    return [f"{share * 100:.0f} % of the moves that {name} tried failed."] if share > FAILED_SHARE else []
