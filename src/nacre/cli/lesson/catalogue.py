"""Every command of `nacre lesson` with the file that has it and its line of help."""

from __future__ import annotations

from collections.abc import Mapping

SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Learn and find": {
        "add": ("add", "Keep a lesson, from options or by being asked."),
        "search": ("search", "Find the lessons that answer a question, best first."),
        "list": ("search", "List the newest lessons, or those you narrow it to."),
        "show": ("show", "Show one lesson in full, with its links."),
        "edit": ("edit", "Change what you name of a lesson."),
        "delete": ("delete", "Move a lesson to the trash."),
        "restore": ("delete", "Bring a lesson back from the trash."),
    },
    "Tie": {
        "related": ("relating", "List the lessons that ties lead to."),
        "link": ("relating", "Tie one lesson to another."),
        "unlink": ("relating", "Take the ties between two lessons away."),
    },
    "Keep the words clean": {
        "tags": ("tags", "List the tags; merge, relate and review them."),
        "sources": ("sources", "List where lessons come from; add, merge, review."),
        "contexts": ("contexts", "List the situations that lessons apply in; merge them."),
    },
    "Keep the lessons true": {
        "audit": ("auditing", "List what is held how firmly, on what evidence."),
        "review": ("auditing", "List the lessons that somebody should look at again."),
        "validate": ("auditing", "Say that a lesson still holds."),
        "archive": ("archiving", "Put lessons out of sight without losing them."),
        "unarchive": ("archiving", "Take lessons out of the archive."),
    },
    "Carry and count": {
        "export": ("carrying", "Write lessons to a file, without secrets."),
        "import": ("carrying", "Read lessons from a file."),
        "reembed": ("counting", "Compute the vectors of lessons again."),
        "stats": ("counting", "Count what is there."),
    },
}
COMMANDS: Mapping[str, tuple[str, str]] = {
    name: told for section in SECTIONS.values() for name, told in section.items()
}
