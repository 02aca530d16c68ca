"""What tests of several parts share."""

import pytest

from fogfold.cli.app import main


@pytest.fixture
def fogfold(capsys):
    """Run a command line; gives exit code, standard output and error output."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        caught = capsys.readouterr()
        return code, caught.out, caught.err

    return call
