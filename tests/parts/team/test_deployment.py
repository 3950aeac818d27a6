"""Dockerfile and compose file of a team: nothing builds them here, so their structure is compared with what is true."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from parts.team.settings import TeamSettings

pytestmark = pytest.mark.team

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy" / "team"
PINNED = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    return found


def test_images_are_pinned_and_what_we_build_is_the_dockerfile_beside() -> None:
    for name, service in services().items():
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve().is_file()
        else:
            assert PINNED.fullmatch(service["image"]), name
    copied = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Dockerfile").read_text("utf-8"), re.M)
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8")
    paths = [path for line in copied for path in line.split()]
    assert "parts" in paths
    assert [path for path in paths if not (ROOT / path).exists() or f"!{path}\n" not in ignored] == []


def test_the_proxy_alone_is_reached_and_the_server_never_has_the_owners_password() -> None:
    found = services()

    assert [name for name, service in found.items() if "ports" in service] == ["proxy"]
    assert "ONEIROS_TEAM_OWNER_DSN" not in found["server"]["environment"]
    assert "OWNER_PASSWORD" not in str(found["server"])
    assert all("ONEIROS_TEAM_OWNER_DSN" in found[name]["environment"] for name in ("upgrade", "indexer", "operator"))


def test_every_variable_of_ours_is_a_setting() -> None:
    names = {name for service in services().values() for name in service.get("environment", {})}
    ours = {name.removeprefix("ONEIROS_TEAM_").lower() for name in names if name.startswith("ONEIROS_TEAM_")}

    assert {"dsn", "owner_dsn", "folder", "public_url"} <= ours
    assert {name for name in ours if not hasattr(TeamSettings(), name)} == set()
