"""How a command asks the person: by their key where they have one, else by a word on their terminal."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from dream.decisions.accept import Decisions
from dream.decisions.key import sign, verify
from dream.decisions.presence import Consent, How, ask_on_terminal, person_at_terminal, require_terminal
from dream.decisions.repository import find_repository, require_rest
from memory_server.errors import NeedsRepair, OneirosError, UsageError
from oneiros.cli.terminal.output import talk
from oneiros.environment import Environment

REMEDY = "Where there is no terminal, write what you want into your settings file yourself"


def key_file(environment: Environment) -> Path:
    """The private half of the person's key, encrypted; its public half stands in their settings."""
    return environment.person_file.parent / "signing-key"


def ask_person(environment: Environment) -> Consent:
    """Consent to decisions: with a key it is given at their end, by `sign_at_end`."""
    if not environment.person.signing_key:
        return person_at_terminal(environment.variables)
    require_terminal(os.getpid(), environment.variables)
    return Consent(How.KEY)


def require_clean_tree(environment: Environment) -> None:
    """Raises NeedsRepair where what is decided could not be committed now: to be said before a person is asked."""
    repository = find_repository(environment.choice.root.path) if environment.person.dream_commit else None
    if repository is not None:
        require_rest(repository)


def ask_consent(environment: Environment) -> Consent:
    """Consent to what was just shown: the word, or a yes that the key signs."""
    consent = ask_person(environment)
    if consent.how is How.KEY and ask_on_terminal("Do this [y,n]? ").strip().casefold()[:1] != "y":
        raise UsageError("that was no yes", remedy="Nothing was decided")
    return consent


@contextmanager
def sign_at_end(environment: Environment, decisions: Decisions) -> Iterator[None]:
    """Signs at its end what was decided inside it; the passphrase is asked for once."""
    try:
        yield
    finally:
        if decisions.has_unsigned:
            talk("Signing what you decided.")
            try:
                decisions.sign(partial(sign, key_file(environment)))
            except OneirosError as error:
                what, remedy = f"your decisions stand unsigned: {error.what}", "`oneiros review` asks about them again"
                raise NeedsRepair(what, where=error.where, remedy=remedy) from error


def require_person(environment: Environment, what: str, *, is_setting: bool = False) -> None:
    """Asks for consent to what is not a decision about the memory's words. Raises UsageError or NeedsRepair without it.

    `what` is shown, and signed where there is a key. `is_setting`: a line of the person's settings would say it too.
    """
    talk(f"This is for you alone to decide: {what}")
    public_key, message = environment.person.signing_key, what.encode()
    try:
        ask_person(environment)
    except UsageError as error:
        if not is_setting:
            raise
        raise UsageError(error.what, remedy=f"{error.remedy}. {REMEDY}: {environment.person_file}") from error
    if public_key and not verify(public_key, message, sign(key_file(environment), message)):
        raise NeedsRepair("the signature is not by the key of your settings", where=environment.person_file)
