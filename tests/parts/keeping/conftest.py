"""Commands in the test's own process, with a person there, on a memory as `oneiros init` makes it."""

from tests.oneiros.cli.conftest import founded as founded
from tests.oneiros.cli.conftest import person_there as person_there
