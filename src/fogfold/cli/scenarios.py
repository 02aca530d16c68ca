"""`fogfold scenarios`: what there is to run, and what a scenario is in full."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from fogfold.cli.options import Overrides, overrides_of
from fogfold.cli.output import print_json, screen
from fogfold.world.scenario.load import effective_yaml, load_scenario, scenario_names
from fogfold.world.scenario.schema import json_schema

__all__ = ["scenarios"]


def scenarios(
    name: str | None = None,
    *,
    overrides: Annotated[
        Overrides, Parameter(name="--set", help="Value to change, as path=value; may be repeated.")
    ] = (),
    schema: Annotated[bool, Parameter(help="Print the JSON Schema of scenario files.")] = False,
    json: Annotated[bool, Parameter(help="Print one JSON object.")] = False,
) -> int:
    """List the scenarios that come with fogfold, or show one in full, as it takes effect.

    Parameters
    ----------
    name
        A scenario's name, or the path of a scenario file.
    """
    if schema:
        print_json(json_schema())
        return 0
    if name is not None:
        chosen = load_scenario(name, overrides_of(overrides))
        if json:
            print_json(chosen.model_dump(mode="json"))
        else:
            screen().print(effective_yaml(chosen), markup=False, end="", soft_wrap=True)
        return 0
    known = [load_scenario(each) for each in scenario_names()]
    if json:
        print_json({"scenarios": [{"name": each.name, "description": each.description} for each in known]})
        return 0
    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", style="bold", no_wrap=True)
    table.add_column("what it is")
    for each in known:
        table.add_row(each.name, each.description)
    screen().print(table)
    screen().print("\nShow one in full with `fogfold scenarios NAME`; run it with `fogfold run NAME`.", markup=False)
    return 0
