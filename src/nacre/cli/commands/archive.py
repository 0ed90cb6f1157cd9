"""nacre archive"""

from __future__ import annotations

from nacre.cli.marking import marking

command = marking(
    "archive",
    "Put memories out of sight. With --include-archived, `list`, `recall` and `pack` look there too.",
    "Archived",
)
