"""Makes pairs that differ in one place: another value of one thing, one more thing, or another thing altogether.

Authors who write pairs by hand rarely write them, since they seem too easy; a head that never saw them takes every two
texts of one form for two things. They are what the head `one_place` learns from.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

SEED = 20261116
EACH = 10  # pairs of each form
VALUES = {
    "number": "2 3 4 5 6 8 9 10 12 15 20 24 30 40 45 50 60 64 80 90 100 120 128 200 250 256 300 443 500 512 3000 8080",
    "version": "1.4 2.0 2.8.1 2.9.0 3.10 3.11 3.12 3.13 4.2 5.0 14 15 16 17 18 20 22 v2 v3 v4",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "date": "3_March 8_May 15_May 2_June 11_July 30_August 1_October 24_November",
    "clock": "7:30 8_am 9:15 10:00 noon 14:00 3_pm 16:30 18:00 8_pm 22:00",
    "city": "Oslo Lisbon Gdansk Lyon Porto Vienna Geneva Kyoto Boston Ghent Leeds Turin Riga Malmö Cork Basel Graz",
    "person": "Anna Tom Mira Jonas Priya Kwame Elif Marco Ines Yuki Olga Ben Lucía Farid Greta Noor Pavel Chloe",
    "surname": "Anna_Berg Tom_Weiss Mira_Novak Priya_Nair Kwame_Mensah Elif_Kaya Ines_Costa Pavel_Horak Greta_Lind",
    "linter": "ruff flake8 pylint eslint biome",
    "database": "Postgres MySQL SQLite MongoDB DuckDB MariaDB",
    "bundler": "webpack Vite esbuild Rollup Parcel",
    "ci": "Jenkins GitHub_Actions GitLab_CI CircleCI Buildkite",
    "cloud": "AWS Azure Hetzner Google_Cloud our_own_rack",
    "editor": "Vim Emacs VS_Code PyCharm Zed",
    "language": "French German Spanish Polish Italian Japanese Turkish Dutch",
    "colour": "red green blue grey white black yellow",
    "drink": "tea coffee water juice cocoa",
    "animal": "dogs cats horses snakes spiders birds",
    "room": "kitchen bathroom hallway attic cellar garage bedroom",
    "service": "billing search login checkout mail export",
    "chat": "Slack Teams Discord Zulip Matrix",
    "paper": "A4 A5 Letter",
    "side": "staging production development",
    "font": "Garamond Source_Serif Inter Georgia Futura",
    "team": "design platform support sales data",
    "manager": "npm pnpm yarn bun",
    "tool": "ruff flake8 black pylint isort eslint prettier pytest tox make cmake docker podman curl wget nox",
    "task": "linting formatting testing building deploys logging releases reviews backups",
    "place": "office shop warehouse headquarters lab branch school club archive",
}
# What has one value at a time: the later text tells the present one.
UPDATE = """
Use {tool} for {=task}. | We do {=task} with {tool}. | {tool} is our tool for {=task} | The {=place} is in {city}
Our {=place} is now in {city}. | The {=place} opens at {clock} | For {=task} we rely on {tool}. | {=person} is in charge
 of {task}. | The capital of the league is {city} | Die {=place} GmbH sitzt in {city}. | Use the {colour} button for
 {=task}
The port of the server is {number} | We use Python {version}. | Use {linter} for linting | The deadline is {day}.
The {=service} database is {database}. | Bundling is done by {bundler}. | {=person} lives in {city}.
Our CEO is {surname}. | Photos are stored on {cloud}. | CI runs on {ci}. | The gym costs {number} euros a month.
Timeout of the {=service} service: {number} s | Default editor: {editor} | Line length limit: {number}
Latest release: {version} | The stand-up is at {clock}. | {=person} works in the {team} team. | Favourite drink: {drink}
The {=room} is painted {colour}. | {=person}'s phone extension is {number}. | Reports are printed on {paper}.
The office is in {city}. | We talk in {chat}. | {=person} sits next to {person}. | House font is {font}.
Backups run at {clock} every night. | The dentist appointment is on {date}. | The rent is {number} euros.
Package manager: {manager} | The team has {number} people. | max_connections = {number} | The cat sleeps in the {room}.
Deploys go out on {day}. | The landlord is {surname}. | Node {version} is required. | The bike is {colour}.
Unser Server läuft auf {cloud}. | {=person} wohnt in {city}. | Le serveur écoute sur le port {number}.
El plazo es el {date}. | Die Miete beträgt {number} Euro. | {=person} habite à {city}. | Reunión a las {clock}.
"""
# What happened or always was so: of two accounts one is wrong.
CONTRADICTION = """
{=person} was born in {city}. | The treaty was signed in {city}. | We adopted the cat on {date}. | {=person} was born on
 {date}. | The first release was written in {city}. | The invoice of 2 June was for {number} euros. | {=person} won the
 race in {number} minutes. | The house was built by {surname}. | Grandfather came from {city}. | The accident of last
 Sunday happened at {clock}. | The contract was signed by {surname}. | {=person} wurde in {city} geboren.
"""
# What adds up, and what is said of something else.
UNRELATED = """
{=person} speaks {language}. | {=person} is afraid of {animal}. | {person} likes {=drink}. | {person} lives in {=city}.
The {side} database runs Postgres {=version}. | The {service} service listens on {=number}. | {=person} has been to
 {city}. | {=person} owns a {colour} shirt. | Room {number} has a projector. | Bus {number} leaves at {=clock}.
 PR #{number} fixes the upload. | The {room} window is shut. | {=person} met {person} in {=city}. | Sprint {number} is
 done. | The {team} team uses {=chat}. | {=person} ran a marathon in {city}. | Ticket {number} is closed. | The {side}
 timeout is {=number} s. | {person}'s birthday is on {=date}. | The {colour} folder is for {=person}. | Invoice
 {number} is paid. | The {service} job starts at {=clock}. | {=person} collects stamps from {city}. | {=person} spricht
 {language}. | {person} trinkt {=drink}. | La ventana de la {room} está cerrada. | Step {number} takes an hour.
"""
# The same in another word.
DUPLICATE = """
The meeting {starts/begins} at {=clock} | We {bought/purchased} the {=place} in March | The {car/automobile} is
 {=colour}
The {=place} is {big/large} | {=person} {lives/resides} in {=city}. | {=person} likes the {film/movie} about {=city}.
{=person} has {three/3} {=animal}. | The {kids/children} like {=drink}. | {photos/pictures} of the {=place} are in the
 folder
The {=service} job {ends/finishes} at {=clock}. | {fix/repair} the door of the {=room} | {=person} is {ill/sick}.
The {shop/store} is {shut/closed} on {=day}. | {=person} {speaks/talks} fast. | The {=service} {error/fault} is old.
The trip takes {two/2} hours. | {=person} is a {doctor/physician} in {=city}. | {often/frequently} the {=room} is cold.
"""
EITHER = re.compile(r"{([^{}/]+)/([^{}/]+)}")


def made() -> Iterator[dict[str, str]]:
    """The pairs of one form follow each other, `EACH` of them."""
    chance = random.Random(SEED)
    for label, forms in (
        ("update", UPDATE),
        ("contradiction", CONTRADICTION),
        ("unrelated", UNRELATED),
        ("duplicate", DUPLICATE),
    ):
        for form in re.split(r"\||\n(?! )", forms.strip()):
            yield from (pair(" ".join(form.split()), label, chance) for _ in range(EACH))


def pair(form: str, label: str, chance: random.Random) -> dict[str, str]:
    """A slot with = has one value in both texts, any other has two; {one/other} stands for two words of one meaning."""
    old, new = EITHER.sub(r"\1", form), EITHER.sub(r"\2", form)
    old, new = (new, old) if chance.random() < 0.5 else (old, new)
    for kind, values in VALUES.items():
        both = chance.choice(values.split()).replace("_", " ")
        old, new = (text.replace(f"{{={kind}}}", both) for text in (old, new))
        free = [value.replace("_", " ") for value in values.split() if value.replace("_", " ") != both]
        one, other = chance.sample(free, 2)
        old, new = old.replace(f"{{{kind}}}", one), new.replace(f"{{{kind}}}", other)
    return {"old": old, "new": new, "label": label}
