"""`serve`: the HTTP service; the same entry point in a container, on a laptop and in the tests."""

import os
import socket
from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.data import home, talk
from trainer.cli.libraries import quiet_libraries
from trainer.errors import NeedsRepair
from trainer.files import write_text
from trainer.serving.guard import check_binding, read_token
from trainer.serving.settings import PORT, Settings

SHUTDOWN_SECONDS = 10  # for answers under way; a container's default grace is as long


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    name: Annotated[list[str] | None, typer.Option(help="A name that others call this machine by.")] = None,
    port: Annotated[int, typer.Option(help="0 = a free one.")] = PORT,
    run: Annotated[str, typer.Option(help="Load this run's model at once.")] = "",
    base: Annotated[str, typer.Option(help="Load this base without an adapter at once.")] = "",
    newest: Annotated[bool, typer.Option("--newest", help="Load the run whose adapter is the newest.")] = False,
    no_load: Annotated[bool, typer.Option("--no-load", help="Do not load again what was loaded last.")] = False,
    allow_download: Annotated[
        bool, typer.Option("--allow-download", help="Allow fetching a base that is not here from the hub.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Serve a run that is below its base.")] = False,
    token_file: Annotated[Path | None, typer.Option(help="Where the bearer token stands.")] = None,
    port_file: Annotated[Path | None, typer.Option(help="A file that gets the port once it is open.")] = None,
    threads: Annotated[int, typer.Option(min=0, help="Of the processor; 0 = its cores, at most 4.")] = 0,
    max_waiting: Annotated[int, typer.Option(min=0, help="Answers that may wait.")] = 8,
    cpu: Annotated[bool, typer.Option("--cpu", help="Leave the card alone.")] = False,
    stop_training: Annotated[
        bool, typer.Option("--stop-training", help="Stop a training run with the service, as a container needs it.")
    ] = False,
) -> None:
    """Serve models, training and figures over HTTP.

    Requests must carry the address it listens on or one of its names, so that no page of another site gets through.

    Example: python -m trainer serve --run run-1
    """
    # Imported here, since torch takes seconds that `--help` should not.
    import uvicorn  # noqa: PLC0415

    from trainer.serving.app import build_app  # noqa: PLC0415
    from trainer.serving.connections import Connection  # noqa: PLC0415
    from trainer.serving.gauges import best_source  # noqa: PLC0415
    from trainer.training.machine import default_threads  # noqa: PLC0415
    from trainer.training.run_folder import newest_adapter  # noqa: PLC0415

    quiet_libraries()
    file = token_file or home() / "token"
    given = os.environ.get("ONEIROS_TRAINER_TOKEN")
    token = given or read_token(file)
    check_binding(host, token)
    settings = Settings(
        home=home(),
        token=token,
        host=host,
        names=tuple(name or ()),
        threads=threads or default_threads(),
        use_card=not cpu,
        max_waiting=max_waiting,
        allow_download=allow_download,
        stop_training=stop_training,
    )
    settings.runs.mkdir(parents=True, exist_ok=True)
    app = build_app(settings, best_source())
    run = newest_adapter(settings.runs) if newest and not run and not base else run
    if run or base:
        app.state.service.served.load(run=run, base=base, force=force)
    elif not no_load:
        try:
            app.state.service.served.load_last()
        except Exception as error:  # noqa: BLE001  (torn weights, a full card: whoever is to mend it needs the service)
            talk(f"What was loaded last is not loaded again: {error}")
    listener = listen(host, port)
    opened = listener.getsockname()[1]
    if port_file is not None:
        write_text(port_file, str(opened))
    talk(f"Serving on http://{host}:{opened}; the token stands in {'$ONEIROS_TRAINER_TOKEN' if given else file}")
    config = uvicorn.Config(
        app, http=Connection, ws="none", log_level="warning", timeout_graceful_shutdown=SHUTDOWN_SECONDS
    )
    uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """An open socket. Raises NeedsRepair where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise NeedsRepair(
            f"port {port} of {host} cannot be opened ({error.strerror})", remedy="Choose another --port"
        ) from error
    return listener
