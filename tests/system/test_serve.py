"""The service as a process of its own, asked by the commands of an operator, and told to end."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

LIMIT_S = 120.0
ADMIN, READ = "admin-token-for-tests", "reader-token-for-tests"


class Process:
    """`fogfold serve` on a port of its own."""

    def __init__(self, folder, text, **environment):
        self.config = folder / "service.yaml"
        self.config.write_text(text, encoding="utf-8")
        self.errors = folder / "errors"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(  # noqa: S603 (this interpreter, arguments made here)
                [sys.executable, "-m", "fogfold", "serve", "--config", str(self.config)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **environment},
            )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        line = self.output.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, f"{line!r}; {self.errors.read_text()}"
        self.url = found.group()

    def terminate(self):
        """SIGTERM; gives the exit code and how long it took, in s."""
        began_s = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=LIMIT_S)
        finally:
            self.process.kill()
            self.output.close()
        return code, time.monotonic() - began_s


def until(true, limit_s=LIMIT_S):
    """Wait until something is true; a process is waited for on the machine's time."""
    end_s = time.monotonic() + limit_s
    while not (found := true()):
        assert time.monotonic() < end_s, "it did not come true in time"
        time.sleep(0.1)
    return found


def test_service_is_asked_by_its_commands_and_ends_when_it_is_told_to(tmp_path, fogfold):
    database = tmp_path / "fogfold.db"
    text = f"""
plane: {{kind: simulated, scenario: city-20, speed: 300}}
store: sqlite:///{database}
mode: approve
limits:
  guard: {{least_score: 0, cooldown_s: 0}}
  power: null
api:
  port: 0
  tokens:
    - {{name: boss, role: admin, token_env: FOGFOLD_TEST_ADMIN}}
    - {{name: eye, role: read, token: {READ}}}
"""
    served = Process(tmp_path, text, FOGFOLD_TEST_ADMIN=ADMIN)
    try:
        ask = ("--url", served.url, "--token", ADMIN)
        code, _, err = fogfold("status", "--url", served.url)
        assert (code, "token" in err) == (1, True)

        def status():
            code, out, err = fogfold("status", "--json", *ask)
            assert code == 0, err
            return json.loads(out)

        number = until(lambda: status()["pending"])
        code, out, _ = fogfold("plan", *ask)
        assert code == 0
        assert f"plan {number} waits" in out
        code, _, err = fogfold("approve", number, "--url", served.url, "--token", READ)
        assert (code, "role read" in err) == (1, True)
        code, out, err = fogfold("approve", number, *ask)
        assert (code, err) == (0, "")
        until(lambda: status()["nodes"].get("asleep"))

        with opened(served.url, "/api/v1/nodes", READ) as answer:
            nodes = json.load(answer)["items"]
        node = next(node for node in nodes if node["stays"] and node["containers"])
        code, out, _ = fogfold("why", node["id"], *ask)
        assert code == 0
        assert node["stays"]["code"] in out
        code, out, _ = fogfold("why", node["containers"][0], *ask)
        assert code == 0
        assert node["id"] in out
        code, _, err = fogfold("why", "nobody", *ask)
        assert (code, "neither a node nor a container" in err) == (2, True)

        code, out, _ = fogfold("stop", "--why", "storm", *ask)
        assert (code, out) == (0, "stopped: storm (boss)\n")
        assert status()["stopped"] == "storm (boss)"
        code, out, err = fogfold("wake-all", "--json", *ask)
        assert code == 0, err
        assert json.loads(out)["ordered"]
        # A node may fail to come up in this world as in any other; none is left asleep.
        until(lambda: not {"asleep", "going_to_sleep", "waking"} & status()["nodes"].keys())
        code, _, err = fogfold("wake-all", "--config", served.config, *ask)
        assert (code, "lives in the process that plays it" in err) == (3, True)
        code, out, _ = fogfold("resume", *ask)
        assert (code, out) == (0, "resumed\n")

        code, out, _ = fogfold("journal", "list", "--kind", "approval", "--json", *ask)
        assert [entry["value"]["decision"] for entry in json.loads(out)["items"]] == [number]
        assert fogfold("journal", "show", number, *ask)[0] == 0

        # A reader of events would keep a web server open for ever.
        stream = opened(served.url, "/events", READ)
        reading = threading.Thread(target=stream.read)
        reading.start()
        code, took_s = served.terminate()
        reading.join(timeout=10)
        stream.close()
        assert code == 0, served.errors.read_text()
        assert took_s < 30.0
    finally:
        if served.process.poll() is None:
            served.terminate()
    assert "Traceback" not in served.errors.read_text()

    connection = sqlite3.connect(database)
    assert connection.execute("SELECT holder FROM leases").fetchone() == (None,)
    connection.close()
    csv = tmp_path / "journal.csv"
    code, out, err = fogfold("journal", "export", csv, "--store", f"sqlite:///{database}", "--json")
    assert code == 0, err
    assert json.loads(out)["entries"] == len(csv.read_text(encoding="utf-8").splitlines()) - 1 > 4
    code, out, _ = fogfold("journal", "replay", "--store", f"sqlite:///{database}", "--json")
    sums = json.loads(out)
    assert code == 0
    assert sums["plans"]["wait"] >= 1
    assert sums["nodes"]["asleep"] >= 1


def opened(url, path, token):
    """An answer of the service, to be read."""
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 (our own)
    return urllib.request.urlopen(request, timeout=60)  # noqa: S310 (our own)


def test_cluster_that_has_come_to_its_end_can_be_looked_at(tmp_path, fogfold):
    text = "plane: {kind: simulated, scenario: city-20, speed: max, hours: 1}\nmode: automatic\napi: {port: 0}\n"
    served = Process(tmp_path, text)
    try:

        def status():
            code, out, err = fogfold("status", "--json", "--url", served.url)
            assert code == 0, err
            return json.loads(out)

        found = until(lambda: (now := status())["trouble"].startswith("the simulated cluster has come") and now)
        assert found["decisions"] > 0
        assert fogfold("journal", "list", "--url", served.url)[0] == 0
    finally:
        code, took_s = served.terminate()
    assert code == 0, served.errors.read_text()
    assert took_s < 15.0
    assert "Traceback" not in served.errors.read_text()


def test_nobody_answers_is_said_in_a_sentence(fogfold):
    code, _, err = fogfold("status", "--url", "http://127.0.0.1:1")
    assert code == 1
    assert "no service answers at http://127.0.0.1:1" in err
    assert fogfold("status", "--url", "ftp://here")[0] == 3


def test_faults_of_settings_are_told_at_once_with_their_lines(tmp_path, fogfold):
    config = tmp_path / "service.yaml"
    config.write_text("plane: {kind: simulated, sped: 3}\npolicy: drian\napi: {host: 0.0.0.0}\n", encoding="utf-8")
    code, _, err = fogfold("serve", "--config", config)
    assert code == 3
    assert f'{config}:1:26: unknown key "sped" in plane; did you mean "speed"?' in err
    assert 'did you mean "drain"?' in err
    assert "there are no tokens" in err


def test_taken_port_is_said_before_the_store_is_touched(tmp_path, fogfold):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config, database = tmp_path / "service.yaml", tmp_path / "fogfold.db"
        port = taken.getsockname()[1]
        config.write_text(
            f"plane: {{kind: simulated}}\nstore: sqlite:///{database}\napi: {{port: {port}}}\n", encoding="utf-8"
        )
        code, _, err = fogfold("serve", "--config", config)
    assert code == 3
    assert f"port {port}" in err
    assert not database.exists()


@pytest.mark.parametrize("arguments", [("journal", "replay"), ("journal", "export", "x.csv")])
def test_looking_back_makes_no_database(tmp_path, fogfold, arguments):
    code, _, err = fogfold(*arguments, "--store", f"sqlite:///{tmp_path}/none.db")
    assert (code, "there is no store" in err) == (3, True)
    assert list(tmp_path.iterdir()) == []


def test_base_install_names_the_extra(fogfold, monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.startswith(("fogfold.bootstrap", "fogfold.api"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    code, _, err = fogfold("serve", "--config", tmp_path / "any.yaml")
    assert code == 7
    assert "fogfold[serve]" in err
