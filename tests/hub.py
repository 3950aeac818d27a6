"""A model hub on this machine, by the routes that a download asks for."""

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Hub(ThreadingHTTPServer):
    """One repository, by the routes of the hub that a download asks for."""

    daemon_threads = True

    def __init__(self, name: str, main: str, files: Mapping[str, bytes]):
        """`main`: the commit that the branch of this name stands at; every other commit holds the same files."""
        super().__init__(("127.0.0.1", 0), Routes)
        self.name = name
        self.main = main
        self.files = dict(files)
        self.fetched: list[str] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Routes(BaseHTTPRequestHandler):
    server: Hub
    commit = ""

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, *, with_body: bool) -> None:
        path = urlsplit(self.path).path
        if path.startswith(f"/api/models/{self.server.name}/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for name, content in self.server.files.items()
            ]
            self.send(json.dumps(tree).encode(), with_body=with_body)
            return
        if path.startswith(f"/api/models/{self.server.name}"):
            siblings = [{"rfilename": name} for name in self.server.files]
            commit = path.rpartition("/revision/")[2] if "/revision/" in path else self.server.main
            commit = self.server.main if commit == "main" else commit
            self.send(
                json.dumps({"id": self.server.name, "sha": commit, "siblings": siblings}).encode(), with_body=with_body
            )
            return
        self.commit, _, name = path.removeprefix(f"/{self.server.name}/resolve/").partition("/")
        if name not in self.server.files:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if with_body:
            self.server.fetched.append(name)
        self.send(self.server.files[name], with_body=with_body)

    def send(self, content: bytes, *, with_body: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", self.commit)
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in the base class)
        pass
