"""What a question costs, in the published units: a full scan is ten times a look-up, an unbounded answer twenty."""

BASE = 1
FULL_SCAN = 10
JOIN = 5
SUBQUERY = 3
ORDERED = 2
NO_LIMIT = 20
