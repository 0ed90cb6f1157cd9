"""Every command with its line of help, so that `--help` need not import any of them."""

from __future__ import annotations

from collections.abc import Mapping

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Remember and find": {
        "remember": "Keep a text, or what comes on stdin.",
        "recall": "Find the memories that answer a question, best first.",
        "pack": "Fit the best memories into a token budget, ready for a prompt.",
        "list": "List the newest memories, or those you narrow it to.",
        "show": "Show one memory in full, with its ties and its history.",
    },
    "Change and take back": {
        "edit": "Change a memory, with options or in your editor.",
        "forget": "Move memories to the trash.",
        "restore": "Bring back what was forgotten or superseded.",
        "purge": "Delete memories for good, in the journal too.",
        "supersede": "Let a newer memory take the place of an older one.",
        "undo": "Take back the last act, or the one you name.",
        "journal": "Tell what was done, when and by whom.",
    },
    "Keep in order": {
        "stats": "Count what is there.",
        "spaces": "List the spaces of the store.",
        "reindex": "Compute words and vectors again, with the present model.",
        "doctor": "Examine the store and say how to mend what is wrong.",
        "model": "See or install the embedding model.",
        "bench": "Measure recall on public datasets.",
    },
}
HELP: Mapping[str, str] = {name: line for section in SECTIONS.values() for name, line in section.items()}
