/** Journal: every operation, what it changed, and how to take it back. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ask, get } from "../api";
import { Changes, deed, DEEDS, Empty, ErrorNote, Field, firstWords, memoryLink, minuteOf, plural, shortId, useLoaded, Waiting } from "../parts";
import { api, changed, mayUndo, route, sessionEnded, setOptions, space, to, undo } from "../state";
import type { Memory, OperationNote, OperationStatus } from "../types";

const PAGE = 50;
const MOST_TEXTS = 1_000; // that are asked for at once

export function JournalView() {
  const batch = route.value.args[0];
  return batch ? <OperationView batch={batch} /> : <Operations />;
}

function Operations() {
  const options = route.value.options;
  const [actor, kind, since, until] = ["actor", "kind", "since", "until"].map((name) => options.get(name) ?? "");
  const notes = useSignal<OperationNote[]>([]);
  const next = useSignal<number | null>(null);
  const error = useSignal<unknown>(undefined);
  const loading = useSignal(true);

  async function load(before: number | null, stop?: AbortSignal): Promise<void> {
    loading.value = true;
    try {
      const query = { limit: PAGE, actor, operation: kind, since, until, before: before ?? undefined };
      const read = await get<OperationNote[]>(api`/operations`, query, stop);
      if (stop?.aborted) return;
      notes.value = stop ? read : [...notes.value, ...read];
      next.value = read.length < PAGE ? null : (read.at(-1)?.seq ?? null);
      error.value = undefined;
    } catch (failed) {
      if (stop?.aborted) return;
      sessionEnded(failed);
      error.value = failed;
    }
    loading.value = false;
  }

  useEffect(() => {
    const stop = new AbortController();
    void load(null, stop.signal);
    return () => stop.abort();
  }, [actor, kind, since, until, changed.value]);

  const ids = [...new Set(notes.value.flatMap((note) => note.memory_ids.slice(0, 1)))].slice(0, MOST_TEXTS);
  const texts = useLoaded(async (stop) => {
    if (!ids.length) return {};
    const read = await ask<Memory[]>(api`/memories/read`, { ids }, stop);
    return Object.fromEntries(read.map((each) => [each.id, each.title || each.text]));
  }, [ids], false);
  const set = (name: string) => (event: { currentTarget: { value: string } }) => setOptions({ [name]: event.currentTarget.value });
  return (
    <>
      <h1>Journal</h1>
      <div class="fields">
        <Field label="Actor"><input value={actor} onChange={set("actor")} /></Field>
        <Field label="Kind">
          <input list="kinds" value={kind} onChange={set("kind")} />
        </Field>
        <Field label="Since"><input type="date" value={since} onChange={set("since")} /></Field>
        <Field label="Until"><input type="date" value={until} onChange={set("until")} /></Field>
      </div>
      <datalist id="kinds">{Object.keys(DEEDS).map((name) => <option key={name} value={name} />)}</datalist>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {!loading.value && !notes.value.length && error.value === undefined && (
        <Empty>{actor || kind || since || until ? "No operation fits these filters." : "Nothing was done in this space yet."}</Empty>
      )}
      <ol class="rows">
        {notes.value.map((note) => (
          <li class="row" key={note.operation.batch}>
            <a class="row-text" href={to("journal", note.operation.batch)}>
              {deed(note.operation.name)}: {about(note, texts.value ?? {})}
            </a>
            <div class="row-about">
              {note.count > 1 && <span>{plural(note.count, "change")}</span>}
              <Why of={note.operation.why} />
              <span>{minuteOf(note.operation.at)}</span>
              <span>by {note.operation.actor || "nobody known"}</span>
              {note.undone && <span class="mark">undone</span>}
            </div>
          </li>
        ))}
      </ol>
      {loading.value && <p class="quiet" role="status">Loading…</p>}
      {next.value !== null && !loading.value && <button onClick={() => load(next.value)}>Show more</button>}
    </>
  );
}

/** What the first memory says, or its id where it is gone; an operation on none says how much it changed. */
function about(note: OperationNote, texts: Record<string, string>) {
  const [first] = note.memory_ids;
  if (!first) return plural(note.count, "change");
  const text = texts[first];
  return <bdi>{text ? firstWords(text, 100) : `memory ${shortId(first)}`}</bdi>;
}

const BATCH = /^[0-9a-f]{32}$/;

/** An undo says which operations it took back, by their ids. */
function Why({ of }: { of: string }) {
  if (!of) return null;
  return (
    <span>
      {of.split(/(\s+|,)/).map((word) => (BATCH.test(word) ? <a href={to("journal", word)}>operation {word.slice(0, 8)}</a> : <bdi>{word}</bdi>))}
    </span>
  );
}

function OperationView({ batch }: { batch: string }) {
  const status = useLoaded((stop) => get<OperationStatus>(api`/operations/${batch}`, {}, stop), [batch]);
  const shown = status.value;
  if (!shown) return <Waiting of={status} />;
  const { operation } = shown;
  const takeBack = (cascade: boolean) => undo(space.value, [batch], `${deed(operation.name)}.`, cascade);
  return (
    <>
      <h1>{deed(operation.name)}</h1>
      <div class="row-about">
        <span>{minuteOf(operation.at)}</span>
        <span>by {operation.actor || "nobody known"}</span>
        <Why of={operation.why} />
        <span>{plural(shown.count, "change")}</span>
      </div>
      <div class="note">
        {shown.undoable ? (
          <p>Undoing takes back {shown.count === 1 ? "the change" : `all ${shown.count} changes`} below: what stands on top comes back.</p>
        ) : (
          shown.blocked_by.length === 0 && <p>It cannot be undone now{shown.reason ? `: ${shown.reason}` : "."}</p>
        )}
        {shown.blocked_by.length > 0 && (
          <>
            <p>It cannot be undone alone: these later operations depend on it.</p>
            <ul>
              {shown.blocked_by.map((each) => (
                <li key={each.batch}><a href={to("journal", each.batch)}>{deed(each.name)}</a> by {each.actor}, {minuteOf(each.at)}</li>
              ))}
            </ul>
          </>
        )}
        {mayUndo(operation) ? (
          <div class="buttons">
            {shown.undoable && <button class="main" onClick={() => takeBack(false)}>Undo this</button>}
            {shown.blocked_by.length > 0 && <button onClick={() => takeBack(true)}>Undo these too</button>}
          </div>
        ) : (
          <p class="quiet">Undoing what others did needs the role reviewer.</p>
        )}
      </div>
      <ol class="steps">
        {shown.entries.map((entry) => (
          <li key={entry.seq}>
            <p class="quiet">
              {entry.kind === "memory" ? <a href={memoryLink(entry.memory_id)}>Memory {shortId(entry.memory_id)}</a> : `${entry.kind} ${entry.memory_id}`}
              {" · "}{!entry.before ? "new" : !entry.after ? "removed" : "changed"}
            </p>
            <Changes before={entry.before} after={entry.after} />
          </li>
        ))}
      </ol>
      {shown.count > shown.entries.length && <p class="quiet">And {plural(shown.count - shown.entries.length, "change")} more.</p>}
      <p><a href={to("journal")}>All operations</a></p>
    </>
  );
}
