"""`oneiros key`: the person's signing key."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

from dream.decisions.approvals import doubts_for_person
from dream.decisions.key import NAMESPACE, fingerprint, run_keygen
from dream.decisions.presence import Consent, How
from memory_server.errors import NeedsRepair, UsageError
from memory_server.escaping import escape_line
from memory_server.machine.files import make_folder, move
from memory_server.settings_file import change_setting
from oneiros.cli.consent import key_file, require_person, sign_at_end
from oneiros.cli.terminal.output import data, is_conversation, talk
from oneiros.dreaming import open_decisions
from oneiros.environment import Environment, now

SOFTWARE, HARDWARE = "ed25519", "ed25519-sk"
OFFER = "Sign your decisions with a key of your own, so that nobody else's pass for them"


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    key = typer.Typer(
        help="Your key, which signs what you decide.",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog="\b\nExample: oneiros key new",
    )
    key.command(epilog="\b\nExample: oneiros key new --hardware")(new)
    key.command(epilog="\b\nExample: oneiros key show")(show)
    app.add_typer(key, name="key")


def new(
    context: typer.Context,
    hardware: Annotated[bool, typer.Option("--hardware", help="on a security key that waits for a touch")] = False,
) -> None:
    """Make a key with a passphrase, and sign what you have approved."""
    environment: Environment = context.obj
    require_person(environment, "make a new signing key")  # with the old one, where there is one
    make_key(environment, HARDWARE if hardware else SOFTWARE)


def show(context: typer.Context) -> None:
    """Show the fingerprints of your key and your passkeys, and where they are."""
    environment: Environment = context.obj
    passkeys = list_passkeys(environment)
    if environment.person.signing_key:
        data(f"{fingerprint(environment.person.signing_key)}  {key_file(environment)}")
    else:
        talk("You have no key: decisions at a terminal are unsigned. `oneiros key new` makes one.")
    for line in passkeys:
        data(line)
    if not passkeys and not environment.person.signing_key:
        raise typer.Exit(1)


def list_passkeys(environment: Environment) -> list[str]:
    """A line each for the passkeys of the memory; none where there is no memory."""
    try:
        known = open_decisions(environment).chain().passkeys().values()
    except NeedsRepair:
        return []
    return [f"{one.fingerprint}  passkey {escape_line(one.name)}, on {one.origin}" for one in known]


def offer_key(environment: Environment, *, is_new: bool) -> None:
    """Signs what an `init` has made; where the person has no key and the memory is new, asks whether they want one."""
    if environment.person.signing_key and sys.stdin.isatty():
        sign_present(environment, environment)
    elif is_new and is_conversation() and typer.confirm(OFFER, default=False, err=True):
        make_key(environment, SOFTWARE)


def make_key(environment: Environment, kind: str) -> None:
    """Makes the key, notes its public half in the settings, and signs what the person has answered for so far."""
    file = key_file(environment)
    if file.exists():
        for old in (file, file.with_name(f"{file.name}.pub")):
            move(old, old.with_name(f"{old.name}-until-{now():%Y%m%d-%H%M%S}"))
    talk("A passphrase for the key, which it asks for whenever you decide:")
    public = new_key(file, kind)
    change_setting(environment.person_file, "signing_key", public, follow=True)
    talk(f"Your key: {fingerprint(public)}, in {file}")
    sign_present(environment, dataclasses.replace(environment))  # a copy reads the settings anew


def sign_present(before: Environment, with_key: Environment) -> None:
    """Signs the approved files that the person has answered for before, and tells what is unsigned among them."""
    try:
        decisions, (found, unsigned) = open_decisions(with_key), open_decisions(before).doubts()
    except NeedsRepair:
        return  # no memory yet
    for line in (*doubts_for_person(found), *map(str, unsigned.of_week(now()))):
        talk(line)
    with sign_at_end(with_key, decisions):
        count = decisions.adopt_explained(Consent(How.KEY), before.person.signing_key)
    talk(f"{count} approved files are signed.")


def new_key(file: Path, kind: str = SOFTWARE) -> str:
    """Makes a key whose passphrase is typed on the terminal; returns the public line, its fingerprint at the end.

    Raises UsageError for an empty passphrase, unless the key is a hardware one.
    """
    make_folder(file.parent)
    run_keygen("-q", "-t", kind, "-f", str(file), "-C", NAMESPACE, at_terminal=True)
    public = file.with_name(f"{file.name}.pub")
    if kind == SOFTWARE and _has_no_passphrase(file):
        file.unlink()
        public.unlink()
        raise UsageError("a key without a passphrase signs for everybody", remedy="Run it again and type one")
    kind_and_key = " ".join(public.read_text(encoding="utf-8").split()[:2])
    return f"{kind_and_key} {fingerprint(kind_and_key)}"


def _has_no_passphrase(file: Path) -> bool:
    try:
        run_keygen("-y", "-P", "", "-f", str(file))
    except NeedsRepair:
        return False
    return True
