"""What is the person's own: notes, settings, and the trainers that they run.

A setting of what is read, run, sent or paid is shown with the command that changes it at a terminal; the others can be
changed here. A trainer is asked by the process that serves, so that no token of one reaches a browser.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from pydantic import Field

from memory_server.errors import UsageError
from memory_server.faces.body import Body
from memory_server.layers import episodes
from memory_server.layers.episodes import MAX_TEXT_CHARS, GivenEpisode
from memory_server.settings import MemorySettings, PersonSettings, read_person_settings
from memory_server.settings_file import change_setting, parse_setting, setting_text, settings_keys, toml_value
from oneiros.light.person_only import PERSON_SETTINGS
from oneiros.served import ServedMemory
from parts.page.plots import draw_line
from parts.page.rendering import Renderer
from parts.trainers.client import NO_TRAINER, find_machines, inspect_trainer

NOTES = 20  # of one page
GROUPS = {  # as they are shown
    "Whose it is": "trusted_roots both_memories signing_key machine time_zone team_url",
    "What is taken in": "crawl_roots agents speakers machines ingest_allow ingest_deny deny_words project_aliases "
    "idle_hours daily_at",
    "Files beside": "reference_roots reference_endings reference_tags references reference_minutes",
    "Who reads sessions": "reader reader_model reader_url reader_key_variable reader_usd_in reader_usd_out "
    "reader_tokens_day reader_projects budget_run_usd budget_day_usd",
    "Chat": "chat_backend chat_model chat_url chat_key_variable chat_usd_in chat_usd_out chat_tokens",
    "Answers": "raw_vectors query_log use_breaks_ties answer_tokens structured_output hook_bytes muted_projects "
    "muted_pointers semantic sparse_model late_model rerank_model",
    "What is proposed": "dream_at dream_hunks_a_day dream_expiry_days dream_stale_days dream_history dream_commit",
    "Upkeep": "half_lives fade_days archive_max_mb backup_days embedding_share embedding_cores embedding_engine "
    "idle_minutes http_port memory_ceiling_mb model index_max_lines index_max_chars",
}


Searched = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as it is shown."""

    key: str
    value: str  # as TOML writes it
    says: str
    is_free: bool  # to be changed here
    is_changed: bool
    choices: Sequence[str] = ()  # what it can be, where that is a closed set


class WrittenNote(Body):
    """A note as it is typed."""

    text: str = Field(min_length=1, max_length=MAX_TEXT_CHARS)
    title: str = Field("", max_length=500)
    tags: str = Field("", max_length=1_000)  # by commas
    project: str = Field("", max_length=500)


class TypedSetting(Body):
    """A setting's value as it is typed."""

    value: str = Field(max_length=10_000)


class Rest(Body):
    """Whether embedding is to rest."""

    paused: bool


def note_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """Notes: add, list, read, delete. To find one, the search takes `tag:episode`."""
    routes = APIRouter()
    memory, root = served.memory, served.memory.root

    def render_notes(page: int = 1, notice: str = "") -> HTMLResponse:
        found, total = episodes.list_episodes(root, page=page, per_page=NOTES)
        following = page + 1 if page * NOTES < total else 0
        return render("notes.html", notes=found, total=total, following=following, notice=notice)

    @routes.get("/notes")
    def notes(page: Annotated[int, Query(ge=1, le=100_000)] = 1) -> HTMLResponse:
        return render_notes(page)

    @routes.post("/notes")
    def add(note: WrittenNote) -> HTMLResponse:
        tags = [tag.strip() for tag in note.tags.split(",") if tag.strip()]
        made = memory.add_episode(GivenEpisode(note.text, note.title, tags, note.project))
        served.running.indexing.poke()
        return render_notes(notice=f"Taken in: {made.title}")

    @routes.get("/notes/{identity}")
    def read(identity: str) -> HTMLResponse:
        return render("note.html", note=episodes.read_episode(root, identity))

    @routes.delete("/notes/{identity}")
    def delete(identity: str) -> HTMLResponse:
        path = episodes.delete_episode(root, identity)
        served.running.indexing.poke()
        return render_notes(notice=f"Deleted: {path}")

    return routes


def setting_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """Settings and embedding."""
    routes = APIRouter()
    memory, running = served.memory, served.running
    file = running.environment.person_file

    def render_settings(notice: str = "", q: str = "") -> HTMLResponse:
        now = asdict(read_person_settings(file)) | asdict(memory.settings)
        rows = {key: _row(key, value) for key, value in now.items()}
        groups = find_settings(rows, q)
        near = () if groups else difflib.get_close_matches("_".join(q.casefold().split()), rows)
        return render("settings.html", groups=groups, near=near, q=q, state=running.indexing.state(), notice=notice)

    @routes.get("/settings")
    def settings(q: Searched = "") -> HTMLResponse:
        return render_settings(q=q)

    @routes.put("/settings/{key}")
    def change(key: str, typed: TypedSetting, q: Searched = "") -> HTMLResponse:
        change_free_setting(file, key, typed.value)
        return render_settings(f"{key} is {typed.value or 'empty'}. It takes effect within a second.", q)

    @routes.put("/embedding")
    def embedding(rest: Rest) -> HTMLResponse:
        (memory.embedding.pause if rest.paused else memory.embedding.resume)()
        return render_settings("Embedding rests." if rest.paused else "Embedding goes on.")

    return routes


def _row(key: str, value: object) -> SettingRow:
    kind = PersonSettings if key in settings_keys(PersonSettings) else MemorySettings
    wanted = get_type_hints(kind)[key]
    choices = ("true", "false") if wanted is bool else get_args(wanted) if get_origin(wanted) is Literal else ()
    is_free, is_changed = kind is PersonSettings and key not in PERSON_SETTINGS, value != getattr(kind(), key)
    return SettingRow(key, toml_value(value), setting_text(kind, key), is_free, is_changed, choices)


def find_settings(rows: Mapping[str, SettingRow], q: str) -> dict[str, list[SettingRow]]:
    """The groups with the settings whose name, sentence or group holds all words of a query."""
    words, found = q.casefold().split(), {}
    for title, keys in GROUPS.items():
        texts = {key: f"{key} {key.replace('_', ' ')} {rows[key].says} {title}".casefold() for key in keys.split()}
        if held := [rows[key] for key, text in texts.items() if all(word in text for word in words)]:
            found[title] = held
    return found


def change_free_setting(file: Path, key: str, typed: str) -> None:
    """Sets what decides nothing of what is read, run, sent or paid. Raises UsageError for any other."""
    if key in PERSON_SETTINGS:
        raise UsageError(f"{key} is changed at a terminal alone", remedy=f"oneiros config {key} VALUE")
    change_setting(file, key, parse_setting(PersonSettings, key, typed), follow=True)


def trainer_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """Trainers: their names at once, each of them by itself."""
    routes, variables = APIRouter(), served.running.environment.variables

    @routes.get("/trainers")
    def trainers() -> HTMLResponse:
        return render("trainers.html", names=[one.name for one in find_machines(variables)], no_trainer=NO_TRAINER)

    @routes.get("/pulse/trainers/{name}")
    def trainer(name: str) -> HTMLResponse:
        seen = inspect_trainer(variables, name)
        curve = seen["training"].get("loss_history") or () if seen["training"] else ()
        plots = (
            [draw_line("Loss by step", "loss", [(float(step), float(loss)) for step, loss in curve])] if curve else []
        )
        return render("trainer.html", seen=seen, plots=plots, fading=())

    return routes
