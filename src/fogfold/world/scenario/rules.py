"""Rules between the keys of a scenario: ids that are unique, names that lead somewhere, counts that agree.

They are read off plain values, not off the checked scenario, so that they are told together with wrong types and
unknown keys elsewhere in the file. What has the wrong form is passed over here: `explain` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fogfold.cost.machines import MACHINES
from fogfold.errors import did_you_mean
from fogfold.world.scenario.explain import Fault, spelt
from fogfold.world.scenario.read import Path
from fogfold.world.workload.profiles import PROFILES

__all__ = ["rule_faults"]

Entry = tuple[Path, Mapping[str, Any]]
Entries = list[Entry]

_REAL_SITES = {"gateways": 118, "proxies": 12, "datacentre": 1}
_EUA_SITES = 125


def rule_faults(values: Any) -> list[Fault]:
    """Every rule between keys that the plain values of a scenario break."""
    found: list[Fault] = []
    groups = list(_entries(values, ("sites",)))
    nodes = list(_entries(values, ("nodes",)))
    machines = list(_entries(values, ("machines",)))
    services = list(_entries(values, ("containers", "services")))
    places = [place for path, _ in groups for place in _entries(values, (*path, "layout", "places"))]
    found += _twice("site group", "name", groups)
    found += _twice("site", "id", places)
    found += _twice("node group", "name", nodes)
    found += _twice("machine", "name", machines)
    found += _twice("service", "name", services)
    found += _machines(values, nodes, machines)
    found += _sites(groups, nodes)
    found += _profiles(services)
    found += _images(services)
    found += _counts(values)
    if groups and not any(group.get("users", True) for _, group in groups):
        found.append(Fault(("sites",), "no site group has users; set users: true for at least one"))
    return found


def _entries(values: Any, path: Path) -> Iterator[Entry]:
    """The mappings in the list at a path, each with its own path; nothing where there is no such list."""
    here = values
    for part in path:
        if isinstance(here, Mapping):
            here = here.get(str(part))
        elif isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            return
    if isinstance(here, list | tuple):
        for i, entry in enumerate(here):
            if isinstance(entry, Mapping):
                yield (*path, i), entry


def _twice(what: str, key: str, entries: Entries) -> Iterator[Fault]:
    first: dict[str, Path] = {}
    for path, entry in entries:
        name = entry.get(key)
        if not isinstance(name, str):
            continue
        if name in first:
            yield Fault(
                (*path, key), f'{what} "{name}" is given twice, first as {spelt(first[name])}; rename one of them'
            )
        first.setdefault(name, path)


def _machines(values: Any, nodes: Entries, machines: Entries) -> Iterator[Fault]:
    own = {entry["name"] for _, entry in machines if isinstance(entry.get("name"), str)}
    for path, entry in machines:
        if entry.get("name") in MACHINES:
            yield Fault((*path, "name"), f'machine "{entry["name"]}" is in the catalogue already; choose another name')
    known = own | set(MACHINES)
    for path, _ in nodes:
        for place, entry in _entries(values, (*path, "mix")):
            name = entry.get("machine")
            if isinstance(name, str) and name not in known:
                yield Fault((*place, "machine"), f'machine "{name}" is unknown; {did_you_mean(name, known)}')


def _sites(groups: Entries, nodes: Entries) -> Iterator[Fault]:
    sizes = {group["name"]: _size(group.get("layout")) for _, group in groups if isinstance(group.get("name"), str)}
    for path, entry in nodes:
        name = entry.get("sites")
        if not isinstance(name, str):
            continue
        if name not in sizes:
            yield Fault((*path, "sites"), f'site group "{name}" is unknown; {did_you_mean(name, sizes)}')
            continue
        sites, count, spare, most = (
            sizes[name],
            entry.get("count"),
            entry.get("spare", 0),
            entry.get("most_per_site", 10),
        )
        if not (isinstance(sites, int) and isinstance(count, int) and isinstance(spare, int) and isinstance(most, int)):
            continue
        if 0 < count < sites:
            yield Fault(
                (*path, "count"),
                f'{spelt(path)} has {count} nodes for the {sites} sites of "{name}"; every site needs at least one',
            )
        if count + spare > sites * most > 0:
            yield Fault(
                (*path, "count"),
                f'{spelt(path)} has {count + spare} nodes, but {sites} sites of "{name}" hold at most {most} each; '
                "give more sites, or raise most_per_site",
            )


def _size(layout: Any) -> int | None:
    """How many sites a layout has, where its plain values say so."""
    if not isinstance(layout, Mapping):
        return None
    match layout.get("kind"):
        case "listed":
            places = layout.get("places")
            return len(places) if isinstance(places, list | tuple) else None
        case "eua":
            size = layout.get("count") or _EUA_SITES
        case "melbourne-cbd":
            size = layout.get("count") or _REAL_SITES.get(layout.get("level", "gateways"))
        case _:
            size = layout.get("count")
    return size if isinstance(size, int) else None


def _profiles(services: Entries) -> Iterator[Fault]:
    for path, entry in services:
        name = entry.get("profile", "steady")
        if isinstance(name, str) and name not in PROFILES:
            yield Fault((*path, "profile"), f'profile "{name}" is unknown; {did_you_mean(name, PROFILES)}')


def _images(services: Entries) -> Iterator[Fault]:
    sizes: dict[str, Any] = {}
    for path, entry in services:
        image = entry.get("image")
        if not isinstance(image, Mapping) or not isinstance(image.get("name"), str):
            continue
        name, size = image["name"], image.get("size_mib")
        if sizes.setdefault(name, size) != size:
            yield Fault(
                (*path, "image", "size_mib"),
                f'image "{name}" is {size} MiB here and {sizes[name]} MiB in another service; an image has one size',
            )


def _counts(values: Any) -> Iterator[Fault]:
    if not isinstance(values, Mapping):
        return
    containers, workload = values.get("containers"), values.get("workload")
    if not isinstance(containers, Mapping) or not isinstance(workload, Mapping):
        return
    given = [key for key in ("total", "per_node") if containers.get(key) is not None]
    kind = workload.get("kind")
    if kind == "generated" and not given:
        yield Fault(("containers",), "containers has neither total nor per_node; say how many there are")
    if kind in {"planetlab", "bitbrains", "file"} and given:
        yield Fault(
            ("containers", given[0]),
            f"the trace says how many containers there are; remove {given[0]}"
            + ("" if kind == "file" else ", or set workload.containers to take fewer"),
        )
