"""The API keeps to its own description, whatever it is asked: requests made up from it, in process."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient

from fogfold.control.loop import Mode

HERE = "http://127.0.0.1"
EXAMPLES = 25
ALL = list(HealthCheck)


@pytest.mark.slow
def test_answers_are_those_that_are_described(kit):
    served = kit.Served(kit.a_city(1.0), mode=Mode.RECOMMEND, access=kit.access)
    asyncio.run(served.loop.cycle())
    # A stream of events has no end; it is tested by itself.
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", served.app).exclude(path="/events")
    asked = []
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # a description that is wrong fails here

        @given(operation.as_strategy())
        @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=ALL)
        def keeps_to_it(case):
            answer = case.call(headers=kit.bearer("admin"))
            case.validate_response(answer)
            asked.append((case.method, case.path, answer.status_code))

        keeps_to_it()
    assert len({(method, path) for method, path, _ in asked}) == 19
    assert max(status for _, _, status in asked) < 500


def test_description_is_read_without_a_token(kit):
    app = kit.Served(kit.a_city(1.0), access=kit.access).app
    assert TestClient(app, base_url=HERE).get("/api/v1/openapi.json").status_code == 200
