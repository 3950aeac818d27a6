"""The arm of oneiros in agent-memory-bench (github.com/GiulioDER/agent-memory-bench).

Copy this file to `adapters/oneiros/adapter.py` of a checkout, whose `harness` it needs, and register it as the other
arms are; `oneiros` and `oneiros-mcp` must be on the PATH. Each namespace has a home of its own, with the default memory
in it, so that nothing of the person's is read or written. The corpus becomes transcripts as Claude Code writes them,
which the program takes in as it takes in any; Claude asks it over MCP, by its tools that read.
"""

import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

# What is imported here is of the checkout into which this is copied.
from harness.adapters.base import ArmSpec, CorpusManifest, IngestReport, MemoryAdapter  # type: ignore[import-not-found]
from harness.gate import AdmissionSignal  # type: ignore[import-not-found]
from harness.instructions import compose  # type: ignore[import-not-found]

TOOLS = ("recall", "search_exact", "search_memory", "read_memory")
PREFIX = "mcp__oneiros__"
SEARCH = f"Ask this project's memory with {PREFIX}recall, in the words of what you are about to do."


class OneirosAdapter(MemoryAdapter):  # type: ignore[misc]
    name = "oneiros"

    def __init__(self, staging_root: Path, base_prompt_file: Path):
        self.staging_root, self.base_prompt_file = Path(staging_root), Path(base_prompt_file)

    def ingest(self, corpus: CorpusManifest, namespace: str) -> IngestReport:
        """Takes the corpus in anew: what lay in the namespace goes."""
        corpus.verify()
        place, begun = self.staging_root / namespace, time.monotonic()
        shutil.rmtree(place, ignore_errors=True)
        for path in corpus.sessions:
            write_transcript(corpus.root / path, place / "feed")
        for command in (["init"], ["ingest", str(place / "feed")]):
            subprocess.run(["oneiros", *command], env=self._variables(namespace), check=True, capture_output=True)
        taken = (time.monotonic() - begun) * 1_000
        count = len(corpus.sessions)
        return IngestReport(self.name, namespace, count, count, taken, 0, 0, "all-MiniLM-L6-v2, packaged")

    def build(self, session_dir: Path, namespace: str) -> ArmSpec:
        """The MCP server and the instruction that all arms share, with our sentence in it."""
        session_dir.mkdir(parents=True, exist_ok=True)
        prompt, servers = session_dir / "prompt.md", session_dir / "oneiros.mcp.json"
        shared = self.base_prompt_file.read_text(encoding="utf-8")
        prompt.write_text(compose(self.name, SEARCH).rstrip() + "\n\n" + shared, encoding="utf-8")
        server = {"command": "oneiros-mcp", "args": [], "env": self._variables(namespace)}
        servers.write_text(json.dumps({"mcpServers": {"oneiros": server}}), encoding="utf-8")
        return ArmSpec(
            arm=self.name,
            mcp_config=str(servers),
            append_system_prompt_file=prompt,
            memory_tool_prefix=PREFIX,
            extra_allowed_tools=tuple(PREFIX + tool for tool in TOOLS),
            config_dir_digest=hashlib.sha256(prompt.read_bytes() + servers.read_bytes()).hexdigest(),
        )

    def admission_signal(self) -> AdmissionSignal:
        return AdmissionSignal(arm=self.name, mcp_tool_prefixes=(PREFIX,))

    def _variables(self, namespace: str) -> dict[str, str]:
        """All that a process of the program needs: what an MCP client is told replaces its environment."""
        home = self.staging_root / namespace / "home"
        home.mkdir(parents=True, exist_ok=True)
        return {"HOME": str(home), "PATH": os.environ["PATH"]}


def write_transcript(source: Path, folder: Path) -> None:
    """Writes a session of the corpus (`role`, `content`, `ts`, a tool with its result) as Claude Code would."""
    session, rows, parent = str(uuid5(NAMESPACE_URL, source.as_posix())), list[dict[str, object]](), None
    for number, entry in enumerate(map(json.loads, source.read_text(encoding="utf-8").splitlines())):
        if not entry["content"]:
            continue  # calls of tools are no words of anybody, and their results are the files as they were
        name, content = f"{number:08x}{session[8:]}", [{"type": "text", "text": entry["content"]}]
        row = {
            "type": entry["role"],
            "uuid": name,
            "parentUuid": parent,
            "sessionId": session,
            "timestamp": entry["ts"],
            "cwd": "/srv/project",
            "version": "2.1.221",
            "isSidechain": False,
            "message": {"role": entry["role"], "content": content, "id": f"msg_{name}"},
        }
        rows.append(row)
        parent = name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{session}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
