"""The access of whoever opens a store itself. Most processes need no other, and do not load `Access`."""

from __future__ import annotations

from nacre.model import Filter


class Unlimited:
    """What a store asks of an `Access`, where nothing is restricted."""

    capabilities = None
    is_agent = False
    unrestricted = True
    writable = Filter()

    def demand(self, what: str) -> None: ...

    def demand_for_space(self, what: str) -> None: ...

    def demand_numbers(self, what: str) -> None: ...

    def demand_role(self, role: str, what: str) -> None: ...
