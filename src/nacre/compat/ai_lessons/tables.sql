-- The tables of ai-lessons, which a copy of the current lessons is read from.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE confidence_levels(name TEXT PRIMARY KEY, ordinal INTEGER);
CREATE TABLE source_types(name TEXT PRIMARY KEY, description TEXT, typical_confidence TEXT);
CREATE TABLE lessons(id TEXT PRIMARY KEY, title TEXT, content TEXT, confidence TEXT, source TEXT, source_notes TEXT, created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE lesson_tags(lesson_id TEXT, tag TEXT);
CREATE TABLE lesson_contexts(lesson_id TEXT, context TEXT, applies BOOLEAN);
CREATE TABLE edges(from_id TEXT, to_id TEXT, relation TEXT);
CREATE TABLE tag_relations(from_tag TEXT, to_tag TEXT, relation TEXT);
CREATE TABLE lesson_embeddings(lesson_id TEXT PRIMARY KEY, embedding BLOB);

CREATE INDEX idx_lesson_tags_tag ON lesson_tags(tag);
CREATE INDEX idx_lesson_tags_lesson ON lesson_tags(lesson_id);
CREATE INDEX idx_lesson_contexts_context ON lesson_contexts(context);
CREATE INDEX idx_edges_from ON edges(from_id);
CREATE INDEX idx_edges_to ON edges(to_id);
CREATE INDEX idx_lessons_created ON lessons(created_at);
CREATE INDEX idx_lessons_updated ON lessons(updated_at);
