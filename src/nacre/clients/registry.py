"""Every program that the server can be set up in, by the name it is called with."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.clients.claude_code import ClaudeCodeInstaller
from nacre.clients.installer import Installer
from nacre.clients.other_clients import (
    ClaudeDesktopInstaller,
    CodexInstaller,
    CursorInstaller,
    GeminiCLIInstaller,
    OpenCodeInstaller,
    VSCodeInstaller,
    WindsurfInstaller,
)
from nacre.errors import UnknownName

INSTALLERS: Mapping[str, type[Installer]] = {
    each.client: each
    for each in (
        ClaudeCodeInstaller,
        ClaudeDesktopInstaller,
        CursorInstaller,
        VSCodeInstaller,
        WindsurfInstaller,
        CodexInstaller,
        GeminiCLIInstaller,
        OpenCodeInstaller,
    )
}


def installer_for(client: str) -> type[Installer]:
    if client not in INSTALLERS:
        raise UnknownName("client", client, INSTALLERS)
    return INSTALLERS[client]
