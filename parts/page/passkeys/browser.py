"""What a browser is asked about passkeys, and what it answers (WebAuthn level 2, section 7.1, by `webauthn`)."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from dream.decisions.passkey import RP_ID, Assertion, Passkey, decode_base64, require_same_page, run_check

RP_NAME = "oneiros"
ANSWER_SECONDS = 120


def make_origin(port: int) -> str:
    """The origin of a page of this machine on which passkeys work."""
    return f"http://{RP_ID}:{port}"


def encode_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def options_to_make(challenge: bytes, name: str, known: Iterable[str]) -> dict[str, Any]:
    """What `navigator.credentials.create` takes, as JSON. `known`: ids of passkeys whose devices need no other."""
    # imported where they are used: a fifth of a second, which nobody without a passkey should wait for
    from webauthn import generate_registration_options  # noqa: PLC0415
    from webauthn.helpers import options_to_json_dict, structs  # noqa: PLC0415

    required = structs.UserVerificationRequirement.REQUIRED
    options = generate_registration_options(
        rp_id=RP_ID,
        rp_name=RP_NAME,
        user_name=name,
        challenge=challenge,
        timeout=ANSWER_SECONDS * 1000,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(user_verification=required),
        exclude_credentials=[structs.PublicKeyCredentialDescriptor(decode_base64(one)) for one in known],
    )
    return dict(options_to_json_dict(options))


def options_to_sign(challenge: bytes, known: Iterable[str]) -> dict[str, Any]:
    """What `navigator.credentials.get` takes, as JSON. `known`: ids of the passkeys that may answer."""
    from webauthn import generate_authentication_options  # noqa: PLC0415  as above
    from webauthn.helpers import options_to_json_dict, structs  # noqa: PLC0415

    options = generate_authentication_options(
        rp_id=RP_ID,
        challenge=challenge,
        timeout=ANSWER_SECONDS * 1000,
        allow_credentials=[structs.PublicKeyCredentialDescriptor(decode_base64(one)) for one in known],
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return dict(options_to_json_dict(options))


def verify_passkey(answer: Mapping[str, Any], challenge: bytes, origin: str, name: str) -> Passkey:
    """The passkey that a browser made. Raises UsageError where it is not the answer to this challenge."""

    def check() -> Passkey:
        from webauthn import verify_registration_response  # noqa: PLC0415  as above

        require_same_page(str(answer["response"]["clientDataJSON"]))
        found = verify_registration_response(
            credential=dict(answer),
            expected_challenge=challenge,
            expected_rp_id=RP_ID,
            expected_origin=origin,
            require_user_verification=True,
        )
        return Passkey(
            encode_base64(found.credential_id),
            encode_base64(found.credential_public_key),
            origin,
            name,
            found.sign_count,
        )

    return run_check(check)


def parse_assertion(answer: Mapping[str, Any]) -> Assertion:
    """The assertion in what a browser sends, not checked yet. Raises UsageError for what is none."""

    def read() -> Assertion:
        inner = answer["response"]
        parts = (answer["id"], inner["authenticatorData"], inner["clientDataJSON"], inner["signature"])
        if not all(isinstance(part, str) and decode_base64(part) for part in parts):
            raise ValueError("a part of it is missing")
        return Assertion(*parts)

    return run_check(read)
