"""nacre unpin"""

from __future__ import annotations

from nacre.cli.marking import marking

command = marking("unpin", "Let memories fade like all others again.", "Unpinned")
