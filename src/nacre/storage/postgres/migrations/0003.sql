-- So that the owner of the tables can copy them with pg_dump --enable-row-security, and never a part of them only.
--
-- A session that never chose spaces would see nothing, and pg_dump would write an empty copy and say nothing. Now that is
-- an error, which says how to see every space.
CREATE OR REPLACE FUNCTION every_space() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
BEGIN
    IF current_setting('nacre.spaces', true) IS NULL THEN
        RAISE EXCEPTION 'this session has chosen no space of the memory, and would see nothing of it'
            USING HINT = 'Set PGOPTIONS to "-c nacre.spaces=*" to see every space, also for pg_dump.';
    END IF;
    RETURN current_setting('nacre.spaces', true) = '*';
END $$;
-- pg_dump reads each partition by its own name, where the policies of the table do not count: without one of its own, a
-- partition shows nothing.
DO $$
DECLARE
    each regclass;
BEGIN
    FOR each IN SELECT oid FROM pg_class WHERE relnamespace = 'nacre'::regnamespace AND relkind IN ('r', 'p') AND relispartition LOOP
        EXECUTE format('CREATE POLICY every_space ON %s USING ((SELECT every_space()))', each);
    END LOOP;
END $$;
