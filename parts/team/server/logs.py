"""The log of a server: a JSON object a line on stderr, without a word of any memory.

Our own messages hold ids, counts and places alone. A library's may quote what it was given, and so may the text of any
exception: of those the log has the place in the code, and of an exception its class and the lines it went through.
"""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

OWN = ("parts.team.", "uvicorn.", "psycopg.pool")  # loggers whose messages quote nothing that somebody asked or wrote
BESIDE = ("request", "tenant", "person")  # what a record may carry beside its message


class Lines(logging.Formatter):
    """A record as a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": time,
            "level": record.levelname.lower(),
            "from": record.name.removeprefix("parts."),
        }
        line |= {key: value for key in BESIDE if (value := getattr(record, key, None)) is not None}
        if record.name.startswith(OWN):
            line["says"] = record.getMessage()
        else:
            line["at"] = f"{record.pathname}:{record.lineno}"
        if record.exc_info and record.exc_info[1]:
            error = record.exc_info[1]
            line["error"] = type(error).__name__
            line["through"] = [f"{one.filename}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)]
        return json.dumps(line, ensure_ascii=False)


def configure_logs() -> None:
    """Has every logger of the process write such lines: ours whatever they do, those of libraries warnings."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("parts.team").setLevel(logging.INFO)
