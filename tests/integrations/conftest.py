"""Keeps the frameworks from reporting their use, and every test from the network."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

# Read when a framework is imported, and so before its tests are collected.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def refuse(opened: socket.socket, address: Any) -> None:
        if opened.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
            pytest.fail(f"The network was touched: {address}")
        connect(opened, address)

    monkeypatch.setattr(socket.socket, "connect", refuse)
