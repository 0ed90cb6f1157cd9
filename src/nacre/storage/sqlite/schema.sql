-- Columns with values of memories have no declared type on purpose: a declared one would turn "5" into 5 in
-- comparisons, and a filter would mean one thing here and another in Python.

CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('vector_epoch', 0);

-- A space, and what was counted of it after the journal entry `seq`, whose time is `last_at`: a later entry says this
-- itself, and the view `present` takes it from the last one. `dropped` and the other columns with `dropped` are of the
-- last entry that was compacted away; `latest` is the highest time of creation or change that a version ever had;
-- `stems` sums the lengths of versions; `worded` counts the contents with words, of all states.
CREATE TABLE space(
    number INTEGER PRIMARY KEY AUTOINCREMENT, name NOT NULL UNIQUE,
    seq INTEGER NOT NULL DEFAULT 0, last_at REAL NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0, dropped_at REAL NOT NULL DEFAULT 0,
    dropped_memories INTEGER NOT NULL DEFAULT 0, dropped_stems INTEGER NOT NULL DEFAULT 0,
    memories INTEGER NOT NULL DEFAULT 0, stems INTEGER NOT NULL DEFAULT 0, latest REAL NOT NULL DEFAULT 0,
    worded INTEGER NOT NULL DEFAULT 0
);

-- A memory's id, and its use. `gone` is 0 while it exists, else its own key, so that its id can be used again.
CREATE TABLE memory(
    key INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, id, gone INTEGER NOT NULL,
    last_accessed, access_count, UNIQUE(space, id, gone)
);
CREATE INDEX memory_accessed ON memory(space, last_accessed);

-- The texts from which words and vectors are derived. `words` are the stems of title, text and role, a line each.
CREATE TABLE content(
    number INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, text, title, role,
    characters INTEGER NOT NULL, words TEXT, pending INTEGER NOT NULL
);
CREATE INDEX content_pending ON content(number) WHERE pending;

-- Each state that was written, from journal entry `seq_from` until `seq_to`, which is NULL for the present one. `stems`
-- are those of tags and entities, a line each; `length` counts all stems, `uses` is the use when it was written.
-- `row` is the number of the content in the first of its versions, and above 2 ** 40 in the others: a search finds the
-- version of a content by its number, without an index. `role` and `asks` (whether the text is a question) are of the
-- content: a search needs them, and nothing else of it.
-- `anchor` is the `seq_from` of the first of the versions in a row that have the same values in the partial indexes.
-- Only that one is in them, so that an edit of a tag touches none. A query finds it as `lead`, and by its key the
-- version of the state that is asked about.
CREATE TABLE version(
    row INTEGER PRIMARY KEY, key INTEGER NOT NULL, space INTEGER NOT NULL,
    seq_from INTEGER NOT NULL, seq_to INTEGER, anchor INTEGER NOT NULL, content INTEGER NOT NULL, version INTEGER NOT NULL,
    agent, type, source, source_notes, importance, salience, confidence, polarity, trust, pinned, valence, arousal,
    session, position, created_at, updated_at, occurred_at, valid_from, valid_until, expires_at, last_validated_at,
    status, trashed_from, superseded_by, superseded_at,
    lists TEXT NOT NULL, uses TEXT NOT NULL, stems TEXT NOT NULL, length INTEGER NOT NULL,
    role, asks INTEGER NOT NULL
);
CREATE UNIQUE INDEX version_key ON version(key, seq_from);
CREATE INDEX version_updated ON version(space, updated_at, key);
CREATE INDEX version_created ON version(space, created_at, key, seq_from, anchor) WHERE anchor = seq_from;
CREATE INDEX version_importance ON version(space, importance, created_at, key, seq_from, anchor) WHERE anchor = seq_from;
CREATE INDEX version_confidence ON version(space, confidence, created_at, key, seq_from, anchor) WHERE anchor = seq_from;
CREATE INDEX version_type ON version(space, type, key, seq_from, anchor) WHERE anchor = seq_from;
CREATE INDEX version_status ON version(space, status, key, seq_from, anchor) WHERE anchor = seq_from;
CREATE INDEX version_session ON version(space, session, position, key, seq_from, anchor)
    WHERE anchor = seq_from AND session <> '';
CREATE INDEX version_occurred ON version(space, occurred_at, key, seq_from, anchor)
    WHERE anchor = seq_from AND occurred_at IS NOT NULL;
CREATE INDEX version_expires ON version(space, expires_at, key, seq_from, anchor)
    WHERE anchor = seq_from AND expires_at IS NOT NULL;
CREATE INDEX version_trust ON version(space, trust, key) WHERE anchor = seq_from AND trust < 1;
CREATE INDEX version_validated ON version(space, last_validated_at, key)
    WHERE anchor = seq_from AND last_validated_at IS NOT NULL;
CREATE INDEX version_superseded ON version(space, superseded_by, key, seq_from, anchor)
    WHERE anchor = seq_from AND superseded_by <> '';

-- Names in the lists of a memory, and the stems of its tags and entities; `times` is how often one is in the list. The
-- names of a given memory are read from its versions.
CREATE TABLE label(
    space INTEGER NOT NULL, field TEXT NOT NULL, name NOT NULL, key INTEGER NOT NULL,
    seq_from INTEGER NOT NULL, seq_to INTEGER, times INTEGER NOT NULL, PRIMARY KEY(space, field, name, key, seq_from)
) WITHOUT ROWID;
CREATE TABLE link(
    space INTEGER NOT NULL, target NOT NULL, rel NOT NULL, key INTEGER NOT NULL,
    seq_from INTEGER NOT NULL, seq_to INTEGER, weight REAL NOT NULL, walks INTEGER NOT NULL, kind TEXT NOT NULL,
    PRIMARY KEY(space, target, rel, key, seq_from)
) WITHOUT ROWID;
CREATE INDEX link_key ON link(key);
-- The links of a relation and a kind in the order of their sources: a page of noted conflicts reads only that page.
CREATE INDEX link_rel ON link(space, rel, kind, key, target);

-- Counts of the present state. `status` is a memory's, with a star when it is superseded; those with a time
-- of expiry are not counted here, because time alone changes what they are. The field `term` counts the memories that
-- have a stem, of any status; `size` sums the bytes of experiences, by their type.
CREATE TABLE counter(
    space INTEGER NOT NULL, field TEXT NOT NULL, status TEXT NOT NULL, name NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY(space, field, status, name)
) WITHOUT ROWID;

CREATE TABLE chunk(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    content INTEGER NOT NULL, space INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
    digest BLOB NOT NULL, embedded INTEGER NOT NULL
);
CREATE INDEX chunk_content ON chunk(content);
CREATE INDEX chunk_digest ON chunk(digest);
CREATE INDEX chunk_waiting ON chunk(id) WHERE NOT embedded;

-- One vector a row: a search reads the few hundred that it compares exactly, and nothing else.
CREATE TABLE vector(
    chunk INTEGER PRIMARY KEY, space INTEGER NOT NULL, owner INTEGER NOT NULL, halves BLOB NOT NULL
);
CREATE INDEX vector_space ON vector(space);
-- Derived from them: sign bits, packed, and for each space what they are relative to. See search.py and signs.py.
CREATE TABLE signs(
    row INTEGER PRIMARY KEY, space INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,
    chunks BLOB NOT NULL, owners BLOB NOT NULL, bits BLOB NOT NULL
);
CREATE UNIQUE INDEX signs_last ON signs(space, last, count);
CREATE TABLE centre(
    number INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL UNIQUE, mean BLOB NOT NULL,
    vectors INTEGER NOT NULL, rescored INTEGER NOT NULL, chosen_from INTEGER NOT NULL
);
-- What was removed, so that a process that has the others in memory need not read them all again.
CREATE TABLE removed(seq INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, chunk INTEGER NOT NULL);

-- By content number. Every token begins with the number of its space, so that a search reads nothing of another one.
CREATE VIRTUAL TABLE word USING fts5(
    title, text, role, content='',
    tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* Co S*' tokenchars '_'"
);
INSERT INTO word(word, rank) VALUES ('secure-delete', 1);
-- The index follows the contents. To take a row out it needs every token that was put in.
CREATE TRIGGER content_inserted AFTER INSERT ON content WHEN new.words IS NOT NULL BEGIN
    INSERT INTO word(rowid, title, text, role) VALUES (new.number, tokens(new.space, new.words, 0),
        tokens(new.space, new.words, 1), tokens(new.space, new.words, 2));
    UPDATE space SET worded = worded + 1 WHERE number = new.space;
END;
CREATE TRIGGER content_deleted AFTER DELETE ON content WHEN old.words IS NOT NULL BEGIN
    INSERT INTO word(word, rowid, title, text, role) VALUES ('delete', old.number, tokens(old.space, old.words, 0),
        tokens(old.space, old.words, 1), tokens(old.space, old.words, 2));
    UPDATE space SET worded = worded - 1 WHERE number = old.space;
END;
CREATE TRIGGER content_reworded AFTER UPDATE OF words ON content WHEN old.words IS NOT NULL BEGIN
    INSERT INTO word(word, rowid, title, text, role) VALUES ('delete', old.number, tokens(old.space, old.words, 0),
        tokens(old.space, old.words, 1), tokens(old.space, old.words, 2));
    INSERT INTO word(rowid, title, text, role) VALUES (new.number, tokens(new.space, new.words, 0),
        tokens(new.space, new.words, 1), tokens(new.space, new.words, 2));
END;
CREATE TRIGGER content_worded AFTER UPDATE OF words ON content WHEN old.words IS NULL BEGIN
    INSERT INTO word(rowid, title, text, role) VALUES (new.number, tokens(new.space, new.words, 0),
        tokens(new.space, new.words, 1), tokens(new.space, new.words, 2));
    UPDATE space SET worded = worded + 1 WHERE number = new.space;
END;
CREATE VIRTUAL TABLE occurrence USING fts5vocab(word, instance);

-- `old` and `new` say whether the entry ended and began a version of the memory `key`, from which its images are made;
-- without a key, `before` and `after` hold the images. `latest`, `memories` and `stems` are those of the space after the
-- entry: a list of an earlier state begins at its `latest`, and not at the newest memory of all, and a search in it weighs
-- words by its counts. The times never fall. The entries of a memory are those that began and ended its versions; what
-- has no key is found by its name. An index on every entry would write one more page for each operation.
-- An entry's place is the number of its space, shifted by 40 bits, and its own: rows of a rowid table that come at its end
-- divide no page.
CREATE TABLE journal(
    place INTEGER PRIMARY KEY, memory_id TEXT NOT NULL, kind TEXT NOT NULL,
    act TEXT NOT NULL, actor TEXT NOT NULL, at REAL NOT NULL, batch TEXT NOT NULL, why TEXT NOT NULL,
    key INTEGER, old INTEGER, new INTEGER, before TEXT, after TEXT, latest REAL NOT NULL,
    memories INTEGER NOT NULL, stems INTEGER NOT NULL,
    space INTEGER AS (place >> 40) VIRTUAL, seq INTEGER AS (place & 0xffffffffff) VIRTUAL
);
CREATE INDEX journal_memory ON journal(space, memory_id) WHERE key IS NULL;
CREATE INDEX journal_batch ON journal(substr(batch, 1, 8));
CREATE VIEW present AS SELECT number, name, dropped, dropped_memories, dropped_stems,
    coalesce((SELECT journal.seq FROM journal WHERE place > (number << 40) + space.seq
        AND place < (number + 1) << 40 ORDER BY place DESC LIMIT 1), space.seq) AS seq,
    coalesce((SELECT journal.at FROM journal WHERE place > (number << 40) + space.seq
        AND place < (number + 1) << 40 ORDER BY place DESC LIMIT 1), space.last_at) AS last_at,
    coalesce((SELECT journal.latest FROM journal WHERE place > (number << 40) + space.seq
        AND place < (number + 1) << 40 ORDER BY place DESC LIMIT 1), space.latest) AS latest,
    coalesce((SELECT journal.memories FROM journal WHERE place > (number << 40) + space.seq
        AND place < (number + 1) << 40 ORDER BY place DESC LIMIT 1), space.memories) AS memories,
    coalesce((SELECT journal.stems FROM journal WHERE place > (number << 40) + space.seq
        AND place < (number + 1) << 40 ORDER BY place DESC LIMIT 1), space.stems) AS stems
    FROM space;

-- A new memory with all its rows, so that one statement writes them. `labels` are (field, name, times) in JSON, `chunks`
-- are (id, start, stop, digest in hex, embedded, vector in hex or null), `links` are (target, rel, weight, kind).
CREATE VIEW new_memory AS SELECT memory.id, last_accessed, access_count, text, title, characters, words, pending,
    version.*, NULL AS labels, NULL AS chunks, NULL AS links FROM version JOIN memory USING (key)
    JOIN content ON content.number = version.content;
CREATE TRIGGER new_memory_inserted INSTEAD OF INSERT ON new_memory BEGIN
    INSERT INTO memory(key, space, id, gone, last_accessed, access_count)
        VALUES (new.key, new.space, new.id, 0, new.last_accessed, new.access_count);
    INSERT INTO content(number, space, text, title, role, characters, words, pending) VALUES (new.content,
        new.space, new.text, new.title, new.role, new.characters, new.words, new.pending);
    INSERT INTO version VALUES (new.content, new.key, new.space, new.seq_from, NULL, new.anchor, new.content, new.version,
        new.agent, new.type, new.source, new.source_notes, new.importance, new.salience, new.confidence,
        new.polarity, new.trust, new.pinned, new.valence, new.arousal, new.session, new.position, new.created_at,
        new.updated_at, new.occurred_at, new.valid_from, new.valid_until, new.expires_at, new.last_validated_at,
        new.status, new.trashed_from, new.superseded_by, new.superseded_at, new.lists, new.uses, new.stems, new.length,
        new.role, new.asks);
    INSERT INTO label(space, field, name, key, seq_from, times)
        SELECT new.space, value ->> 0, value ->> 1, new.key, new.seq_from, value ->> 2 FROM json_each(new.labels);
    INSERT INTO chunk(id, content, space, start, stop, digest, embedded)
        SELECT value ->> 0, new.content, new.space, value ->> 1, value ->> 2, unhex(value ->> 3), value ->> 4
        FROM json_each(new.chunks);
    INSERT INTO vector(chunk, space, owner, halves)
        SELECT value ->> 0, new.space, new.content, unhex(value ->> 5) FROM json_each(new.chunks)
        WHERE value ->> 5 IS NOT NULL;
    INSERT INTO link(space, target, rel, key, seq_from, weight, kind, walks)
        SELECT new.space, value ->> 0, value ->> 1, new.key, new.seq_from, value ->> 2, value ->> 3, 0
        FROM json_each(new.links);
END;

CREATE TABLE vocabulary(kind TEXT NOT NULL, name TEXT NOT NULL, data TEXT, PRIMARY KEY(kind, name)) WITHOUT ROWID;

-- Damaged records that were moved aside: what could be read of each, column by column, in JSON.
CREATE TABLE quarantine(
    number INTEGER PRIMARY KEY, space TEXT NOT NULL, id TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL,
    columns TEXT NOT NULL
);
