-- The first schema. Every key begins with the number of a space, so that all rows of a space lie in one partition of
-- each table. Texts compare by code points (COLLATE "C"), as Python does. JSON is stored as text: the types of the
-- server would change numbers and refuse some characters.

CREATE TABLE meta(key text PRIMARY KEY, value text);

-- A space, and what is counted of it after its last journal entry. Its row is locked by who writes to the space. The
-- columns with `dropped` are of the last entry that was compacted away; `latest` is the highest time of creation or
-- change that a version ever had; `stems` sums the lengths of versions; `memory_key`, `content_number` and `chunk_number`
-- are the last numbers given. `effort` is how many neighbours a search in the index of a large space's vectors looks at
-- (hnsw.ef_search), as measured when the index was built; 0: there is none, and all vectors of the space are compared.
CREATE TABLE spaces(
    space_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE,
    seq bigint NOT NULL DEFAULT 0, last_at double precision NOT NULL DEFAULT 0,
    dropped bigint NOT NULL DEFAULT 0, dropped_at double precision NOT NULL DEFAULT 0,
    dropped_memories bigint NOT NULL DEFAULT 0, dropped_stems bigint NOT NULL DEFAULT 0,
    memories bigint NOT NULL DEFAULT 0, stems bigint NOT NULL DEFAULT 0, latest double precision NOT NULL DEFAULT 0,
    memory_key bigint NOT NULL DEFAULT 0, content_number bigint NOT NULL DEFAULT 0, chunk_number bigint NOT NULL DEFAULT 0,
    effort bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- A memory's id, and its use. `gone` is 0 while it exists, else its own key, so that its id can be used again.
CREATE TABLE memory(
    space_id bigint NOT NULL, key bigint NOT NULL, id text COLLATE "C" NOT NULL, gone bigint NOT NULL DEFAULT 0,
    last_accessed double precision NOT NULL, access_count bigint NOT NULL,
    PRIMARY KEY (space_id, key), UNIQUE (space_id, id, gone)
) PARTITION BY HASH (space_id);
CREATE INDEX ON memory(space_id, last_accessed, key);

-- The texts from which words and vectors are derived. `words` are the stems of title, text and role, a line each.
CREATE TABLE content(
    space_id bigint NOT NULL, number bigint NOT NULL, text text COLLATE "C" NOT NULL, title text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL, asks boolean NOT NULL, words text, pending boolean NOT NULL,
    PRIMARY KEY (space_id, number)
) PARTITION BY HASH (space_id);
CREATE INDEX ON content(space_id, number) WHERE pending;

-- Each state that was written, from journal entry `seq_from` until before `seq_to`, which is the largest number for the
-- present one: one condition finds the versions of every state. `stems` are those of tags and entities, a line each;
-- `length` counts all stems.
CREATE TABLE version(
    space_id bigint NOT NULL, key bigint NOT NULL, seq_from bigint NOT NULL,
    seq_to bigint NOT NULL DEFAULT 9223372036854775807, content bigint NOT NULL, version bigint NOT NULL,
    agent text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, source text COLLATE "C" NOT NULL,
    source_notes text COLLATE "C" NOT NULL, importance double precision NOT NULL, salience double precision NOT NULL,
    confidence double precision NOT NULL, polarity bigint NOT NULL, trust double precision NOT NULL, pinned boolean NOT NULL,
    valence double precision, arousal double precision, session text COLLATE "C" NOT NULL, position bigint,
    created_at double precision NOT NULL, updated_at double precision NOT NULL, occurred_at double precision,
    valid_from double precision, valid_until double precision, expires_at double precision,
    last_validated_at double precision, status text COLLATE "C" NOT NULL, trashed_from text COLLATE "C" NOT NULL,
    superseded_by text COLLATE "C" NOT NULL, superseded_at double precision,
    lists text NOT NULL, stems text NOT NULL, length bigint NOT NULL,
    PRIMARY KEY (space_id, key, seq_from)
) PARTITION BY HASH (space_id);
CREATE INDEX ON version(space_id, content);
CREATE INDEX ON version(space_id, created_at, key);
CREATE INDEX ON version(space_id, updated_at, key);
CREATE INDEX ON version(space_id, importance, created_at, key);
CREATE INDEX ON version(space_id, confidence, created_at, key);
CREATE INDEX ON version(space_id, type, key);
CREATE INDEX ON version(space_id, status, key);
CREATE INDEX ON version(space_id, session, position) WHERE session <> '';
CREATE INDEX ON version(space_id, superseded_by) WHERE superseded_by <> '';
CREATE INDEX ON version(space_id, occurred_at) WHERE occurred_at IS NOT NULL;
CREATE INDEX ON version(space_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX ON version(space_id, trust) WHERE trust < 1;

-- Names in the lists of a memory, and the stems of its tags and entities; `times` is how often one is in the list.
CREATE TABLE label(
    space_id bigint NOT NULL, field text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, key bigint NOT NULL,
    seq_from bigint NOT NULL, seq_to bigint NOT NULL DEFAULT 9223372036854775807, times bigint NOT NULL,
    PRIMARY KEY (space_id, field, name, key, seq_from)
) PARTITION BY HASH (space_id);
CREATE INDEX ON label(space_id, key);

CREATE TABLE link(
    space_id bigint NOT NULL, target text COLLATE "C" NOT NULL, rel text COLLATE "C" NOT NULL, key bigint NOT NULL,
    seq_from bigint NOT NULL, seq_to bigint NOT NULL DEFAULT 9223372036854775807, weight double precision NOT NULL,
    walks bigint NOT NULL DEFAULT 0, kind text COLLATE "C" NOT NULL, PRIMARY KEY (space_id, target, rel, key, seq_from)
) PARTITION BY HASH (space_id);
CREATE INDEX ON link(space_id, key);
CREATE INDEX ON link(space_id, rel);

-- Counts of the present state, by status; those with a time of expiry are not counted. The field `term` counts the memories that have a stem.
CREATE TABLE counter(
    space_id bigint NOT NULL, field text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL, n bigint NOT NULL, PRIMARY KEY (space_id, field, status, name)
) PARTITION BY HASH (space_id);

-- On which contents a stem is, and how often, times the weight of the field. A B-tree and no GIN: a search reads the
-- newest contents of a stem with their frequencies in the order of the key, which a GIN does not have. Not measured yet.
CREATE TABLE posting(
    space_id bigint NOT NULL, term text COLLATE "C" NOT NULL, content bigint NOT NULL, frequency real NOT NULL,
    PRIMARY KEY (space_id, term, content)
) PARTITION BY HASH (space_id);

-- Pieces of a content, with their vectors once they are computed. All vectors of a space are compared. The table is
-- partitioned by a list first, so that a large space can be given a partition of its own with an index of vectors.
CREATE TABLE chunk(
    space_id bigint NOT NULL, number bigint NOT NULL, content bigint NOT NULL, start bigint NOT NULL, stop bigint NOT NULL,
    digest bytea NOT NULL, embedding halfvec, PRIMARY KEY (space_id, number)
) PARTITION BY LIST (space_id);
CREATE INDEX ON chunk(space_id, content);
CREATE INDEX ON chunk(digest);
CREATE TABLE chunk_shared PARTITION OF chunk DEFAULT PARTITION BY HASH (space_id);

-- `before` and `after` are the images. `latest`, `memories` and `stems` are those of the space after the entry. Times
-- never fall. The name of the space is not stored in an image: it may change.
CREATE TABLE journal(
    space_id bigint NOT NULL, seq bigint NOT NULL, memory_id text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL,
    act text COLLATE "C" NOT NULL, actor text COLLATE "C" NOT NULL, at double precision NOT NULL,
    batch text COLLATE "C" NOT NULL, why text NOT NULL, before text, after text, latest double precision NOT NULL,
    memories bigint NOT NULL, stems bigint NOT NULL, PRIMARY KEY (space_id, seq)
) PARTITION BY HASH (space_id);
CREATE INDEX ON journal(space_id, memory_id, seq);
CREATE INDEX ON journal(space_id, batch, seq);
CREATE INDEX ON journal(space_id, at);

CREATE TABLE vocabulary(
    kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, data text NOT NULL, PRIMARY KEY (kind, name)
);

DO $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['memory', 'content', 'version', 'label', 'link', 'counter', 'posting', 'journal', 'chunk_shared'] LOOP
        FOR part IN 0..7 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 8, REMAINDER %s)',
                parent || '_' || part, parent, part);
            IF parent = 'counter' THEN -- every write changes some of its rows: room for the new ones on the same page
                EXECUTE format('ALTER TABLE %I SET (fillfactor = 70)', parent || '_' || part);
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- A transaction says which spaces it works on, by their numbers and by their names; * means all of them. Nothing of any
-- other space can be read or written, also where a statement forgets to ask for its space. The selects around the
-- functions make the server evaluate them once for a statement and not for each row. A session that never chose spaces
-- would see nothing, and pg_dump would write an empty copy and say nothing: that is an error, which says how to see every
-- space.
CREATE FUNCTION every_space() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
BEGIN
    IF current_setting('nacre.spaces', true) IS NULL THEN
        RAISE EXCEPTION 'this session has chosen no space of the memory, and would see nothing of it'
            USING HINT = 'Set PGOPTIONS to "-c nacre.spaces=*" to see every space, also for pg_dump.';
    END IF;
    RETURN current_setting('nacre.spaces', true) = '*';
END $$;
CREATE FUNCTION chosen_spaces() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN s IN ('', '*') THEN '{}' ELSE s::bigint[] END FROM coalesce(current_setting('nacre.spaces', true), '') AS s $$;
CREATE FUNCTION chosen_names() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN s = '' THEN '{}' ELSE s::text[] END FROM coalesce(current_setting('nacre.names', true), '') AS s $$;
DO $$
DECLARE
    parent text;
    own CONSTANT text := '(SELECT every_space()) OR space_id = ANY ((SELECT chosen_spaces())::bigint[])';
BEGIN
    FOREACH parent IN ARRAY ARRAY['memory', 'content', 'version', 'label', 'link', 'counter', 'posting', 'journal', 'chunk'] LOOP
        EXECUTE format('CREATE POLICY own_spaces ON %I USING (%s)', parent, own);
    END LOOP;
    CREATE POLICY own_spaces ON spaces
        USING ((SELECT every_space()) OR name = ANY ((SELECT chosen_names())::text[]));
    CREATE POLICY own_spaces ON vocabulary USING (
        (SELECT every_space()) OR strpos(kind, '/') = 0
        OR substr(kind, strpos(kind, '/') + 1) = ANY ((SELECT chosen_names())::text[])
    );
    CREATE POLICY everybody ON meta USING (true);
END $$;
DO $$
DECLARE
    each regclass;
BEGIN
    FOR each IN SELECT oid FROM pg_class WHERE relnamespace = 'nacre'::regnamespace AND relkind IN ('r', 'p')
        AND relname <> 'migrations' LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', each);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', each);
    END LOOP;
END $$;
-- pg_dump reads each partition by its own name, where the policies of the table do not count: without one of its own, a
-- partition shows nothing. So the owner of the tables can copy them with pg_dump --enable-row-security.
DO $$
DECLARE
    each regclass;
BEGIN
    FOR each IN SELECT oid FROM pg_class WHERE relnamespace = 'nacre'::regnamespace AND relkind IN ('r', 'p') AND relispartition LOOP
        EXECUTE format('CREATE POLICY every_space ON %s USING ((SELECT every_space()))', each);
    END LOOP;
END $$;
