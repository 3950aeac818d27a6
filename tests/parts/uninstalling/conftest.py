"""Commands in the test's own process, with a person there."""

from tests.oneiros.cli.conftest import person_there as person_there
