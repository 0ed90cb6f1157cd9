"""nacre pin"""

from __future__ import annotations

from nacre.cli.marking import marking

command = marking("pin", "Keep memories from fading: neither decay nor a bound takes them.", "Pinned")
