"""Keeps the answers to requests with an `Idempotency-Key`, so that one that is sent again is not carried out again.

They are terms of the store, and so the same for every instance over it. An answer may hold the text of a memory, which
somebody may purge: it is stored encrypted with the key of the request, which the store does not have.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import zlib
from dataclasses import dataclass

from nacre.access.view import ANSWER_KIND, Marker
from nacre.engine.engine import change_term
from nacre.errors import InvalidInput, NacreError
from nacre.model.memory import Json
from nacre.protocols import Backend, Clock, Data, TermSet

SHORTEST_KEY, LONGEST_KEY = 16, 200  # characters: a shorter key could be guessed, and with it an answer
KEPT_SECONDS = 86_400.0
GIVEN_UP_SECONDS = 300.0  # after which a request that has written nothing is taken for lost
LONGEST_ANSWER = 1_000_000  # bytes, compressed
NONCE_BYTES, TAG_BYTES = 16, 16


class KeyReused(NacreError):
    """An `Idempotency-Key` with another request, or one whose answer is not known, or not yet: `waiting`."""

    def __init__(self, sentence: str, *, waiting: bool = False) -> None:
        super().__init__(sentence)
        self.waiting = waiting


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    etag: str = ""
    operation: str = ""  # that was written


@dataclass(slots=True)
class Reservation:
    """A request that is carried out under a key; `marker` is written together with its first operation."""

    name: str
    secret: bytes
    data: dict[str, Json]
    marker: Marker


class Answers:
    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._swept = 0.0

    def use(self, backend: Backend) -> None:
        """Another file is in the store's place."""
        self._backend = backend

    def begin(self, asker: str, key: str, request: bytes) -> Answer | Reservation:
        """The answer that was given before, or the right to carry the request out. Raises `KeyReused`.

        `asker` names the user and what the token may do, or for a renaming the token itself: an answer is for those who
        might have asked for it.
        """
        if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
            raise InvalidInput(
                f"An Idempotency-Key has {SHORTEST_KEY} to {LONGEST_KEY} characters; send a random one, such as a UUID."
            )
        self._sweep()
        secret = hashlib.sha256(f"{asker}\0{key}".encode()).digest()
        name = hashlib.sha256(b"name\0" + secret).hexdigest()
        digest = hmac.new(secret, request, "sha256").hexdigest()
        data: dict[str, Json] = {
            "request": digest,
            "owner": secrets.token_hex(8),
            "at": self._clock(),
            "state": "reserved",
        }
        reservation = Reservation(name, secret, data, Marker((ANSWER_KIND, name), data, {**data, "state": "written"}))
        result: Answer | Reservation = reservation

        def reserve(before: Data | None) -> Data | None:
            nonlocal result
            answer = None if before is None else self._answer(before, digest, secret)
            result = reservation if answer is None else answer
            return data if answer is None else before

        change_term(self._backend, ANSWER_KIND, name, reserve)
        return result

    def _answer(self, stored: Data, digest: str, secret: bytes) -> Answer | None:
        """None when the request was lost before it wrote anything."""
        if not hmac.compare_digest(str(stored["request"]), digest):
            raise KeyReused("This Idempotency-Key was used for another request; send a new key with a new request.")
        if "answer" in stored:
            status, _, rest = unsealed(secret, str(stored["answer"])).partition(b"\n")
            etag, _, body = rest.partition(b"\n")
            return Answer(int(status), body, etag.decode(), str(stored["operation"]))
        age = self._clock() - float(str(stored["at"]))
        if stored["state"] == "reserved" and age > GIVEN_UP_SECONDS:
            return None
        if stored["state"] == "done" or age > GIVEN_UP_SECONDS:
            raise KeyReused(
                "A request with this Idempotency-Key was carried out, a long one perhaps in part, but its answer was "
                "not kept; look at the journal."
            )
        sentence = "A request with this Idempotency-Key is being carried out; wait a moment and repeat it."
        raise KeyReused(sentence, waiting=True)

    def finish(self, reservation: Reservation, answer: Answer) -> None:
        """Keeps an answer; one that is too long is not kept, only that there was one."""
        plain = b"%d\n%s\n%s" % (answer.status, answer.etag.encode(), answer.body)
        packed = sealed(reservation.secret, plain)
        kept: dict[str, Json] = {**reservation.data, "state": "done", "operation": answer.operation}
        self._set(reservation, {**kept, "answer": packed} if len(packed) <= LONGEST_ANSWER else kept)

    def abandon(self, reservation: Reservation) -> None:
        """Nothing was written: the same key may be used again."""
        if not reservation.marker.written:
            self._set(reservation, None)

    def _set(self, reservation: Reservation, data: Data | None) -> None:
        owner = reservation.data["owner"]
        change_term(
            self._backend,
            ANSWER_KIND,
            reservation.name,
            lambda before: data if before is not None and before.get("owner") == owner else before,
        )

    def _sweep(self) -> None:
        """Forgets old answers, now and then."""
        now = self._clock()
        if now - self._swept < KEPT_SECONDS / 24:
            return
        self._swept = now
        for name, data in self._backend.terms(ANSWER_KIND).items():
            if now - float(str(data["at"])) > KEPT_SECONDS:
                self._backend.commit([TermSet(ANSWER_KIND, name, None)])


def sealed(secret: bytes, plain: bytes) -> str:
    """Encrypted and authenticated with nothing but hashes: each secret and nonce give a stream that is used once."""
    nonce, packed = secrets.token_bytes(NONCE_BYTES), zlib.compress(plain)
    hidden = nonce + exclusive_or(packed, secret + nonce)
    return base64.b64encode(tag_of(secret, hidden) + hidden).decode("ascii")


def unsealed(secret: bytes, text: str) -> bytes:
    raw = base64.b64decode(text)
    tag, hidden = raw[:TAG_BYTES], raw[TAG_BYTES:]
    if not hmac.compare_digest(tag, tag_of(secret, hidden)):
        raise KeyReused("The kept answer of this Idempotency-Key is damaged; look at the journal what was done.")
    return zlib.decompress(exclusive_or(hidden[NONCE_BYTES:], secret + hidden[:NONCE_BYTES]))


def exclusive_or(data: bytes, seed: bytes) -> bytes:
    stream = hashlib.shake_256(seed).digest(len(data))
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")


def tag_of(secret: bytes, hidden: bytes) -> bytes:
    return hashlib.blake2b(hidden, key=secret, digest_size=TAG_BYTES).digest()
