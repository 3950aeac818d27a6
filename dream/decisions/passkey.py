"""A passkey: a key pair in a device of the person's, which asks for a finger, a face or a PIN before it signs.

Here its answers are checked, when they come as well as years later on another machine (WebAuthn level 2, section 7.2,
by `webauthn`). An origin is compared in full, since the name `localhost` is shared by all ports of a machine. Whose
passkeys count and what they sign is `chain.py`'s to say.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from memory_server.errors import UsageError

Checked = TypeVar("Checked")

RP_ID = "localhost"  # browsers take no IP address for it, and this name over plain HTTP alone
COUNT = slice(33, 37)  # of authenticatorData: a hash of the RP id, a byte of flags, and then how often it has signed
REFUSED = "Nothing was decided; look at what is shown, and try it again"


@dataclass(frozen=True, slots=True)
class Passkey:
    """The public half, as the chain of decisions names it. Bytes are base64url without padding, here and below."""

    id: str  # of the credential
    public_key: str  # as COSE has it
    origin: str  # of the page on which it was made: http://localhost:PORT
    name: str  # by which its person calls it
    count: int = 0  # how often it had signed; 0 where it does not count

    @property
    def fingerprint(self) -> str:
        """`SHA256:...` of the public key as it stands here."""
        key_hash = hashlib.sha256(self.public_key.encode("utf-8", "replace")).digest()
        return "SHA256:" + base64.b64encode(key_hash).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a passkey answered: all that is needed to check it again."""

    id: str  # of the credential
    authenticator_data: str
    client_data: str
    signature: str

    @property
    def count(self) -> int:
        """How often the passkey had signed, by its own count."""
        return int.from_bytes(decode_base64(self.authenticator_data)[COUNT], "big")

    @property
    def challenge(self) -> str:
        """What it says that it answers; empty where that cannot be read."""
        return str(_client_data(self.client_data).get("challenge", ""))


def decode_base64(text: str) -> bytes:
    """Raises ValueError for what is no base64url."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def require_signed(passkey: Passkey, challenge: bytes, assertion: Assertion, origin: str, count: int) -> None:
    """Raises UsageError unless the passkey signed this challenge on this page, after looking at its person.

    `count`: how often it had signed when it last did.
    """

    def check() -> None:
        # imported where it is used: a fifth of a second, which nobody without a passkey should wait for
        from webauthn import verify_authentication_response  # noqa: PLC0415
        from webauthn.helpers import structs  # noqa: PLC0415

        require_same_page(assertion.client_data)
        response = structs.AuthenticatorAssertionResponse(
            client_data_json=decode_base64(assertion.client_data),
            authenticator_data=decode_base64(assertion.authenticator_data),
            signature=decode_base64(assertion.signature),
        )
        verify_authentication_response(
            credential=structs.AuthenticationCredential(assertion.id, decode_base64(assertion.id), response),
            expected_challenge=challenge,
            expected_rp_id=RP_ID,
            expected_origin=origin,
            credential_public_key=decode_base64(passkey.public_key),
            credential_current_sign_count=count,
            require_user_verification=True,
        )

    run_check(check)


@lru_cache(maxsize=4096)  # one takes a millisecond
def vouches(passkey: Passkey, challenge: bytes, assertion: Assertion) -> bool:
    """Whether an assertion of any time is this passkey's, over this challenge, on the page that it was made on."""
    try:
        require_signed(passkey, challenge, assertion, passkey.origin, 0)
    except UsageError:
        return False
    return passkey.id == assertion.id


def run_check(check: Callable[[], Checked]) -> Checked:
    """What a check gives. Raises UsageError where the answer does not pass, whatever about it is odd."""
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415  as above

    try:
        return check()
    except (WebAuthnException, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise UsageError(f"the passkey's answer does not count ({str(error)[:200]})", remedy=REFUSED) from error


def _client_data(text: str) -> dict[str, Any]:
    try:
        found = json.loads(decode_base64(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def require_same_page(client_data: str) -> None:
    """Raises ValueError where a page of another origin has this one in a frame, as the library does not look at."""
    if _client_data(client_data).get("crossOrigin"):
        raise ValueError("the page stood in a frame of another origin")
