"""Starting and ending: what would be unsafe is refused, running requests finish, several instances share a store."""

from __future__ import annotations

import asyncio
import http.client
import json
import platform
import subprocess
import sys
import threading
import uuid
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from starlette.types import Receive, Scope, Send

from nacre.client import RemoteStore
from nacre.errors import NacreError
from nacre.mcp.http import Address
from nacre.memory_store import MemoryStore
from nacre.server.serve import HEAPS, HINT, BehindProxy, ServeOptions
from nacre.server.users import Registry
from tests.command_line import CommandLine
from tests.mcp.agents import stdio_agent, talking
from tests.server.running import Caller, Reply, Served, serving, tokens


def test_an_address_that_others_reach_needs_tls_or_a_proxy(nacre: CommandLine, tmp_path: Path) -> None:
    for place in ("0.0.0.0:0", "[::]:0", "192.0.2.1:80"):
        result = nacre("serve", "--http", place)
        assert result.exit_code == 2 and "--tls-cert" in result.stderr and "--behind-proxy" in result.stderr
    (tmp_path / "cert.pem").touch()
    assert "both" in nacre("serve", "--tls-cert", str(tmp_path / "cert.pem")).stderr
    missing = nacre("serve", "--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    assert "There is no file" in missing.stderr
    ServeOptions(Address.of("0.0.0.0:0"), behind_proxy=True).check()
    ServeOptions(Address.of("127.0.0.1:0")).check()


def seen_behind_proxy(*headers: tuple[bytes, bytes]) -> tuple[str, str]:
    """The scheme and the address of a client that the application sees of a request by a proxy elsewhere."""
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    scope = {"type": "http", "scheme": "http", "client": ("10.0.0.7", 4711), "headers": headers}
    asyncio.run(BehindProxy(app)(scope, None, None))  # type: ignore[arg-type]
    return seen[0]["scheme"], seen[0]["client"][0]


def test_behind_a_proxy_the_scheme_and_the_address_are_those_of_its_client() -> None:
    forwarded, by = b"x-forwarded-proto", b"x-forwarded-for"
    assert seen_behind_proxy((forwarded, b"https"), (by, b"192.0.2.9")) == ("https", "192.0.2.9")
    assert seen_behind_proxy((by, b"198.51.100.1, 192.0.2.9")) == ("http", "192.0.2.9"), "the first is of its client"
    assert seen_behind_proxy((by, b"198.51.100.1"), (by, b"192.0.2.9")) == ("http", "192.0.2.9")
    assert seen_behind_proxy((forwarded, b"javascript"), (by, b"")) == ("http", "10.0.0.7")


def test_only_a_server_behind_a_proxy_believes_such_headers(tmp_path: Path) -> None:
    (token,) = tokens(tmp_path / "s.db", ("ada", "admin", ()))
    for words, secure in ((("--behind-proxy",), True), ((), False)):
        with serving(tmp_path / "s.db", tmp_path, *words) as served:
            own = {"X-Nacre-Page": "1", "X-Forwarded-Proto": "https"}
            reply = served.caller()("POST", "/session", {"token": token}, **own)
            assert reply.status == 200, reply.body
            assert ("Secure" in reply.headers["set-cookie"]) == secure


@pytest.mark.slow
def test_the_first_start_says_how_to_get_in_and_lets_nobody_in(tmp_path: Path) -> None:
    with serving(tmp_path / "s.db", tmp_path, new_interpreter=True) as served:
        nobody = served.caller()
        assert nobody("GET", "/v1/me").status == 401
        assert nobody("GET", "/metrics").status == 200  # on this machine, while there is no token
        (token,) = tokens(tmp_path / "s.db", ("ada", "admin", ()))
        assert nobody("GET", "/metrics").status == 401
        assert served.caller(token)("GET", "/v1/me").status == 200
        assert HINT.partition("`nacre")[0] in served.log.read_text()
        assert "token create --user NAME --role admin` makes the first one" in served.log.read_text()
        waiting = waiting_for_changes(served, token)
        assert served.stop() == 0
        waiting.join(30)
        assert not waiting.is_alive()


def waiting_for_changes(served: Served, token: str) -> threading.Thread:
    """A request that waits when the server is told to stop; it gets its answer."""
    replies: list[Reply] = []

    def wait() -> None:
        replies.append(served.caller(token)("GET", "/v1/spaces/team/changes", query={"wait": 60}))
        assert replies[0].result == []

    thread = threading.Thread(target=wait)
    thread.start()
    while "nacre_requests_running 2" not in served.caller(token)("GET", "/metrics").body.decode():
        continue
    return thread


@pytest.mark.slow
def test_two_instances_over_one_store_share_tokens_answers_and_changes(tmp_path: Path) -> None:
    (token,) = tokens(tmp_path / "s.db", ("ada", "admin", ()))
    with serving(tmp_path / "s.db", tmp_path) as one, serving(tmp_path / "s.db", tmp_path) as two:
        first, second = one.caller(token), two.caller(token)
        key = str(uuid.uuid4())
        replies = [
            each("POST", "/v1/spaces/team/memories", {"text": "Written once"}, Idempotency_Key=key)
            for each in (first, second)
        ]
        assert replies[0].body == replies[1].body and replies[0].status == 201
        assert second("GET", "/v1/spaces/team/count").result == 1
        got: list[Reply] = []
        waiting = threading.Thread(
            target=lambda: got.append(second("GET", "/v1/spaces/team/changes", query={"since": 1, "wait": 50}))
        )
        waiting.start()
        first.remember("Seen by the other one")
        waiting.join(60)
        assert [entry["seq"] for entry in got[0].result] == [2]
        job = first("POST", "/v1/spaces/team/jobs/scan", {}).json
        while (state := second("GET", f"/v1/jobs/{job['id']}").json)["state"] == "running":
            continue
        assert state["state"] == "done" and state["result"] == {"conflicts": 0, "noted": 0}


@pytest.mark.slow
def test_an_agent_remembers_over_mcp_as_its_user(tmp_path: Path) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    writer, reader = tokens(tmp_path / "s.db", ("ada", "writer", ("team",)), ("bea", "reader", ("team", "home")))
    with serving(tmp_path / "s.db", tmp_path) as served:
        for token, path in ((writer, "/mcp"), (reader, "/mcp?space=team")):
            client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
            with talking(streamable_http_client(served.url + path, http_client=client)) as agent:
                if token == writer:
                    id = agent.ok("remember", text="The lighthouse keeper is called Ines")["id"]
                else:
                    assert agent.ok("recall", query="lighthouse keeper", k=1)["memories"][0]["id"] == id
                    assert "role" in agent.refused("remember", text="Readers write nothing")
                agent.do(client.aclose)
        caller = served.caller(writer)
        (entry,) = caller("GET", "/v1/spaces/team/journal").result
        assert (entry["operation"]["actor"], entry["memory_id"]) == ("ada", id)
        assert caller("POST", "/mcp?space=home", {}).status == 404
        for verb in ("GET", "DELETE"):  # an event stream would stay open for ever, and hold up a restore
            refused = caller(verb, "/mcp", Accept="application/json, text/event-stream")
            assert (refused.status, refused.headers["allow"]) == (405, "POST")
        changes = caller("GET", "/v1/spaces/team/changes").result
        assert json.dumps(changes[0]["after"]).count("Ines") >= 1


@pytest.mark.slow
def test_changes_are_streamed_and_a_token_that_asks_too_much_has_to_wait(tmp_path: Path) -> None:
    streaming, hasty = tokens(tmp_path / "s.db", ("ada", "writer", ()), ("bea", "writer", ()))
    with serving(tmp_path / "s.db", tmp_path, "--limit-writes", "2") as served:
        place = urlsplit(served.url)
        served.caller(streaming).remember("Not streamed")
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        headers = {"Authorization": f"Bearer {streaming}", "Accept": "text/event-stream"}
        connection.request("GET", "/v1/spaces/team/changes?since=1", headers=headers)
        stream = connection.getresponse()
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        served.caller(streaming).remember("Streamed")
        lines = iter(lambda: stream.readline().decode().rstrip("\n"), "")
        event: dict[str, str] = {}
        while "data" not in event:
            event |= dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
            lines = iter(lambda: stream.readline().decode().rstrip("\n"), "")
        assert (event["id"], json.loads(event["data"])["after"]["text"]) == ("2", "Streamed")
        with MemoryStore(tmp_path / "s.db", space="team", embedder="hashing") as store:
            registry = Registry(store.acting_as("tester").store, store.now)
            [known] = [each for each in registry.tokens() if each.user == "ada"]
            registry.revoke(known.id)
            store.remember("Not for a revoked token")
        assert b"revoked" not in stream.read()  # it ends
        stream.close()
        connection.close()
        caller = served.caller(hasty)
        replies = [caller("POST", "/v1/spaces/team/memories", {"text": f"Number {n}"}) for n in range(3)]
        assert [each.status for each in replies] == [201, 201, 429]
        assert 1 <= int(replies[2].headers["retry-after"]) <= 31 and "repeat" in replies[2].json["message"]
        assert caller("GET", "/v1/spaces/team/count").result == 5  # reading is not limited by it


@pytest.mark.slow
def test_an_mcp_server_of_ones_own_works_over_a_server(tmp_path: Path) -> None:
    (token,) = tokens(tmp_path / "s.db", ("ada", "writer", ()))
    with serving(tmp_path / "s.db", tmp_path) as served:
        settings = {"NACRE_TOKEN": token, "NACRE_SPACE": "team"}
        with stdio_agent(served.url, tmp_path, settings=settings) as agent:  # type: ignore[arg-type]
            id = agent.ok("remember", text="The buoy by the rocks is green")["id"]
            assert agent.ok("recall", query="Which colour has the buoy?", k=1)["memories"][0]["id"] == id
        (entry,) = served.caller(token)("GET", "/v1/spaces/team/journal").result
        assert (entry["operation"]["actor"], entry["memory_id"]) == ("ada", id)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """One for this machine, which signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(signed.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


@pytest.mark.slow
def test_tls_is_served_with_the_files_that_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = make_certificate(tmp_path)
    (token,) = tokens(tmp_path / "s.db", ("ada", "admin", ()))
    with serving(tmp_path / "s.db", tmp_path, "--tls-cert", str(certificate), "--tls-key", str(key)) as served:
        assert served.url.startswith("https://")
        with (
            RemoteStore(served.url, token=token, space="team") as stranger,
            pytest.raises(NacreError, match="certificate"),
        ):
            stranger.count()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with RemoteStore(served.url, token=token, space="team") as store:
            store.remember("Read by nobody on the way")
            assert store.count() == 1
        with pytest.raises((OSError, http.client.HTTPException)):  # plain text is not answered
            Caller(served.url, token)("GET", "/v1/me")


HEAPS_OF_THREADS = """
import ctypes, re, sys, threading
from pathlib import Path
from nacre.server.serve import limit_heaps

limit_heaps()
c, met = ctypes.CDLL(None), threading.Barrier(12)
c.malloc.restype = c.fopen.restype = ctypes.c_void_p

def allocate():
    met.wait()
    c.malloc(1000)
    met.wait()

threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
file = ctypes.c_void_p(c.fopen(sys.argv[1].encode(), b"w"))
c.malloc_info(0, file)
c.fclose(file)
print(len(re.findall("<heap nr", Path(sys.argv[1]).read_text())))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the C library of GNU has a heap for each thread")
def test_the_threads_of_a_server_share_two_heaps(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HEAPS_OF_THREADS, str(tmp_path / "heaps.xml")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) <= HEAPS
