"""Databases of the tests' own: a file of SQLite, and a PostgreSQL that is made in a folder and is gone with it.

Nothing listens on the network. PostgreSQL refuses to run as root; tests that do run it as another user.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
import pytest_asyncio

from fogfold.adapters.storage import schema
from fogfold.adapters.storage.sql_store import SqlStore

_LIMIT_S = 60
_USERS = ("postgres", "nobody")


def postgres_folder() -> Path | None:
    """The folder with `initdb` and `postgres`; None where PostgreSQL is not installed."""
    found = shutil.which("initdb")
    folders = [] if found is None else [Path(found).resolve().parent]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


class PrivatePostgres:
    """One server, with empty databases as many as are asked for.

    Args:
        programs: where `initdb` and `pg_ctl` are.
        folder: an empty folder for it. Its path is to be short: a socket's may have 107 signs.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._number = 0
        self._user = None if os.geteuid() != 0 else next(user for user in _USERS if _is_user(user))
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._call("initdb", "-D", str(folder / "data"), "-U", "fogfold", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def new_database(self) -> str:
        """URL of a new, empty database."""
        self._number += 1
        name = f"test{self._number}"
        self._call("createdb", "-h", str(self._folder), "-U", "fogfold", name)
        return f"postgresql://fogfold@/{name}?host={self._folder}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-c listen_addresses='' -c fsync=off -k {self._folder}"
        self._call(
            "pg_ctl", "start", "-w", "-D", str(self._folder / "data"), "-l", str(self._folder / "log"), "-o", options
        )

    def stop(self) -> None:
        """Stop it at once: connections are cut, as when it crashes."""
        self._call("pg_ctl", "stop", "-m", "immediate", "-D", str(self._folder / "data"))

    def freeze(self) -> None:
        """Let it hang: it takes connections and answers nothing."""
        for process in self._processes():
            os.kill(process, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        for process in self._processes():
            os.kill(process, signal.SIGCONT)

    def _processes(self) -> list[int]:
        first = int((self._folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def _call(self, program: str, *arguments: str) -> None:
        line = [str(self._programs / program), *arguments]
        if self._user is not None:
            line = ["runuser", "-u", self._user, "--", *line]
        # The server inherits no pipe: who waits for the end of one would wait for the server.
        output = self._folder / "output"
        with output.open("w") as file:
            try:
                done = subprocess.run(  # noqa: S603 (programs found above, arguments made here)
                    line, stdout=file, stderr=file, timeout=_LIMIT_S, check=False, cwd=self._folder
                )
            except subprocess.TimeoutExpired as error:
                raise AssertionError(f"{program} took more than {_LIMIT_S} s; see {output}") from error
        if done.returncode != 0:
            raise AssertionError(f"{program} failed with {done.returncode}: {output.read_text().strip()[-500:]}")


def _is_user(name: str) -> bool:
    return any(line.startswith(f"{name}:") for line in Path("/etc/passwd").read_text().splitlines())


@pytest.fixture(scope="session")
def postgres():
    """A running PostgreSQL of this worker's own."""
    programs = postgres_folder()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with tempfile.TemporaryDirectory(prefix="fogfold-") as folder:
        server = PrivatePostgres(programs, Path(folder))
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'fogfold.db'}"
    return request.getfixturevalue("postgres").new_database()


@pytest_asyncio.fixture
async def store(url):
    """A store with its tables, on each kind of database in turn."""
    await schema.upgrade(url)
    async with SqlStore(url) as opened:
        yield opened
