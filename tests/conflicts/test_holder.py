"""A task or a post of one person passes to another."""

from __future__ import annotations

import pytest

from nacre.conflicts.holder import changed_holder, says_since_when


@pytest.mark.parametrize(
    ("older", "newer", "names"),
    [
        (
            "Ines Prado leads the payments team.",
            "Jonas Lund leads payments since October.",
            ("Jonas Lund", "Ines Prado"),
        ),
        ("Ines heads the design team", "Jonas now leads design", ("Jonas", "Ines")),
        ("Dr. Weber is my dentist.", "Mrs Okafor is my new dentist.", ("Mrs Okafor", "Dr. Weber")),
        ("Ines is our CTO.", "Jonas is our CTO now.", ("Jonas", "Ines")),
        ("Ines is the captain of the crew.", "Jonas is captain of the crew.", ("Jonas", "Ines")),
        ("Ines is on call this week.", "Jonas is on call.", ("Jonas", "Ines")),
        ("Ines looks after the invoices.", "Jonas is responsible for the invoices from May.", ("Jonas", "Ines")),
        ("Ines runs the stand-up.", "Jonas runs our stand-up until June", ("Jonas", "Ines")),
        (
            "Ines ist für die Buchhaltung zuständig.",
            "Jonas ist jetzt für die Buchhaltung zuständig.",
            ("Jonas", "Ines"),
        ),
        ("Ines leitet das Team Zahlungen.", "Seit Mai ist es anders. Jonas leitet Zahlungen.", None),
        ("Ines leitet den Einkauf.", "Jonas leitet den Einkauf seit Mai.", ("Jonas", "Ines")),
        ("Ines s'occupe de la paie.", "Jonas s'occupe de la paie désormais.", ("Jonas", "Ines")),
        ("Ines lidera el equipo de pagos.", "Jonas lidera el equipo de pagos.", ("Jonas", "Ines")),
        ("Ines Prado leads sales.", "Ines leads sales since May.", None),
        ("Ines leads the payments team.", "Jonas leads the platform team.", None),
        ("Ines leads sales.", "Jonas maintains sales.", None),
        ("Ines owns a boat.", "Jonas owns a boat.", None),
        ("Ines runs every morning.", "Jonas runs every morning.", None),
        ("Ines runs marathons.", "Jonas runs marathons.", None),
        ("Ines likes green tea.", "Jonas likes green tea.", None),
        ("Ines is my sister.", "Jonas is my brother.", None),
        ("Ines is a manager.", "Jonas is a manager.", None),
        ("Ines is on call on Monday.", "Jonas is on call on Tuesday.", None),
        ("Ines leads sales. She is often away.", "Jonas leads sales.", None),
        ("Ines leads.", "Jonas leads.", None),
        ("", "Jonas leads sales.", None),
        # What stands between the parts of a verb, and other forms of a word for a post
        ("Ines is on call.", "Jonas is now on call.", ("Jonas", "Ines")),
        ("Ines is responsible for invoices.", "Jonas is now responsible for invoices.", ("Jonas", "Ines")),
        ("Ines kümmert sich um Rechnungen.", "Jonas kümmert sich jetzt um Rechnungen.", ("Jonas", "Ines")),
        ("Ines s'occupe des achats.", "Jonas s’occupe des achats.", ("Jonas", "Ines")),
        ("Ines si occupa della cassa.", "Jonas si occupa della cassa.", ("Jonas", "Ines")),
        ("Ines se encarga del almacén.", "Jonas se encarga del almacén.", ("Jonas", "Ines")),
        ("Ines ist Leiterin der Gruppe.", "Jonas ist Leiter der Gruppe.", ("Jonas", "Ines")),
        ("Ines es la jefa.", "Jonas es el jefe.", ("Jonas", "Ines")),
        ("Ines manages IT.", "Jonas manages IT.", ("Jonas", "Ines")),
        # Parts that many names have
        ("Dr. Weber is our vet.", "Dr. Okafor is our vet.", ("Dr. Okafor", "Dr. Weber")),
        ("Ines de la Cruz leads sales.", "Jonas de la Vega leads sales.", ("Jonas de la Vega", "Ines de la Cruz")),
        # Nobody is named, or nothing that passes on
        ("Ines leads the team.", "She leads the team.", None),
        ("Ines leads sales.", "Nobody leads sales.", None),
        ("Ines leads sales.", "The CEO leads sales.", None),
        ("Ines leitet das Team.", "Er leitet das Team.", None),
        ("Stress leads to headaches.", "Coffee leads to headaches.", None),
        ("Ines leads by example.", "Jonas leads by example.", None),
        ("Ines maintains that tabs are better.", "Jonas maintains that tabs are better.", None),
        ("Monday Ines leads the stand-up.", "Friday Jonas leads the stand-up.", None),
        # What somebody does for a living
        ("Ines ist Zahnärztin.", "Jonas ist Zahnarzt.", None),
        ("Ines est directrice.", "Jonas est directeur.", None),
        ("Ines is our dentist.", "Jonas is our dentist.", ("Jonas", "Ines")),
        # «From», «this» and «bis» beside no time belong to the task
        ("Ines maintains the import from Jira.", "Jonas maintains the import from Trello.", None),
        ("Ines ist für Rechnungen bis 100 € zuständig.", "Jonas ist für Rechnungen ab 100 € zuständig.", None),
        ("Ines is the owner of this house.", "Jonas is the owner of this boat.", None),
        ("Ines leads sales.", "Jonas leads sales from next Monday.", ("Jonas", "Ines")),
        ("Ines leitet den Einkauf.", "Jonas leitet den Einkauf ab 1. Mai.", ("Jonas", "Ines")),
        ("Ines dirige las ventas.", "Jonas dirige las ventas desde mayo.", ("Jonas", "Ines")),
    ],
)
def test_a_task_of_one_person_passes_on(older: str, newer: str, names: tuple[str, str] | None) -> None:
    assert changed_holder(newer, older) == names


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Jonas leads sales now.", True),
        ("Jonas leads sales since May.", True),
        ("Jonas ist die neue Leiterin.", True),
        ("Jonas leads sales.", False),
        ("Jonas is now on call.", True),
        ("Jonas ist jetzt für die Kasse zuständig.", True),
        ("Jonas leads the new platform team.", False),
        ("Jonas maintains the import from Jira.", False),
    ],
)
def test_a_text_may_say_that_it_was_otherwise_before(text: str, says: bool) -> None:
    assert says_since_when(text) is says
