"""The settings of the service: which cluster, who decides, within which limits, and who may ask.

One YAML file. Every fault is told at once, with its line and the nearest known word.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from fogfold.api.access import LOOPBACK, Role, Token, is_loopback
from fogfold.bootstrap.figures import Figures, figures_of
from fogfold.control.collect import CollectSettings
from fogfold.control.guard.settings import GuardSettings
from fogfold.control.loop import Mode
from fogfold.control.power_rules import PowerRules
from fogfold.control.schedule import ScheduleSettings
from fogfold.control.waves import PlanSettings
from fogfold.errors import ScenarioError, UnknownNameError, did_you_mean
from fogfold.policy.registry import POLICIES
from fogfold.world.scenario.explain import explain
from fogfold.world.scenario.load import scenario_names
from fogfold.world.scenario.read import read_yaml
from fogfold.world.scenario.schema.part import Part, Positive, fault

__all__ = [
    "ApiPart",
    "LimitsPart",
    "ServiceSettings",
    "SimulatedPlanePart",
    "TokenPart",
    "parse_settings",
    "read_settings",
]

if TYPE_CHECKING:
    GuardPart = Figures[GuardSettings]
    PlanPart = Figures[PlanSettings]
    PowerPart = Figures[PowerRules]
    RhythmPart = Figures[ScheduleSettings]
    ReadingPart = Figures[CollectSettings]
else:
    GuardPart, PlanPart, PowerPart = figures_of(GuardSettings), figures_of(PlanSettings), figures_of(PowerRules)
    RhythmPart, ReadingPart = figures_of(ScheduleSettings), figures_of(CollectSettings)

_SHORTEST_TOKEN = 16
"""Signs of a token: with fewer it could be guessed over the network."""


class SimulatedPlanePart(Part):
    """A cluster that is played by the simulator inside the service."""

    kind: Literal["simulated"]
    """Which data plane: simulated."""
    scenario: str = "city-20"
    """Name of a scenario, or the path of a scenario file, from the folder of this file on."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Root of all randomness of the simulated world."""
    hours: Positive | None = None
    """How long it is played, in hours of its own time; null for as long as the scenario says."""
    speed: Positive | Literal["max"] = 1.0
    """Seconds of the cluster in one second: 1 is real time; max plays as fast as it can be computed."""


class LimitsPart(Part):
    """What decisions are held to. Each figure is explained where it stands in code, with its unit and its reason."""

    guard: GuardPart = GuardPart()
    """How much may be disturbed, when, and what must never be touched."""
    plan: PlanPart = PlanPart()
    """How much may go on at once."""
    power: PowerPart | None = PowerPart()
    """Which nodes may sleep, and when one is woken; null leaves that to the policy and the guard."""
    rhythm: RhythmPart = RhythmPart()
    """How often decisions are made."""
    reading: ReadingPart = ReadingPart()
    """Which readings are believed."""


class TokenPart(Part):
    """Who may ask, and for what. The token stands in a file or a variable of the environment; here only for trials."""

    name: Annotated[str, Field(min_length=1)]
    """Who it is given to, as the journal shows it."""
    role: Literal["read", "approve", "admin"]
    """read looks; approve also approves, denies, stops and asks for a decision; admin also resumes and wakes all."""
    token: str | None = None
    """The token itself, at least 16 signs."""
    token_file: str | None = None
    """A file that holds it, from the folder of this file on."""
    token_env: str | None = None
    """A variable of the environment that holds it."""

    @model_validator(mode="after")
    def _one_source(self) -> TokenPart:
        given = [self.token, self.token_file, self.token_env]
        if sum(value is not None for value in given) != 1:
            raise fault("give exactly one of token, token_file and token_env")
        if self.token is not None:
            _check_token(self.token, "token")
        return self

    def read(self, folder: Path, environment: dict[str, str]) -> Token:
        """The token with its holder and role.

        Raises:
            ScenarioError: if the file or the variable is missing, or holds too short a token.
        """
        secret = self.token
        where = f"token of {self.name}"
        if self.token_file is not None:
            path = folder / self.token_file
            where = str(path)
            try:
                secret = path.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ScenarioError([f"the token of {self.name} cannot be read: {error}"]) from error
        if self.token_env is not None:
            where = f"${self.token_env}"
            secret = environment.get(self.token_env, "").strip()
        assert secret is not None  # noqa: S101 - one source is given, see above
        if len(secret) < _SHORTEST_TOKEN:
            raise ScenarioError(
                [f"the token of {self.name} ({where}) has {len(secret)} signs; give at least {_SHORTEST_TOKEN}"]
            )
        return Token(self.name, Role[self.role.upper()], secret)


class ApiPart(Part):
    """Where the service listens, and to whom."""

    host: str = LOOPBACK
    """Address to listen on. Beyond this machine only with tokens."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8460
    """Port to listen on; 0 takes a free one and says which."""
    tokens: Annotated[tuple[TokenPart, ...], Field(strict=False)] = ()
    """Who may ask. Without tokens whoever is on this machine may do everything."""
    heartbeat_s: Positive = 15.0
    """Silence after which a reader of events is told that the service is still there."""
    most_readers: Annotated[int, Field(ge=1)] = 200
    """Readers of events at one time."""

    @model_validator(mode="after")
    def _is_safe(self) -> ApiPart:
        if not self.tokens and not is_loopback(self.host):
            raise fault(
                f'host is "{self.host}" and there are no tokens: anybody on the network could switch nodes off; '
                f"give api.tokens, or listen on {LOOPBACK}"
            )
        names = [token.name for token in self.tokens]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise fault(f'token name "{twice[0]}" is given twice; each holder has a name of its own')
        return self


class ServiceSettings(Part):
    """The service as a whole."""

    plane: SimulatedPlanePart
    """The cluster that is operated."""
    store: str = "memory"
    """Where journal and state are kept: memory (a file that is gone with the service), sqlite:///path or
    postgresql://user@host/name."""
    policy: str = "drain-relief"
    """Who proposes: a rule's name, or learned:FILE."""
    mode: Literal["recommend", "approve", "automatic"] = "recommend"
    """What becomes of a plan: it is shown, it waits to be approved, or it is carried out."""
    collect_s: Positive = 30.0
    """Time between two looks at the cluster."""
    lease_s: Positive = 60.0
    """How long the right to act lasts without being renewed."""
    approval_s: Positive = 600.0
    """How long a plan waits to be approved."""
    shutdown_s: Positive = 120.0
    """How long moves under way may take to end when the service is told to end."""
    outcome_s: Positive = 1800.0
    """For how long it is measured after a plan what it really saves."""
    replay_days: Annotated[float, Field(ge=0)] = 7.0
    """How long it is kept what decisions were made from, in days, so that they can be made again; 0 keeps nothing."""
    replay_mib: Positive = 512.0
    """How large that may grow; beyond it the oldest goes earlier. A decision about 20 nodes takes some 12 kB."""
    limits: LimitsPart = LimitsPart()
    """What decisions are held to."""
    api: ApiPart = ApiPart()
    """Where the service listens, and to whom."""

    @field_validator("policy")
    @classmethod
    def _is_known(cls, policy: str) -> str:
        base = policy.partition(":")[0]
        if base not in POLICIES:
            raise fault(f'"{base}" is no policy; {did_you_mean(base, POLICIES)}')
        return policy

    @model_validator(mode="after")
    def _lease_outlasts_a_look(self) -> ServiceSettings:
        if not self.lease_s > self.collect_s:
            raise fault(
                f"lease_s is {self.lease_s:g} and collect_s {self.collect_s:g}; a lease must outlast a look, by which "
                "it is renewed"
            )
        return self

    @property
    def mode_of(self) -> Mode:
        """The mode, as the loop knows it."""
        return Mode(self.mode)


def read_settings(path: Path) -> ServiceSettings:
    """The settings in that file.

    Raises:
        UnknownNameError: if there is no such file.
        ScenarioError: with every fault of the file, as `file:line:col: sentence`.
    """
    if not path.is_file():
        raise UnknownNameError(f'there is no settings file "{path}"; give the path of a YAML file')
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError([f"{path}:1:1: the file cannot be read as UTF-8 text: {error}"]) from error
    return parse_settings(text, str(path), folder=path.parent)


def parse_settings(text: str, label: str = "settings", *, folder: Path = Path()) -> ServiceSettings:
    """The settings that a YAML text says.

    Args:
        text: the file's text.
        label: what faults call the file.
        folder: where relative paths of scenario files start.

    Raises:
        ScenarioError: with every fault, as `label:line:col: sentence`.
    """
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        raise ScenarioError([f"{label}:1:1: the file is empty; write at least plane, with its kind"])
    document = read_yaml(text)
    faults = list(document.faults)
    if isinstance(document.values, dict):
        _anchor(document.values, folder)
    settings: ServiceSettings | None = None
    if document.values is not None:
        try:
            settings = ServiceSettings.model_validate(document.values)
        except ValidationError as error:
            found = explain(error, document.values, ServiceSettings)
            faults += [(*document.mark(one.path, key=one.at_key), one.sentence) for one in found]
    if settings is None or faults:
        lines = [f"{label}:{line}:{column}: {sentence}" for line, column, sentence in sorted(set(faults))]
        raise ScenarioError(lines or [f"{label}:1:1: the file says null; write a mapping"])
    return settings


def _anchor(values: dict[str, Any], folder: Path) -> None:
    """Let the path of a scenario file start at the folder of the settings."""
    plane = values.get("plane")
    if isinstance(plane, dict) and isinstance(plane.get("scenario"), str):
        name = plane["scenario"]
        if name not in scenario_names() and (folder / name).is_file():
            plane["scenario"] = str(folder / name)


def _check_token(token: str, name: str) -> None:
    if len(token) < _SHORTEST_TOKEN:
        raise fault(f"{name} has {len(token)} signs; give at least {_SHORTEST_TOKEN}")
