"""What a profile costs an agent that has it: the tokens of its list of tools, before any is called."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.mcp.calling import as_json
from nacre.mcp.serving import shown
from nacre.mcp.tool import Profile

CHARACTERS_A_TOKEN = 4  # English prose and JSON with the common tokenizers


@dataclass(frozen=True, slots=True)
class Cost:
    """`schema` is the part that describes results, which many clients do not hand to the model."""

    name: str
    tokens: int
    schema: int
    about: str


def costs(profile: Profile) -> list[Cost]:
    told = []
    for tool in profile.tools:
        listed = shown(tool)
        whole = as_json(listed.model_dump(by_alias=True, mode="json", exclude_none=True))
        told.append(Cost(tool.name, tokens(whole), tokens(as_json(listed.output_schema)), tool.about))
    return told


def tokens(text: str) -> int:
    return max(1, round(len(text) / CHARACTERS_A_TOKEN))
