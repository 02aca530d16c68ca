"""Commands that look at a running service and steer it; all but `journal export` and `replay` go through its API."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter
from rich.table import Table

from fogfold.cli.client import Client
from fogfold.cli.output import print_json, screen
from fogfold.errors import ModelError, UnknownNameError

__all__ = ["approve", "deny", "plan", "resume", "status", "stop", "wake_all", "why"]

Url = Annotated[str | None, Parameter(name="--url")]
"""Address of the service; $FOGFOLD_URL, or http://127.0.0.1:8460."""
Bearer = Annotated[str | None, Parameter(name="--token")]
"""The caller's token; $FOGFOLD_TOKEN. A variable is better: command lines are seen by others on the machine."""


def status(*, url: Url = None, token: Bearer = None, json: bool = False) -> int:
    """How the service and its cluster stand.

    Parameters
    ----------
    url
        Address of the service; $FOGFOLD_URL, or http://127.0.0.1:8460.
    token
        Token of the caller; better given as $FOGFOLD_TOKEN.
    json
        Print one JSON object.
    """
    found = Client(url, token).get("/status")
    if json:
        print_json(found)
        return 0
    nodes = ", ".join(f"{count} {state}" for state, count in sorted(found["nodes"].items())) or "not seen yet"
    power = "not measured" if found["power_w"] is None else f"{found['power_w']:.0f} W ({found['metered']} nodes read)"
    lines = [
        ("time", _time(found["now_s"])),
        ("mode", f"{found['mode']}, policy {found['policy']}"),
        ("nodes", nodes + (f"; {found['blind']} blind" if found["blind"] else "")),
        (
            "containers",
            "not seen yet" if found["containers"] is None else f"{found['placed']} of {found['containers']} run",
        ),
        ("power", power),
        ("may act", "yes" if found["holds_lease"] else "no: another instance holds the lease"),
        ("acting", "nothing" if found["acting"] is None else f"plan {found['acting']}"),
        ("waiting", "nothing" if found["pending"] is None else f"plan {found['pending']}: approve or deny it"),
    ]
    if found["stopped"]:
        lines.append(("stopped", found["stopped"]))
    if found["trouble"]:
        lines.append(("trouble", found["trouble"]))
    for name, text in lines:
        screen().print(f"{name:<11} {text}", markup=False)
    return 0


def plan(*, url: Url = None, token: Bearer = None, json: bool = False) -> int:
    """What was decided last, and the plan that waits to be approved.

    Parameters
    ----------
    url
        Address of the service.
    token
        Token of the caller.
    json
        Print one JSON object.
    """
    found = Client(url, token).get("/plan")
    if json:
        print_json(found)
        return 0
    pending = found["pending"]
    if pending is not None:
        _say(f"plan {pending['number']} waits to be approved, for another {pending['left_s']:.0f} s:")
        _show_decision(pending["decision"])
    elif found["last"] is not None:
        _say(f"no plan waits; the last decision was {found['last']['number']}:")
        _show_decision(found["last"])
    else:
        _say("nothing was decided yet")
    return 0


def approve(number: int, *, url: Url = None, token: Bearer = None, json: bool = False) -> int:
    """Have the plan that waits carried out.

    Parameters
    ----------
    number
        Number of the plan, as `fogfold plan` shows it.
    url
        Address of the service.
    token
        Token of the caller; it needs the role approve.
    json
        Print one JSON object.
    """
    return _done(Client(url, token).post(f"/plan/{number}/approve"), f"plan {number} is being carried out", json=json)


def deny(number: int, *, why: str = "", url: Url = None, token: Bearer = None, json: bool = False) -> int:
    """Throw the plan that waits away.

    Parameters
    ----------
    number
        Number of the plan.
    why
        A reason, for the journal.
    url
        Address of the service.
    token
        Token of the caller; it needs the role approve.
    json
        Print one JSON object.
    """
    return _done(Client(url, token).post(f"/plan/{number}/deny", {"why": why}), f"plan {number} is denied", json=json)


def stop(*, why: str, url: Url = None, token: Bearer = None, json: bool = False) -> int:
    """Press the stop button: nothing new is begun, also after a restart, until `fogfold resume`.

    Parameters
    ----------
    why
        A reason: whoever finds the service stopped will read it.
    url
        Address of the service.
    token
        Token of the caller; it needs the role approve.
    json
        Print one JSON object.
    """
    found = Client(url, token).post("/stop", {"why": why})
    return _done(found, f"stopped: {found['stopped']}", json=json)


def resume(*, url: Url = None, token: Bearer = None, json: bool = False) -> int:
    """Let the stop button go.

    Parameters
    ----------
    url
        Address of the service.
    token
        Token of the caller; it needs the role admin.
    json
        Print one JSON object.
    """
    return _done(Client(url, token).post("/resume"), "resumed", json=json)


def wake_all(
    *, why: str = "", config: Path | None = None, url: Url = None, token: Bearer = None, json: bool = False
) -> int:
    """Stop everything and order every node on.

    Parameters
    ----------
    why
        A reason, for the journal.
    config
        Settings file of the service: nodes are ordered on through their power drivers, without service and database.
        A simulated cluster lives in the process that plays it, so it is woken through the API only.
    url
        Address of the service.
    token
        Token of the caller; it needs the role admin.
    json
        Print one JSON object.
    """
    if config is not None:
        from fogfold.cli.serve import service_parts  # noqa: PLC0415 - an extra

        settings = service_parts()["read_settings"](config)
        raise ModelError(
            f"{config} describes a {settings.plane.kind} cluster, which lives in the process that plays it; "
            "leave --config out, and give --url of that service"
        )
    found = Client(url, token).post("/wake-all", {"why": why})
    if json:
        print_json(found)
    else:
        _say(f"stopped: {found['stopped']}")
        _say(f"{len(found['ordered'])} nodes are ordered on: {', '.join(found['ordered']) or 'all were up'}")
        for node, said in found["not_ordered"].items():
            _say(f"{node} was not: {said}")
        if found["trouble"]:
            _say(found["trouble"])
    return 1 if found["not_ordered"] else 0


def why(name: str, *, url: Url = None, token: Bearer = None, json: bool = False) -> int:
    """Why a node stays on, or a container where it runs.

    Parameters
    ----------
    name
        Name of a node or a container.
    url
        Address of the service.
    token
        Token of the caller.
    json
        Print one JSON object.
    """
    client = Client(url, token)
    try:
        found = {"node": client.get(f"/nodes/{quote(name, safe='')}")}
    except UnknownNameError:
        try:
            found = {"container": client.get(f"/containers/{quote(name, safe='')}")}
        except UnknownNameError as error:
            raise UnknownNameError(f"there is neither a node nor a container {name!r} in the cluster") from error
    if json:
        print_json(found)
    elif "node" in found:
        _explain_node(found["node"])
    else:
        _explain_container(found["container"])
    return 0


def _explain_node(node: dict[str, Any]) -> None:
    pressure = "" if node["pressure"] is None else f", pressure {node['pressure']:.2f} ({node['pressed_by']})"
    _say(f"node {node['id']} at {node['site']} is {node['state']} with {len(node['containers'])} containers{pressure}")
    if node["blind"] is not None:
        _say(f"nothing is known of it: {node['blind']['detail']}")
    if node["planned"] is not None:
        _say(f"the last whole decision plans that it {node['planned']}s")
    if node["stays"] is not None:
        _say("it stays on:")
        _show_hold(node["stays"])
    elif node["planned"] is None and node["state"] in {"on", "draining"}:
        _say("no whole decision was made about it yet")


def _explain_container(container: dict[str, Any]) -> None:
    where = f"runs on {container['node']}" if container["node"] is not None else "runs nowhere"
    going = f" and goes to {container['target']}" if container["target"] is not None else ""
    _say(f"container {container['id']} {where}{going}; it moves: {container['movability']}")
    if container["planned"] is not None:
        _say(f"the last whole decision plans that it goes to {container['planned']}")
    for title, key in (("it is protected:", "held"), ("a move was proposed and taken out:", "refused")):
        if container[key] is not None:
            _say(title)
            _show_hold(container[key])
    if not any(container[key] for key in ("planned", "held", "refused")):
        _say("no proposal asks for it to be moved")


def _show_hold(hold: dict[str, Any]) -> None:
    _say(f"  {hold['code']}: {hold['detail']}")
    for text in (hold["meaning"], hold["remedy"]):
        if text:
            _say(f"  {text}")


def _show_decision(decision: dict[str, Any]) -> None:
    _say(
        f"{decision['rhythm']} decision by {decision['policy']} at {_time(decision['at_s'])}, "
        f"{len(decision['moves'])} moves, saving {decision['saving_w']:.0f} W, plan: {decision['plan']}"
    )
    if decision["wake"]:
        _say(f"wake   {', '.join(decision['wake'])}")
    if decision["sleep"]:
        _say(f"sleep  {', '.join(decision['sleep'])}")
    if decision["moves"]:
        table = Table("wave", "container", "from", "to", box=None)
        for move in decision["moves"]:
            table.add_row(str(move["wave"]), move["container"], move["source"], move["target"])
        screen().print(table)
    if decision["refused"]:
        table = Table("refused", "what", "code", "because", box=None)
        for refusal in decision["refused"]:
            table.add_row(refusal["act"], refusal["subject"], refusal["code"], refusal["detail"])
        screen().print(table)
    for alert in decision["alerts"]:
        _say(f"alert: {alert}")


def _done(found: Any, said: str, *, json: bool) -> int:
    if json:
        print_json(found)
    else:
        _say(said)
    return 0


def _say(text: str) -> None:
    screen().print(text, markup=False)


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
