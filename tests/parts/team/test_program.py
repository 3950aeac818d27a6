"""`oneiros-team` where its extra is not installed."""

import subprocess
import sys


def test_without_its_extra_the_program_says_what_to_install() -> None:
    program = "import sys; sys.modules['psycopg'] = None; from parts.team.program import run; run()"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "psycopg is missing. `pip install 'oneiros[team]'` brings what oneiros-team needs.\n"
