"""What the API answers, to whom, and how it says no."""

import asyncio

import pytest
from starlette.testclient import TestClient

from fogfold.api.access import Access
from fogfold.control.codes import Code
from fogfold.control.loop import Mode
from fogfold.control.ports import PowerReading
from fogfold.model.identity import NodeId

HERE = "http://127.0.0.1"


@pytest.fixture
def client(played, kit):
    return TestClient(played.app, base_url="http://fog.example", headers=kit.bearer("read"))


def waiting(kit, hours=1.0):
    """A service in which a plan waits to be approved."""
    served = kit.Served(kit.a_city(), mode=Mode.APPROVE, hours=hours)

    async def until_one_waits():
        for _ in range(200):
            await served.loop.cycle()
            if served.loop.pending is not None:
                return
            await served.clock.sleep(30.0)

    asyncio.run(until_one_waits())
    assert served.loop.pending is not None
    return served, TestClient(served.app, base_url=HERE)


def test_status_counts_every_node_once(client, played):
    status = client.get("/api/v1/status").json()
    assert sum(status["nodes"].values()) == len(played.cluster.cluster.nodes) == 20
    assert status["nodes"]["asleep"] > 0
    assert status["mode"] == "automatic"
    assert status["policy"] == "drain-relief"
    assert status["power_w"] > 0.0


def test_every_node_that_is_on_says_why_it_stays(client):
    nodes = client.get("/api/v1/nodes").json()
    number = nodes["decision"]
    stays = client.get(f"/api/v1/decisions/{number}").json()["stays"]
    on = {node["id"]: node for node in nodes["items"] if node["state"] == "on"}
    assert on
    assert {name for name, node in on.items() if node["stays"]} == on.keys() & stays.keys()
    assert stays
    for node in on.values():
        if node["stays"]:
            assert node["stays"]["code"] in Code.__members__
            assert node["stays"]["meaning"]
            assert node["stays"]["remedy"]
            assert node["pressure"] is not None


def test_a_node_that_sleeps_has_no_pressure_and_no_readings(client):
    asleep = [node for node in client.get("/api/v1/nodes").json()["items"] if node["state"] == "asleep"]
    assert asleep
    for node in asleep:
        assert node["pressure"] is None
        assert node["used"] is None
        assert node["power_w"] is None
        assert node["containers"] == []
        assert node["power_state"] == "off"


def test_one_node_and_one_container_are_those_of_the_lists(client):
    node = client.get("/api/v1/nodes").json()["items"][3]
    assert client.get(f"/api/v1/nodes/{node['id']}").json() == node
    container = client.get("/api/v1/containers").json()["items"][5]
    assert client.get(f"/api/v1/containers/{container['id']}").json() == container
    where = client.get(f"/api/v1/nodes/{container['node']}").json()
    assert container["id"] in where["containers"]


def test_decisions_come_newest_first_in_pages_without_a_gap(client, played):
    numbers, before = [], None
    while True:
        page = client.get("/api/v1/decisions", params={"limit": 7, **({"before": before} if before else {})}).json()
        numbers += [item["number"] for item in page["items"]]
        before = page["next_before"]
        if before is None:
            break
    expected = [number for kind, number, _ in played.written if kind == "decision"]
    assert numbers == expected[::-1]


def test_a_decision_that_was_carried_out_shows_its_moves(client, played):
    number = next(
        number
        for kind, number, value in played.written
        if kind == "decision" and value["plan"] == "act" and value["moves"]
    )
    decision = client.get(f"/api/v1/decisions/{number}").json()
    begun = {migration["container"] for migration in decision["migrations"]}
    assert begun == {move["container"] for move in decision["moves"]}


def test_last_whole_decision_is_found_again_after_a_restart(played):
    from fogfold.api.recent import Recent

    async def both():
        return await played.recent.whole(played.store), await Recent().whole(played.store)

    (number, value), (found, again) = asyncio.run(both())
    assert (number, value["stays"]) == (found, again["stays"])


def test_journal_lists_all_kinds_and_one(client, played):
    everything = client.get("/api/v1/journal", params={"limit": 200}).json()["items"]
    assert {"decision", "execution"} <= {entry["kind"] for entry in everything}
    executions = client.get("/api/v1/journal", params={"kind": "execution"}).json()["items"]
    assert executions
    assert all(entry["kind"] == "execution" for entry in executions)
    assert client.get(f"/api/v1/journal/{executions[0]['number']}").json() == executions[0]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/api/v1/nodes/nobody", 404),
        ("GET", "/api/v1/containers/nobody", 404),
        ("GET", "/api/v1/decisions/9999999", 404),
        ("GET", "/api/v1/journal/9999999", 404),
        ("DELETE", "/api/v1/status", 405),
        ("GET", "/api/v1/decisions/one", 422),
        ("GET", "/api/v1/decisions?limit=0", 422),
        ("GET", "/api/v1/decisions?before=99999999999999999999999", 422),
        ("POST", "/api/v1/resume", 403),
    ],
)
def test_every_error_is_a_problem_with_a_sentence(client, method, path, status):
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["title"]
    assert told["detail"]


def test_a_failure_that_nobody_foresaw_is_a_problem_without_its_secrets(played, monkeypatch, kit):
    async def fails(*_, **__):
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(played.store, "entry", fails)
    client = TestClient(played.app, raise_server_exceptions=False, headers=kit.bearer("read"))
    answer = client.get("/api/v1/journal/1")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "swordfish" not in answer.text


def test_a_body_beyond_all_need_is_refused_unread(played, kit):
    client = TestClient(played.app, headers=kit.bearer("approve"))
    answer = client.post("/api/v1/stop", content=b"x" * 70_000)
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("path", "needs"),
    [
        ("/api/v1/plan/1/approve", "approve"),
        ("/api/v1/plan/1/deny", "approve"),
        ("/api/v1/decide", "approve"),
        ("/api/v1/stop", "approve"),
        ("/api/v1/resume", "admin"),
        ("/api/v1/wake-all", "admin"),
    ],
)
def test_acts_need_their_role(played, path, needs, kit):
    client = TestClient(played.app)
    assert client.post(path).status_code == 401
    assert client.post(path, headers=kit.bearer("x" * 20)).status_code == 401
    weaker = ["read"] if needs == "approve" else ["read", "approve"]
    for role in weaker:
        assert client.post(path, headers=kit.bearer(role)).status_code == 403


@pytest.mark.parametrize("path", ["/api/v1/status", "/api/v1/nodes", "/api/v1/plan", "/events", "/metrics"])
def test_nothing_is_shown_without_a_token(played, path):
    answer = TestClient(played.app).get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_health_needs_no_token(played):
    client = TestClient(played.app)
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").json() == {"status": "ready"}


def test_before_the_first_look_it_is_not_ready_and_says_so(kit):
    client = TestClient(kit.Served(kit.a_city()).app, base_url=HERE)
    for path in ("/readyz", "/api/v1/nodes", "/api/v1/containers"):
        answer = client.get(path)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
    assert client.get("/healthz").status_code == 200
    assert client.get("/api/v1/plan").json() == {"last": None, "pending": None, "acting": None}
    assert client.get("/api/v1/status").json()["power_w"] is None


def test_without_tokens_pages_of_others_and_other_names_are_refused(kit):
    app = kit.Served(kit.a_city()).app
    here = TestClient(app, base_url=f"{HERE}:8460")
    assert here.get("/api/v1/status").status_code == 200
    assert here.post("/api/v1/decide", headers={"Origin": "http://evil.example"}).status_code == 403
    assert here.post("/api/v1/decide", headers={"Origin": f"{HERE}:8460"}).status_code == 202
    assert TestClient(app, base_url="http://evil.example").get("/api/v1/status").status_code == 403


def test_a_plan_that_waits_is_approved_once(kit):
    served, client = waiting(kit)
    plan = client.get("/api/v1/plan").json()
    number = plan["pending"]["number"]
    assert plan["pending"]["decision"]["moves"] or plan["pending"]["decision"]["sleep"]
    assert 0.0 < plan["pending"]["left_s"] <= 600.0
    assert client.post(f"/api/v1/plan/{number + 1}/approve").status_code == 409

    async def approve_and_see():
        from httpx2 import ASGITransport, AsyncClient

        async with AsyncClient(transport=ASGITransport(served.app), base_url=HERE) as asking:
            first = await asking.post(f"/api/v1/plan/{number}/approve")
            second = await asking.post(f"/api/v1/plan/{number}/approve")
        acting = served.loop.status().acting
        await served.loop.acted()
        return first, second, acting

    first, second, acting = asyncio.run(approve_and_see())
    assert (first.status_code, second.status_code, acting) == (200, 409, number)
    assert second.json()["type"] == "urn:fogfold:problem:Model"
    assert [value["verdict"] for kind, _, value in served.written if kind == "execution"]


def test_a_plan_that_is_denied_waits_no_more(kit):
    served, client = waiting(kit)
    number = served.loop.pending.number
    assert client.post(f"/api/v1/plan/{number}/deny", json={"why": "not today"}).status_code == 200
    assert client.get("/api/v1/plan").json()["pending"] is None
    assert served.written[-1][2] == {"decision": number, "approved": False, "why": "not today (this machine)"}


def test_stop_holds_and_only_resume_lets_it_go(kit):
    served, client = waiting(kit)
    number = served.loop.pending.number
    assert client.post("/api/v1/stop", json={}).status_code == 422
    stopped = client.post("/api/v1/stop", json={"why": "storm"}).json()
    assert stopped == {"stopped": "storm (this machine)"}
    assert client.post(f"/api/v1/plan/{number}/approve").status_code == 409
    assert asyncio.run(served.store.kept("stop"))["button"]["why"] == "storm (this machine)"
    assert client.post("/api/v1/resume").json() == {"stopped": ""}


def test_stop_that_cannot_be_kept_is_an_error_and_holds_all_the_same(kit):
    served = kit.Served(kit.a_city())
    client = TestClient(served.app, base_url=HERE)
    answer = client.post("/api/v1/stop", json={"why": "storm"})
    assert answer.status_code == 409
    assert client.get("/api/v1/status").json()["stopped"] == "storm (this machine)"


def test_wake_all_stops_everything_and_brings_every_node_up(kit):
    served = kit.Served(kit.a_city(), hours=1.9)

    async def a_day_that_is_broken_off():
        running = asyncio.create_task(served.loop.run())
        await served.clock.sleep(3600.0)
        before = [name for name, record in served.loop.records.items() if record.state.name == "OFF"]
        from httpx2 import ASGITransport, AsyncClient

        with served.clock.held():
            async with AsyncClient(transport=ASGITransport(served.app), base_url=HERE) as asking:
                answer = await asking.post("/api/v1/wake-all", json={"why": "storm"})
        await served.clock.sleep(1800.0)
        status = served.loop.watch.collected.snapshot.states
        powers = [(await served.power.read(NodeId(name))).reading for name in before]
        kept = await served.store.kept("power")
        for _ in range(2):
            running.cancel()
            await asyncio.sleep(0)
        return before, answer, status, powers, kept

    before, answer, states, powers, kept = asyncio.run(a_day_that_is_broken_off())
    assert before
    assert answer.status_code == 202
    told = answer.json()
    assert set(before) <= set(told["ordered"])
    assert (told["not_ordered"], told["stopped"], told["trouble"]) == ({}, "storm (this machine)", "")
    assert set(powers) == {PowerReading.ON}
    assert {states[NodeId(name)].name for name in before} == {"ON"}
    assert {kept[name]["state"] for name in before} == {"ON"}
    assert all(kept[name]["woken_s"] is not None for name in before)


def test_description_of_the_api_describes_every_answer(client):
    described = client.get("/api/v1/openapi.json").json()
    assert len(described["paths"]) == 20
    for path, operations in described["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
    text = str(described)
    assert "HTTPValidationError" not in text
    for name, schema in described["components"]["schemas"].items():
        for key, value in schema.get("properties", {}).items():
            assert value.get("description") or "$ref" in str(value), f"{name}.{key}"


def test_tokens_are_not_printed(kit):
    assert kit.tokens["read"] not in repr(kit.access._known)
    assert Access().is_open
