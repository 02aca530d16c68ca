"""The reference page of scenario files, written from their schema.

A test holds `docs/reference/scenarios.md` equal to `page()`. To write it anew, from the root of the project:

    python -c "from pathlib import Path; from fogfold.world.scenario.reference import page;
    Path('docs/reference/scenarios.md').write_text(page(), encoding='utf-8')"
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fogfold.world.scenario.layout import __doc__ as layout_text
from fogfold.world.scenario.load import load_scenario, scenario_names
from fogfold.world.scenario.schema import Scenario, json_schema
from fogfold.world.workload.profiles import PROFILES

__all__ = ["page"]

_INTRO = """# Scenarios

A scenario is a YAML file that describes a cluster, its users and its days. One seed makes one world of it: same file,
same seed, same bytes. This page is written from the schema (see `fogfold.world.scenario.reference`).

```python
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import effective_yaml, load_scenario

scenario = load_scenario("city-20")                                  # a name, or the path of a file
scenario = load_scenario("planetlab", {"workload.day": "20110306"})  # with values set by path
print(effective_yaml(scenario))                                      # every default written out; loads back to the same
world = build(scenario, seed=1)                                      # cluster, workload, faults, constants
```

**Faults** are told all at once, as `file:line:column: sentence`, with the nearest known word for what is misspelt.
Unknown keys, keys given twice, and values of the wrong type are faults; nothing is guessed.

**Words and numbers** follow YAML 1.2: `yes`, `no`, `on` and `off` are words, only `true` and `false` are booleans, and
`1e9` is a number. Anchors (`&mix`, `*mix`) may be used; merge keys (`<<`) and tags (`!!`) may not.

**Overrides** set a value by its path with dots before the file is checked: `workload.days`, `nodes.0.count`, or by the
name of an entry, `nodes.edge.count`.

**Streams.** Sites, nodes, containers, users, workload and faults are drawn from streams of their own, by the names of
groups and services. More hours meet the same cluster; another workload meets the same nodes.

**A container that fits on no node** (architecture, accelerator, size) stops the build, by name and with the first rule
that leaves no node. Pins and data are drawn so that they can be met. A group of replicas with more members than places,
and containers that ask together for more than there is, stop it too.
"""

_NAMED = """## Named scenarios

| name | what it is | sites | nodes | containers | requests (CPU, memory) |
| --- | --- | ---: | ---: | ---: | --- |
"""

_LAYOUT_HEAD = "\n## How sites are laid out\n\n"

_HOW = """
## How the parts are drawn

- **Sites.** Users of a region are in proportion to the cores of its site times a lognormal factor (`users_sigma`). A
  region whose site has no node counts as the mean of the others.
- **Nodes.** Counts of each machine are exact (largest remainders). Every site gets one node, the rest follow lognormal
  weights of deviation 0.8, up to `most_per_site`.
- **Containers.** Counts of each service are exact. Sizes are lognormal; with `request_share` all are multiplied by one
  factor, within `least` and `most`, until their sum is that share of what all nodes but the spare ones offer. Replicas
  share size, image, users and data.
- **Users.** The home region of a deployment is drawn by the users of the regions; it sets the clock of its profile and
  the surges that it meets.
- **Data** lies at the home region, or at the nearest site from which a node that could run the container is within the
  distance. For accelerators, the nearest site that leaves every container one, in whatever order they are placed.
- **Pins** bind to the emptiest node at the site nearest to the home that can hold all that is pinned to it; where none
  can, the container stays free.
- **Traces** say how many containers there are and when the world starts; which machine of the trace each container is,
  the seed decides.
"""


def page() -> str:
    """The whole page, as Markdown that ends in a line feed."""
    schema = json_schema()
    parts = [_INTRO, _NAMED + "".join(_named(name) for name in scenario_names())]
    profiles = ", ".join(f"`{name}`" for name in PROFILES)
    parts.append(f"\n## Profiles of generated workloads\n\n{profiles}:\nsee `fogfold.world.workload.profiles`.\n")
    parts += [_HOW, _LAYOUT_HEAD + (layout_text or "").split("\n\n", 1)[1]]
    parts.append("\n## Keys\n\nA key without a default must be given.\n")
    parts.append(_section("The file", {**schema, "description": Scenario.__doc__}))
    parts += [_section(name, part) for name, part in _in_order(schema)]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _named(name: str) -> str:
    scenario = load_scenario(name)
    sites = sum(_sites(group.layout) for group in scenario.sites)
    nodes = sum(group.count + group.spare for group in scenario.nodes)
    part = scenario.containers
    if part.total is not None:
        count = str(part.total)
    elif part.per_node is not None:
        count = str(round(part.per_node * sum(group.count for group in scenario.nodes)))
    else:
        count = "as the trace"
    share = part.request_share
    shares = ", ".join("as drawn" if value is None else f"{value:.0%}" for value in (share.cpu, share.memory))
    return f"| `{name}` | {scenario.description} | {sites} | {nodes} | {count} | {shares} |\n"


def _sites(layout: Any) -> int:
    return len(layout.places) if layout.kind == "listed" else int(layout.count)


def _in_order(schema: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The parts of a schema in the order in which a reader meets them."""
    parts: Mapping[str, Mapping[str, Any]] = schema["$defs"]
    met: dict[str, None] = {}

    def meet(value: Any) -> None:
        if isinstance(value, Mapping):
            name = str(value.get("$ref", "")).removeprefix("#/$defs/")
            if name in parts and name not in met:
                met[name] = None
                meet(parts[name])
            for inner in value.values():
                meet(inner)
        elif isinstance(value, list):
            for inner in value:
                meet(inner)

    meet(schema["properties"])
    return [(name, parts[name]) for name in met]


def _section(name: str, part: Mapping[str, Any]) -> str:
    whole = next((each for each in part.get("anyOf", ()) if "properties" in each), part)
    sentence = " ".join(str(part.get("description", "")).split())
    lines = [
        f"### {_title(name)}\n",
        sentence,
        "",
        "| key | type | default | what it is |",
        "| --- | --- | --- | --- |",
    ]
    required = whole.get("required", ())
    for key, value in whole["properties"].items():
        default = "" if key in required else f"`{json.dumps(value.get('default'))}`"
        if len(default) > 40 or key == "faults":
            default = "see its keys"
        text = " ".join(str(value.get("description", "")).split()).replace("|", "\\|")
        lines.append(f"| `{key}` | {_type(value)} | {default} | {text} |")
    return "\n".join(lines)


def _title(name: str) -> str:
    return name.removesuffix("Part")


def _type(value: Mapping[str, Any]) -> str:
    """The type of a key in a few words, with its bounds."""
    if "$ref" in value:
        name = str(value["$ref"]).removeprefix("#/$defs/")
        title = _title(name)
        return f"[{title}](#{title.lower()})"
    for key in ("anyOf", "oneOf"):
        if key in value:
            return " or ".join(dict.fromkeys(_type(each) for each in value[key]))
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return " or ".join(f"`{each}`" for each in value["enum"])
    if value.get("type") == "array":
        return f"list of {_type(value.get('items', {}))}"
    if "allOf" in value:
        return _type(value["allOf"][0])
    words = {"number": "number", "integer": "whole number", "boolean": "true or false", "string": "text"}
    bounds = [
        f"{sign} {value[key]:g}"
        for key, sign in (("exclusiveMinimum", ">"), ("minimum", ">="), ("exclusiveMaximum", "<"), ("maximum", "<="))
        if key in value
    ]
    return " ".join([words.get(str(value.get("type")), str(value.get("type", "any"))), ", ".join(bounds)]).strip()
