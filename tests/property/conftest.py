"""Property tests on PostgreSQL, in the slow set: those with `stored_in` or with a parameter `postgres` of their own.

Not there: `test_archives`, `test_fence` and `test_lessons`, which are about texts and files that come out of a store,
whichever it is, and need a new store for each of many examples; `test_records` and `test_vectors`, which are about the
rows of a file (`test_backends_agree` compares those of a database); and all that opens no store.
"""

from __future__ import annotations

from tests.stores_in_postgres import stored_in as stored_in
