"""One update of policy and value from a stretch of experience."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch

from fogfold.policy.learned.deciding import Choice
from fogfold.train.advantages import advantages
from fogfold.train.ahead import Group
from fogfold.train.batch import Contexts, StageBatch, contexts_of, stage_batches
from fogfold.train.losses import choice_terms, value_loss
from fogfold.train.network import PolicyNetwork, ValueNetwork
from fogfold.train.rollout import Step
from fogfold.train.settings import TrainSettings

__all__ = ["Learner", "UpdateFigures"]

_SHARDS = 2
"""Pieces that each part is cut into, whoever works on them: gradients are summed in their order, so that the number of
threads changes no bit."""
_LEAST_TELLING = 1e-3
"""Advantage, in standard deviations, below which a chain says nothing."""


@dataclass(frozen=True)
class UpdateFigures:
    """What is watched in an update."""

    reward: float
    """Mean of a step: saving against the twin, as a share of the twin's cost. Of looks ahead: mean saving of each
    group's best chain against the group, in steps of the idle fleet."""
    divergence: float
    clip_share: float
    entropy: float
    """Mean of a choice, in nats."""
    explained_variance: float
    value_loss: float
    choices: int
    passes: float
    """Passes over the experience before the divergence called a halt."""


@dataclass(frozen=True)
class _Batch:
    """Decisions with their advantages."""

    contexts: Contexts
    choices: Sequence[Sequence[Choice]]
    scaled: torch.Tensor
    """Advantage of each, in standard deviations."""
    which: np.ndarray
    """Those that are learned from."""
    goal: torch.Tensor | None
    """What the value of each should have been; None where no value is learned."""


@dataclass(frozen=True)
class _Found:
    """What a shard says: sums over its choices, and the gradient of its share of the loss."""

    gradient: tuple[torch.Tensor | None, ...]
    divergence: float
    clipped: float
    entropy: float
    value_loss: float
    """Sum over its decisions."""
    count: int
    cpu_s: float
    """CPU time of its thread."""


class Learner:
    """Policy, value and optimiser of a run.

    Args:
        settings: of the run.
        device: where it computes.
        jobs: threads that work on an update side by side, at most as many as a part has shards.
    """

    def __init__(self, settings: TrainSettings, device: torch.device, *, jobs: int = 1) -> None:
        self.settings, self.device = settings, device
        self._threads: ThreadPoolExecutor | None = None
        if jobs > 1 and device.type == "cpu":
            # A new thread takes torch's default number of threads, not the one that was set, and sums in another order.
            how_many = (torch.get_num_threads(),)
            self._threads = ThreadPoolExecutor(_SHARDS, initializer=torch.set_num_threads, initargs=how_many)
        self.overlapped_s = 0.0
        """CPU time of threads beside those that worked longest: what a free core for each has spared."""
        torch.manual_seed(settings.seed)
        self.policy = PolicyNetwork(settings.shape, follow=settings.follow).to(device)
        self.value = ValueNetwork().to(device)
        self.scale: float | None = None
        """Running standard deviation of what looks ahead found; None before the first."""
        self.optimiser = torch.optim.Adam(
            [{"params": self.policy.parameters()}, {"params": self.value.parameters()}],
            lr=settings.learning_rate,
            eps=1e-5,
        )

    def update(self, seats: Sequence[Sequence[Step]], *, done: float, rng: np.random.Generator) -> UpdateFigures:
        """Learn from what the seats brought.

        Args:
            seats: steps of each seat, all of the same number.
            done: share of the run that is behind us, in [0, 1].
            rng: shuffles the decisions.
        """
        settings, device = self.settings, self.device
        steps = [step for seat in seats for step in seat]
        contexts = contexts_of([step.context for step in steps], device)
        after = contexts_of([step.after for step in steps], device)
        shape = (len(seats), len(seats[0]))
        with torch.no_grad():
            value = self.value(*contexts.fields).cpu().numpy().astype(np.float64)
            value_after = self.value(*after.fields).cpu().numpy().astype(np.float64)
        reward = np.array([step.reward for step in steps]).reshape(shape)
        gain = advantages(
            reward,
            value.reshape(shape),
            value_after.reshape(shape),
            np.array([step.is_last for step in steps]).reshape(shape),
            discount=settings.discount,
            trace=settings.trace,
        ).reshape(-1)
        wanted = gain + value
        explained = 1.0 - float(np.var(wanted - value) / max(float(np.var(wanted)), 1e-12))
        most = settings.greatest_advantage
        bounded = np.clip((gain - gain.mean()) / (gain.std() + 1e-8), -most, most)
        scaled = torch.tensor(bounded, dtype=torch.float32, device=device)
        goal = torch.tensor(wanted, dtype=torch.float32, device=device)
        batch = _Batch(contexts, [step.choices for step in steps], scaled, np.arange(len(steps)), goal)
        passes = self._passes(batch, done=done, rng=rng)
        return replace(passes, reward=float(reward.mean()), explained_variance=explained)

    def update_ahead(self, groups: Sequence[Group], *, done: float, rng: np.random.Generator) -> UpdateFigures:
        """Learn from looks ahead; the value network is left alone.

        Args:
            groups: at least one, all of as many chains.
            done: share of the run that is behind us, in [0, 1].
            rng: shuffles the chains.
        """
        settings, device = self.settings, self.device
        contexts = contexts_of([context for group in groups for context in group.contexts], device)
        choices = [chain for group in groups for chain in group.choices]
        gain = np.concatenate([group.advantage for group in groups])
        # The scale of many updates: a calm hour is not blown up to the size of a burst.
        self.scale = float(gain.std()) if self.scale is None else 0.9 * self.scale + 0.1 * float(gain.std())
        most = settings.greatest_advantage
        bounded = np.clip(gain / (self.scale + 1e-8), -most, most)
        scaled = torch.tensor(bounded, dtype=torch.float32, device=device)
        telling = np.flatnonzero(np.abs(bounded) > _LEAST_TELLING)
        if len(telling) < settings.parts:
            telling = np.arange(len(bounded))
        passes = self._passes(_Batch(contexts, choices, scaled, telling, None), done=done, rng=rng)
        drawn_best = float(np.mean([group.advantage.max() for group in groups]))
        return replace(passes, reward=drawn_best)

    def _passes(self, batch: _Batch, *, done: float, rng: np.random.Generator) -> UpdateFigures:
        """Some passes over decisions, cut into parts."""
        settings = self.settings
        rate = settings.learning_rate * (1.0 - 0.9 * done)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        entropy_weight = settings.entropy[0] ** (1.0 - done) * settings.entropy[1] ** done
        stages = stage_batches(batch.choices, self.device)
        sums = np.zeros(4)
        choices, parts_done, halted = 0, 0, False
        for _ in range(settings.epochs):
            order = rng.permutation(batch.which)
            for part in np.array_split(order, min(settings.parts, len(order))):
                shards = [(batch, stages, shard, len(part), entropy_weight) for shard in np.array_split(part, _SHARDS)]
                each = self._threads.map if self._threads is not None else map
                found = list(each(lambda shard: self._shard(*shard), shards))
                count = sum(f.count for f in found)
                divergence = sum(f.divergence for f in found)
                if divergence / count > settings.most_divergence:
                    halted = True
                    break
                if self._threads is not None:
                    self.overlapped_s += sum(f.cpu_s for f in found) - max(f.cpu_s for f in found)
                self._step(found)
                entropy, value = sum(f.entropy for f in found), sum(f.value_loss for f in found) / len(part)
                sums += (divergence, sum(f.clipped for f in found), entropy, value * count)
                choices += count
                parts_done += 1
            if halted:
                break
        return UpdateFigures(
            reward=0.0,
            divergence=float(sums[0] / max(choices, 1)),
            clip_share=float(sums[1] / max(choices, 1)),
            entropy=float(sums[2] / max(choices, 1)),
            explained_variance=0.0,
            value_loss=float(sums[3] / max(choices, 1)),
            choices=sum(len(batch.choices[i]) for i in batch.which),
            passes=parts_done / settings.parts,
        )

    def _shard(
        self, batch: _Batch, stages: Sequence[StageBatch], shard: np.ndarray, part: int, entropy_weight: float
    ) -> _Found:
        """Loss and gradient of some decisions of a part of so many."""
        settings, device = self.settings, self.device
        zero = torch.zeros((), device=device)
        if not len(shard):
            return _Found(tuple(None for _ in self._parameters), 0.0, 0.0, 0.0, 0.0, 0, 0.0)
        started = time.thread_time()
        which = torch.tensor(shard, device=device)
        seen = batch.contexts.pick(which).fields
        summary = self.policy.summary(*seen)
        place = torch.full((len(batch.choices),), -1, device=device)
        place[which] = torch.arange(len(shard), device=device)
        scaled = batch.scaled[which]
        policy_loss, entropy, divergence, clipped, count = zero, zero, 0.0, 0.0, 0
        for whole in stages:
            stage = whole.of(place)
            if not len(stage.chosen):
                continue
            logits = self.policy.logits(stage.stage, stage.rows, stage.lead, summary[stage.decision])
            terms = choice_terms(
                logits, stage.legal, stage.chosen, stage.log_prob, scaled[stage.decision], clip=settings.clip
            )
            policy_loss = policy_loss + terms.policy
            entropy = entropy + terms.entropy
            divergence += float(terms.divergence)
            clipped += float(terms.clipped)
            count += terms.count
        # A sum over the choices of a decision, a mean over decisions: every decision weighs alike.
        loss, value = (policy_loss - entropy_weight * entropy) / part, zero
        if batch.goal is not None:
            value = value_loss(self.value(*seen), batch.goal[which]) * len(shard)
            loss = loss + settings.value_weight * value / part
        gradient = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        entropies, values = float(entropy.detach()), float(value.detach())
        return _Found(gradient, divergence, clipped, entropies, values, count, time.thread_time() - started)

    @property
    def _parameters(self) -> list[torch.nn.Parameter]:
        return [*self.policy.parameters(), *self.value.parameters()]

    def _step(self, found: Sequence[_Found]) -> None:
        """One step down the sum of the gradients; what none of them touches is left alone."""
        for i, parameter in enumerate(self._parameters):
            parts = [gradient for f in found if (gradient := f.gradient[i]) is not None]
            parameter.grad = sum(parts[1:], start=parts[0]) if parts else None
        most = self.settings.greatest_gradient
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), most)
        torch.nn.utils.clip_grad_norm_(self.value.parameters(), most)
        self.optimiser.step()
