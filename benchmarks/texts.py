"""Memories and questions of the kind that an agent keeps, made by the program itself and the same on every machine."""

from __future__ import annotations

from random import Random

TOPICS = (
    "billing service|invoice export|payment gateway|login page|session cache|search index|mobile client|audit log"
    "|deployment pipeline|staging cluster|message queue|backup job|rate limiter|feature flag|onboarding form"
    "|data warehouse|email template|image resizer|webhook handler|permission model|calendar sync|report builder"
    "|type checker|release notes|support inbox|load balancer|secret store|database migration|usage dashboard"
    "|translation file|test fixture|vendor contract|sales forecast|garden irrigation|bread recipe|marathon training"
    "|piano practice|kitchen renovation|family reunion|tax return"
).split("|")
PEOPLE = (
    "Amara Bruno Chiyo Dmitri Elif Farid Greta Hana Ivo Jun Kofi Lena Mateo Nadia Oskar Priya Quinn Rosa Sven Tomas"
)
PLACES = "Lisbon Nairobi Oslo Quito Riga Sapporo Tbilisi Utrecht Valparaiso Winnipeg".split()
REASONS = (
    "the old one timed out under load|customers kept asking for it|nobody could read the previous version"
    "|the audit found a gap|it costs a third of what we paid before|the vendor ends its support in autumn"
    "|two teams had solved it twice|it broke on every leap day|the numbers never matched|the manual said otherwise"
).split("|")
MEMORIES = (
    "{person} decided to move the {topic} to {place} because {reason}.",
    "The {topic} must never run before {hour}:00 since {reason}; {person} confirmed it in the meeting in {place}.",
    "Prefer version {number} of the {topic}, as {reason}.",
    "When the {topic} fails, restart it first, then look at ticket {number}, and tell {person} about it.",
    "{person} likes short answers about the {topic} and wants the figures of {place} before any explanation.",
    "We measured the {topic} at {number} requests a minute in {place}; {reason}, so {person} raised the limit to"
    " {other} and asked for a note in the handbook of the {second}.",
    "The {topic} depends on the {second}, and {person} owns both until release {number}.",
)
QUESTIONS = (
    "who looks after the {topic} in {place}?",
    "why was the {topic} changed, was it that {reason}?",
    "what should I do when the {topic} fails with code {number}?",
    "which version of the {topic} does {person} want?",
    "how does the {topic} depend on the {second} at {hour} o'clock?",
)


def memories(count: int, seed: int) -> list[str]:
    return filled(MEMORIES, count, Random(f"memories {seed}"))


def questions(count: int, seed: int) -> list[str]:
    return filled(QUESTIONS, count, Random(f"questions {seed}"))


def filled(templates: tuple[str, ...], count: int, random: Random) -> list[str]:
    people = PEOPLE.split()
    return [
        random.choice(templates).format(
            person=random.choice(people),
            topic=random.choice(TOPICS),
            second=random.choice(TOPICS),
            place=random.choice(PLACES),
            reason=random.choice(REASONS),
            hour=random.randint(1, 23),
            number=random.randint(100, 99_999),
            other=random.randint(100, 99_999),
        )
        for _ in range(count)
    ]
