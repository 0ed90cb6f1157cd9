"""Every program that the server can be set up in, by the name it is called with."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.errors import UnknownName
from nacre.install.clients.claude_code import ClaudeCodeInstaller
from nacre.install.clients.claude_desktop import ClaudeDesktopInstaller
from nacre.install.clients.codex import CodexInstaller
from nacre.install.clients.cursor import CursorInstaller
from nacre.install.clients.gemini_cli import GeminiCLIInstaller
from nacre.install.clients.installer import Installer
from nacre.install.clients.opencode import OpenCodeInstaller
from nacre.install.clients.vscode import VSCodeInstaller
from nacre.install.clients.windsurf import WindsurfInstaller

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
