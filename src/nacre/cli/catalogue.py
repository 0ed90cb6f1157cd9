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
        "appraise": "Say how much a text is worth keeping, and why.",
        "lesson": "Keep and find lessons: knowledge with contexts, confidence, a source.",
        "mind": "Look into an agent's mind: its six kinds of memory.",
    },
    "Tie and trace": {
        "link": "Tie one memory to another.",
        "unlink": "Take a tie away.",
        "neighbors": "List what a memory is tied to.",
        "graph": "Draw memories and the ties between them.",
        "path": "Find how one memory leads to another.",
        "relations": "List the relations that ties can have, or add one.",
        "entities": "List whom and what memories speak of, and which names mean one.",
        "history": "Tell every version of a truth, and what changed when.",
        "diff": "Tell what changed between two times.",
    },
    "Settle": {
        "conflicts": "Find memories that contradict, update or repeat each other.",
        "review": "Decide, one by one, what waits for a decision.",
        "validate": "Say that a memory still holds.",
        "audit": "List what is held how firmly, on what evidence.",
        "fade": "Let certainty fade that nobody renewed.",
    },
    "Change and take back": {
        "edit": "Change a memory, with options or in your editor.",
        "tag": "Add tags to memories, or take some away.",
        "bump": "Let memories matter more or less.",
        "merge": "Let one memory stand for others that say the same.",
        "pin": "Keep memories from fading.",
        "unpin": "Let memories fade like all others again.",
        "archive": "Put memories out of sight without losing them.",
        "unarchive": "Take memories out of the archive.",
        "forget": "Move memories to the trash.",
        "restore": "Bring back what was forgotten or superseded.",
        "trash": "See what is in the trash, bring it back, or empty it for good.",
        "redact": "Take the content of memories away for good, and leave a mark.",
        "purge": "Delete memories for good, in the journal too.",
        "supersede": "Let a newer memory take the place of an older one.",
        "undo": "Take back the last act, or the one you name.",
        "journal": "Tell what was done, when and by whom; export it.",
    },
    "Let it live": {
        "prune": "Let go of what has faded.",
        "decay": "See how memories fade: their scores, or a plot.",
        "reflect": "Condense episodes that speak of the same into what is known.",
        "consolidate": "Promote what has earned it from the short term to the long.",
        "retain": "Keep a space within bounds of age, number and size.",
        "maintenance": "Let a store look after itself: once, or from now on.",
    },
    "Carry": {
        "export": "Write memories to a file that any other store can read.",
        "import": "Bring the memories of such a file into the store.",
        "info": "Look into such a file without importing it.",
    },
    "Keep in order": {
        "stats": "Count what is there.",
        "spaces": "List the spaces of the store.",
        "space": "Create, copy, rename or delete a space.",
        "backup": "Copy the whole store, check a copy, or put one back.",
        "config": "See and change the settings, and where each comes from.",
        "completion": "Let your shell complete commands, options, spaces and ids.",
        "prune-links": "Take away ties so weak that nobody would miss them.",
        "reindex": "Compute words and vectors again, with the present model.",
        "encrypt": "Encrypt the whole store with a key.",
        "decrypt": "Make an encrypted store readable without a key again.",
        "rekey": "Give an encrypted store another key.",
        "doctor": "Examine the store and say how to mend what is wrong.",
        "model": "See or install the embedding model.",
        "bench": "Measure recall on public datasets.",
    },
}
HELP: Mapping[str, str] = {name: line for section in SECTIONS.values() for name, line in section.items()}
