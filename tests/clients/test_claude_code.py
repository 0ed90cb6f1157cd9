"""What only Claude Code needs: tools that are there in the first turn, and the permission to use them."""

from __future__ import annotations

import json
from pathlib import Path

from nacre.clients.claude_code import ClaudeCodeInstaller
from nacre.clients.files import BACKUP


def test_the_tools_are_loaded_from_the_start(elsewhere: Path) -> None:
    for installer in (ClaudeCodeInstaller(), ClaudeCodeInstaller(url="http://127.0.0.1:8765/mcp")):
        assert installer.build_mcp_block()["alwaysLoad"] is True
        installer.install()
        assert installer.verify() and elsewhere in installer.path.parents


def test_the_permission_stands_beside_others_and_goes_alone(elsewhere: Path) -> None:
    file = elsewhere / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"permissions": {"allow": ["Bash(make test)"]}}')
    installer = ClaudeCodeInstaller(server_name="my brain", settings_path="")
    assert installer.allow().changed and not installer.allow().changed
    assert json.loads(file.read_text())["permissions"]["allow"] == ["Bash(make test)", "mcp__my_brain"]
    assert installer.disallow() and not installer.disallow()
    assert file.read_text() == '{"permissions": {"allow": ["Bash(make test)"]}}'
    assert not file.with_name(file.name + BACKUP).exists()
