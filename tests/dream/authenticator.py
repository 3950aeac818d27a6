"""A passkey in software, as a browser shows it to a page: what it makes and signs can be made wrong in every part."""

import hashlib
import json
import secrets
import struct
from collections.abc import Mapping
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from dream.decisions.passkey import RP_ID, decode_base64
from parts.page.passkeys.browser import encode_base64

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class SoftAuthenticator:
    """One credential on a page. `verifies`: whether it looks at its person; `count`: -1 where it counts nothing."""

    def __init__(self, origin: str = "http://localhost:8377", *, verifies: bool = True, count: int = -1):
        self.origin, self.verifies, self.count = origin, verifies, count
        self.rp_id = RP_ID
        self.id = secrets.token_bytes(32)
        self._key = ec.generate_private_key(ec.SECP256R1())

    def make(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of `navigator.credentials.create`, as `toJSON` gives it."""
        numbers = self._key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (numbers.x, numbers.y))
        public = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        credential = bytes(16) + struct.pack(">H", len(self.id)) + self.id + public
        data = self._data(ATTESTED) + credential
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = self._client_data("webauthn.create", options)
        return self._answer(clientDataJSON=client_data, attestationObject=attestation)

    def sign(self, options: Mapping[str, Any], **fields: object) -> dict[str, Any]:
        """The answer of `navigator.credentials.get`; `fields` stands in what the browser says of the page."""
        self.count += self.count >= 0
        data, client_data = self._data(), self._client_data("webauthn.get", options, **fields)
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(clientDataJSON=client_data, authenticatorData=data, signature=signature)

    def _data(self, flags: int = 0) -> bytes:
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        return hashlib.sha256(self.rp_id.encode()).digest() + struct.pack(">BI", flags, max(self.count, 0))

    def _client_data(self, kind: str, options: Mapping[str, Any], **fields: object) -> bytes:
        known = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}
        return json.dumps(known | fields).encode()

    def _answer(self, **parts: bytes) -> dict[str, Any]:
        response = {name: encode_base64(part) for name, part in parts.items()}
        return {
            "id": encode_base64(self.id),
            "rawId": encode_base64(self.id),
            "type": "public-key",
            "response": response,
        }


def changed(answer: Mapping[str, Any], part: str, place: int) -> dict[str, Any]:
    """The answer with another bit in a part of it."""
    data = bytearray(decode_base64(answer["response"][part]))
    data[place % len(data)] ^= 1
    return {**answer, "response": {**answer["response"], part: encode_base64(bytes(data))}}
