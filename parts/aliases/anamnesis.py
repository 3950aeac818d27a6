"""What Anamnesis' scripts ask of embedding and of what is crawled, where no route of ours answers alike."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import Path
from fastapi.responses import JSONResponse

from memory_server.errors import ContentError, UsageError
from memory_server.faces.rest import error_json
from oneiros.daemon.routes import CHANGE, CRAWLED
from oneiros.served import ServedMemory

KEYS = {  # its names of what we keep as settings
    "machine-roots": "crawl_roots",
    "sources": "references",
    "endings": "reference_endings",
    "tag-patterns": "reference_tags",
}
Part = Annotated[str, Path(max_length=100, description=f"{', '.join(KEYS)}, or the name of a setting")]


class Embedding:
    """Embedding anew with the model in use. What a model made of a text stays what it is, so that is taken as it is."""

    def __init__(self, served: ServedMemory):
        self._served = served

    def reembed(self) -> dict[str, Any]:
        """Builds all indices anew in the background; vectors of texts that did not change are kept."""
        self._served.running.indexing.poke(rebuild=True, anyway=True)
        return self._state()

    def pause(self) -> dict[str, Any]:
        """Lets the embedding rest; questions are answered."""
        self._served.memory.embedding.pause()
        return self._state()

    def resume(self) -> dict[str, Any]:
        """Lets the embedding go on."""
        self._served.memory.embedding.resume()
        return self._state()

    def _state(self) -> dict[str, Any]:
        return asdict(self._served.running.indexing.state())


def read_crawler(served: ServedMemory) -> Callable[[str], dict[str, Any]]:
    """The route that tells one setting of what is read."""

    def read(part: Part) -> dict[str, Any]:
        """One setting of what is read, and how the person changes it."""
        settings = asdict(replace(served.running.environment).person)
        key = _find_key(part)
        return {"setting": key, "value": settings[key], "change": CHANGE.replace("KEY", key)}

    return read


def refuse_crawler(part: Part) -> JSONResponse:
    """Refuses: whose words are read is decided at a terminal."""
    return refuse("what is crawled is changed by the person alone", CHANGE.replace("KEY", _find_key(part)))


def refuse(what: str, command: str) -> JSONResponse:
    """The answer to what only a person decides, with the command that does it."""
    return JSONResponse({"error": error_json(UsageError(what, remedy=command))}, 403)


def _find_key(part: str) -> str:
    key = KEYS.get(part, part)
    if key not in CRAWLED:
        raise ContentError(f"nothing of what is read is called {part[:40]!r}", remedy=f"Ask for {', '.join(KEYS)}")
    return key
