"""nacre unarchive"""

from __future__ import annotations

from nacre.cli.marking import marking

command = marking(
    "unarchive",
    "Take memories out of the archive, back to where they were.",
    "Took out of the archive:",
)
