/** The values of the REST API, as far as the page reads them. Times are seconds since 1970. */
export interface Link {
  to: string;
  rel: string;
  weight: number;
  data: Record<string, unknown>;
}

export interface Memory {
  id: string;
  text: string;
  space: string;
  agent: string;
  title: string;
  type: string;
  tags: string[];
  contexts: string[];
  entities: string[];
  source: string;
  source_notes: string;
  metadata: Record<string, unknown>;
  importance: number;
  confidence: number;
  trust: number;
  pinned: boolean;
  session: string;
  role: string;
  created_at: number;
  updated_at: number;
  occurred_at: number | null;
  valid_from: number | null;
  valid_until: number | null;
  expires_at: number | null;
  access_count: number;
  last_validated_at: number | null;
  status: string;
  superseded_by: string;
  links: Link[];
  version: number;
  date: string;
}

/** What a remember or an edit did. */
export interface RememberResult {
  memory: Memory;
  outcome: "stored" | "known" | "merged" | "replaced" | "replaced_by_known";
  noted: boolean;
  notes: string[];
}

export interface Reason {
  signal: string;
  score: number;
  detail: string;
}

export interface Counterpart {
  id: string;
  at: number;
  newer: boolean;
  kind: string;
  text: string;
  is_hit: boolean;
}

export interface Hit {
  memory: Memory;
  score: number;
  why: Reason[];
  relevance: number;
  collapsed: string[];
  was: Memory | null;
  conflicts: Counterpart[];
  strength: "strong" | "fair" | "weak";
}

export interface Recollection {
  hits: Hit[];
  notes: string[];
  nearest: Hit | null;
  calibrated: boolean;
}

export interface Pack {
  items: { memory: Memory; tokens: number }[];
  text: string;
  used_tokens: number;
  budget: number;
  truncated: boolean;
  notes: string[];
}

export interface Listing {
  memories: Memory[];
  cursor: string;
}

export interface Operation {
  name: string;
  actor: string;
  at: number;
  batch: string;
  why: string;
}

export type Fields = Record<string, unknown>;

export interface JournalEntry {
  seq: number;
  operation: Operation;
  memory_id: string;
  before: Fields | null;
  after: Fields | null;
  kind: string;
  damaged: boolean;
}

export interface OperationNote {
  operation: Operation;
  count: number;
  memory_ids: string[];
  seq: number;
  undone: boolean;
}

export interface OperationStatus {
  operation: Operation;
  entries: JournalEntry[];
  count: number;
  undoable: boolean;
  reason: string;
  blocked_by: Operation[];
}

export interface Transition {
  old: string;
  new: string;
  before: string;
  after: string;
  at: number;
  operation: string;
  why: string;
}

export interface History {
  versions: Memory[];
  transitions: Transition[];
}

export interface Neighbor {
  memory: Memory;
  rel: string;
  direction: "out" | "in";
  depth: number;
  weight: number;
}

export interface Edge {
  source: string;
  target: string;
  rel: string;
  weight: number;
}

export interface Graph {
  nodes: Record<string, Memory>;
  edges: Edge[];
  dangling: string[];
}

/** Memories and links by columns: `sources`, `targets` and `rels` are places in `ids` and in `relations`. */
export interface Drawing {
  ids: string[];
  titles: string[];
  texts: string[];
  types: string[];
  relations: string[];
  sources: number[];
  targets: number[];
  rels: number[];
  cut: boolean;
}

export interface Conflict {
  a: Memory;
  b: Memory;
  similarity: number;
  kind: string;
  reason: string;
  words: [string, string];
  sure: boolean;
}

export interface ReviewItem {
  id: string;
  kind: "conflict" | "unvalidated" | "stale" | "word" | "entity";
  why: string;
  memory: Memory | null;
  conflict: Conflict | null;
  word: string;
  names: string[];
  decisions: string[];
}

export interface TimelineBucket {
  start: number;
  day: string;
  created: number;
  changes: number;
  forgotten: number;
}

export interface Stats {
  space: string;
  total: number;
  active: number;
  superseded: number;
  archived: number;
  trashed: number;
  by_type: Record<string, number>;
  top_tags: Record<string, number>;
  waiting_for_model: number;
  embedder: string;
  bytes_on_disk: number;
  growth: Record<string, number>;
}

export interface Health {
  schema: number;
  memories: number;
  chunks: number | null;
  vectors: number | null;
  pending: number;
  bytes_on_disk: number;
  embedder: string;
  problems: string[];
  damage: string[];
  notes: string[];
}

export interface Entity {
  name: string;
  aliases: string[];
  count: number;
}

export interface SpaceNote {
  name: string;
  memories: number;
  description: string;
}

export interface Session {
  user: string | null;
  role: "reader" | "writer" | "reviewer" | "admin";
  spaces: string[];
  space: string;
  version: string;
}

export interface Finding {
  check: string;
  level: "ok" | "warning" | "problem";
  message: string;
  fixed_by: "" | "catch_up" | "reindex" | "repair";
}

export interface Job<T> {
  id: string;
  kind: string;
  state: "running" | "done" | "failed" | "lost";
  done: number;
  total: number;
  what: string;
  result: T | null;
  error: { title?: string; detail?: string; remedy?: string } | null;
}

export interface Imported {
  kind: string;
  dry_run: boolean;
  new: number;
  changed: number;
  unchanged: number;
  removed: number;
  broken: number;
  files: number;
  left_out: Record<string, number>;
  faults: string[];
  notes: string[];
  operations: string[];
}

export interface FileFormats {
  imported: string[];
  exported: string[];
}

export interface Setting {
  key: string;
  group: string;
  about: string;
  type: string;
  values: string[];
  example: string;
  default: string | number | boolean;
  value: string | number | boolean | null;
  source: string;
  secret: boolean;
}

export interface UpkeepJob {
  job: string;
  every: number | null;
  last_at: number | null;
  next_at: number | null;
  done: number;
  error: string;
  would: string;
}

export interface Upkeep {
  holder: string;
  jobs: UpkeepJob[];
  fading: [number, number][];
  floor: number;
}

export interface Backup {
  name: string;
  made_at: number;
  bytes_on_disk: number;
  replaced: boolean;
}

export interface InjectionDay {
  day: string;
  times: number;
  memories: number;
  tokens: number;
}
