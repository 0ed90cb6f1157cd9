"""The profiles: a module and a `.toml` file for each. `maintenance` is none; it has tools that several share."""

from __future__ import annotations

from importlib import import_module

from nacre.clients.profiles import PROFILES
from nacre.errors import UnknownName
from nacre.mcp.tool import Profile


def profile_named(name: str) -> Profile:
    UnknownName.check("profile", name, PROFILES)
    profile: Profile = import_module(f"nacre.mcp.profiles.{name}").PROFILE
    return profile
