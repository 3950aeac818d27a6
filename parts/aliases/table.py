"""One table of the addresses that scripts for Anamnesis and Fading Memories ask, and what answers there.

An alias does what the route or method beside it does, and may no more: what a terminal decides is refused here with the
command that does it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.routing import APIRoute

from oneiros.served import ServedMemory
from parts.aliases.anamnesis import Embedding, read_crawler, refuse_crawler
from parts.aliases.conversations import ChatSessions
from parts.aliases.fading import FadingMemories


class Alias(NamedTuple):
    """A row of the table."""

    method: str
    path: str
    answers: str | Callable[..., Any]  # a route of ours, which answers here as it does there, or a function


def list_aliases(served: ServedMemory) -> tuple[Alias, ...]:
    """The table."""
    embedding, chats, memories = Embedding(served), ChatSessions(served), FadingMemories(served)
    return (
        # Anamnesis
        Alias("GET", "/api/embedding/config", "GET /api/indexing"),
        Alias("PUT", "/api/embedding/config", "PUT /api/embedding"),
        Alias("PUT", "/api/embedding/cpu", "PUT /api/embedding"),
        Alias("PUT", "/api/embedding/model", "POST /api/model"),
        Alias("POST", "/api/embedding/model", "POST /api/model"),
        Alias("POST", "/api/episodes/reembed", embedding.reembed),
        Alias("POST", "/api/episodes/reembed/pause", embedding.pause),
        Alias("POST", "/api/episodes/reembed/resume", embedding.resume),
        Alias("GET", "/api/episodes/reembed/status", "GET /api/indexing"),
        Alias("GET", "/api/crawler/config/{part}", read_crawler(served)),
        Alias("PUT", "/api/crawler/config/{part}", refuse_crawler),
        Alias("GET", "/api/chat/sessions", chats.list_sessions),
        Alias("GET", "/api/chat/sessions/{name}", chats.load_session),
        Alias("PUT", "/api/chat/sessions/{name}", chats.rename_session),
        Alias("PATCH", "/api/chat/sessions/{name}", chats.rename_session),
        Alias("DELETE", "/api/chat/sessions/{name}", chats.delete_session),
        Alias("GET", "/api/config/trainers", "GET /api/trainers"),
        Alias("GET", "/api/anamnesis-gpt/status", "GET /api/trainers"),
        Alias("POST", "/api/anamnesis-gpt/generate", "POST /api/generate"),
        # Fading Memories
        Alias("GET", "/conversations", memories.list_conversations),
        Alias("GET", "/conversations/{name}", memories.read_conversation),
        Alias("GET", "/memory/{mid:path}", memories.read_memory),
        Alias("GET", "/drill", "GET /api/session"),
        Alias("GET", "/tree", memories.read_tree),
        Alias("POST", "/decay/run", memories.plan_decay),
    )


def add_aliases(api: FastAPI, served: ServedMemory) -> None:
    """Adds all of them, behind the routes that they stand for."""
    routes = [route for route in api.routes if isinstance(route, APIRoute)]
    known = {f"{method} {route.path}": route for route in routes for method in route.methods or ()}
    for method, path, answers in list_aliases(served):
        name = f"{method.lower()}{''.join(sign if sign.isalnum() else '_' for sign in path)}"
        if not isinstance(answers, str):
            api.add_api_route(path, answers, methods=[method], operation_id=name)
            continue
        route = known[answers]
        api.add_api_route(
            path,
            route.endpoint,
            methods=[method],
            operation_id=name,
            status_code=route.status_code,
            response_class=route.response_class,
            responses=route.responses,
            description=f"`{answers}`. {route.description}",
        )
