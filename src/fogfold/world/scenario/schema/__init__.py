"""The form of a scenario file, as types: every key has a sentence with its unit and its reason."""

from __future__ import annotations

from fogfold.world.scenario.schema.scenario import SCHEMA_VERSION, Scenario, json_schema

__all__ = ["SCHEMA_VERSION", "Scenario", "json_schema"]
