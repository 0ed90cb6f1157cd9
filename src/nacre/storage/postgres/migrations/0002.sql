-- How many neighbours a search in the index of a large space's vectors looks at (hnsw.ef_search), as measured when the
-- index was built; 0: there is none, and all vectors of the space are compared.
ALTER TABLE spaces ADD COLUMN effort bigint NOT NULL DEFAULT 0;
