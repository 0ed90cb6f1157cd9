/** Memory: everything about one, to read and to change. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get, Problem, send } from "../api";
import { Asking, Changes, COMPUTED, deed, Difference, dayOf, Empty, Field, firstWords, lastDayOf, memoryLink, minuteOf, plural, shortId, Standing, Tags, Text, Time, useLoaded, Waiting } from "../parts";
import {
  act, api, changesOf, drafts, isUnsaved, joined, keepDraft, may, newDraft, noteDone, route, say, sayNotes, sayProblem, space, to, type Draft,
} from "../state";
import type { Fields, History, JournalEntry, Memory, Neighbor, RememberResult } from "../types";

export function MemoryView() {
  const id = route.value.args[0] ?? "";
  const key = JSON.stringify([space.value, id]);
  const memory = useLoaded((stop) => get<Memory>(api`/memories/${id}`, {}, stop), [id]);
  const draft = drafts.value[key];
  useEffect(() => () => leave(key), [key]);
  const shown = memory.value;
  const article = useRef<HTMLElement>(null);
  const wasShown = useRef(false);
  useEffect(() => {
    // What had the focus may be gone: the editor that was closed, or a button that a trashed memory does not have.
    if (wasShown.current && document.activeElement === document.body) article.current?.querySelector<HTMLElement>(".buttons > button")?.focus();
    wasShown.current = shown !== undefined;
  }, [draft === undefined, shown?.status]);
  if (!shown) return <Waiting of={memory} />;
  return (
    <article class="memory" ref={article}>
      <h1>{shown.title || <span class="quiet">Memory {shortId(shown.id)}</span>}</h1>
      <div class="row-about">
        <span>{shown.date}</span>
        <span>{shown.type}</span>
        <Standing memory={shown} />
        <Tags of={shown.tags} />
      </div>
      {memory.error !== undefined && <Waiting of={memory} />}
      {draft ? (
        <Editor draft={draft} now={shown} latest={() => drafts.peek()[key]} keep={(changed) => keepDraft(key, changed)} />
      ) : (
        <>
          <div class="full"><Text>{shown.text}</Text></div>
          {may("writer") && <Deeds memory={shown} edit={() => keepDraft(key, newDraft(shown))} />}
        </>
      )}
      {shown.superseded_by && (
        <p class="note">
          A newer memory replaced this one: <a href={memoryLink(shown.superseded_by)}>see what holds now</a>.
        </p>
      )}
      <About memory={shown} />
      <Neighbours memory={shown} />
      <Versions id={id} />
      <Why id={id} />
    </article>
  );
}

/** An edit stays when one goes elsewhere, and is said to. */
function leave(key: string): void {
  const draft = drafts.peek()[key];
  if (isUnsaved(draft)) say("Your edit is not saved. It is kept: open the memory again to go on.");
  else if (draft) keepDraft(key, null);
}

/** What somebody else changed, besides what is shown already. */
function otherChanges(base: Memory, theirs: Memory, shown: string[]): { before: Fields; after: Fields } | null {
  const names = (Object.keys(theirs) as (keyof Memory)[]).filter(
    // The date is made of other fields.
    (name) => ![...COMPUTED, "date", ...shown].includes(name) && JSON.stringify(base[name]) !== JSON.stringify(theirs[name]),
  );
  if (!names.length) return null;
  const picked = (memory: Memory) => Object.fromEntries(names.map((name) => [name, memory[name]]));
  return { before: picked(base), after: picked(theirs) };
}

type Editing = { draft: Draft; now: Memory; latest: () => Draft | undefined; keep: (draft: Draft | null) => void };

function Editor({ draft, now, latest, keep }: Editing) {
  const { base } = draft;
  const theirs = useSignal<Memory | null>(null);
  const write = (field: Partial<Draft>) => keep({ ...draft, ...field });
  const close = () => keep(null);
  const leaveOff = () => (isUnsaved(draft) ? say("Your edit is not saved. Ctrl-Enter saves it, Cancel drops it.") : close());

  async function save(over: Memory): Promise<void> {
    const body = changesOf(draft);
    if (!Object.keys(body).length) return close();
    if (body.importance === null) return say("The importance is empty; give a number from 0 to 1.", undefined, true);
    const where = space.value;
    const [address, edited] = [api`/memories/${base.id}`, api`/memories/${base.id}/edit`];
    try {
      const answer = await send<RememberResult>("POST", edited, { body, version: over.version });
      // What was written while this was sent is not saved yet.
      const written = latest();
      const { memory } = answer.value;
      const more = written && written !== draft && { ...written, base: memory };
      theirs.value = null;
      keep(more && isUnsaved(more) ? more : null);
      const saved = memory.status === "trashed" ? "Saved. The memory is in the trash; restore it to recall it." : "Saved.";
      noteDone(where, saved, answer.operation);
      sayNotes(answer.value);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 412)) return sayProblem(error);
      await get<Memory>(address).then((changed) => (theirs.value = changed), sayProblem);
    }
  }

  const meanwhile = now.version !== base.version && !theirs.value;
  const ownText = "text" in changesOf(draft);
  const others = theirs.value && otherChanges(base, theirs.value, ownText ? ["text"] : []);
  return (
    <form class="editor" noValidate onSubmit={(event) => { event.preventDefault(); void save(base); }}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.isComposing) leaveOff();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void save(base); }
      }}>
      <Field label="Text">
        <textarea rows={Math.min(20, 3 + Math.ceil(draft.text.length / 90))} autofocus value={draft.text}
          ref={(element) => { if (element && !element.dataset.seen) { element.dataset.seen = "1"; element.focus(); } }}
          onInput={(event) => write({ text: event.currentTarget.value })} />
      </Field>
      <div class="fields">
        <Field label="Title"><input value={draft.title} onInput={(event) => write({ title: event.currentTarget.value })} /></Field>
        <Field label="Tags, by commas"><input value={draft.tags ?? joined(base.tags)} onInput={(event) => write({ tags: event.currentTarget.value })} /></Field>
        <Field label="Importance, 0 to 1">
          <input type="number" min={0} max={1} step={0.05} value={draft.importance}
            onInput={(event) => write({ importance: event.currentTarget.value })} />
        </Field>
      </div>
      {meanwhile && <p class="note">Somebody changed this memory while you edit it; saving will show you both.</p>}
      {theirs.value ? (
        <div class="note bad" role="alert">
          <p>
            <b>{theirs.value.status === "trashed" ? "Somebody forgot this memory meanwhile: it is in the trash." : "Somebody changed this memory meanwhile."}</b>{" "}
            {ownText && "Theirs is above, yours below:"}
          </p>
          {ownText && <Difference before={theirs.value.text} after={draft.text} />}
          {others && (
            <>
              <p>They {ownText && "also "}changed what follows. It stays, except for a field that you have changed, too:</p>
              <Changes {...others} />
            </>
          )}
          <div class="buttons">
            <button class="main" type="button" onClick={() => save(theirs.value!)}>Save mine over it</button>
            <button type="button" onClick={close}>Keep theirs</button>
          </div>
        </div>
      ) : (
        <div class="buttons">
          <button class="main">Save</button>
          <button type="button" onClick={close}>Cancel</button>
        </div>
      )}
    </form>
  );
}

function Deeds({ memory, edit }: { memory: Memory; edit: () => void }) {
  const redacting = useSignal(false);
  const { id } = memory;
  const trashed = memory.status === "trashed";
  return (
    <>
      <div class="buttons">
        {!trashed && <button class="main" onClick={edit}>Edit</button>}
        {!trashed && (
          <button title="Moves it to the trash: no recall returns it, and it can be restored."
            onClick={() => act("Forgotten: it is in the trash.", () => send("DELETE", api`/memories/${id}`))}>Forget</button>
        )}
        {(trashed || memory.superseded_by) && (
          <button title="Makes it hold again." onClick={() => act("Restored.", () => send("POST", api`/memories/${id}/restore`, { body: {} }))}>Restore</button>
        )}
        {!trashed && (
          <button title={memory.pinned ? "Lets it decay again." : "Protects it from decay."}
            onClick={() => act(memory.pinned ? "Unpinned." : "Pinned.", () => send("POST", memory.pinned ? api`/memories/${id}/unpin` : api`/memories/${id}/pin`, { body: {} }))}>
            {memory.pinned ? "Unpin" : "Pin"}
          </button>
        )}
        {!trashed && (
          <button title="Says that it still holds." onClick={() => act("Confirmed: it still holds.", () => send("POST", api`/memories/${id}/validate`, { body: {} }))}>Still true</button>
        )}
        {may("admin") && <button class="danger" aria-expanded={redacting.value} onClick={() => (redacting.value = !redacting.value)}>Redact…</button>}
        <a class="button" href={to("graph", "memory", memory.id)}>Graph</a>
      </div>
      <details class="meaning">
        <summary>What these mean</summary>
        <dl>
          <div><dt>Forget</dt><dd>Moves it to the trash. No recall returns it; you can restore it.</dd></div>
          <div><dt>Restore</dt><dd>Takes it out of the trash, or lets it hold again after a newer one replaced it.</dd></div>
          <div><dt>Redact</dt><dd>Deletes the content for good, from the journal too, and leaves a mark. Nobody can undo it.</dd></div>
        </dl>
      </details>
      {redacting.value && (
        <Asking label="Redact this memory" close={() => (redacting.value = false)}>
          <p>Redacting deletes the content for good, in all its versions and in the journal. It <b>cannot be undone</b>; backups made before keep it.</p>
          <div class="buttons">
            <button class="danger" onClick={async () => {
              redacting.value = false;
              await act("Redacted: the content is gone for good.", async () => ({ ...(await send("POST", api`/memories/${id}/redact`, { body: {} })), operation: "" }));
            }}>Redact for good</button>
            <button onClick={() => (redacting.value = false)}>Cancel</button>
          </div>
        </Asking>
      )}
    </>
  );
}

function About({ memory }: { memory: Memory }) {
  const rows: [string, string][] = [
    ["Id", memory.id],
    ["Source", memory.source],
    ["About the source", memory.source_notes],
    ["Agent", memory.agent],
    ["Conversation", memory.session],
    ["Said by", memory.role],
    ["Created", minuteOf(memory.created_at)],
    ["Changed", memory.updated_at > memory.created_at ? minuteOf(memory.updated_at) : ""],
    ["Happened", memory.occurred_at === null ? "" : dayOf(memory.occurred_at)],
    ["True since", memory.valid_from === null ? "" : dayOf(memory.valid_from)],
    ["True until", memory.valid_until === null ? "" : lastDayOf(memory.valid_until)],
    ["Expires", memory.expires_at === null ? "" : lastDayOf(memory.expires_at)],
    ["Confirmed", memory.last_validated_at === null ? "" : dayOf(memory.last_validated_at)],
    ["Used", memory.access_count ? plural(memory.access_count, "time") : "never"],
    ["Importance", memory.importance.toFixed(2)],
    ["Confidence", memory.confidence.toFixed(2)],
    ["Trust", memory.trust.toFixed(2)],
    ["Why it is not trusted", Array.isArray(memory.metadata.suspicion) ? memory.metadata.suspicion.join(", ") : ""],
    ["Contexts", memory.contexts.join(", ")],
    ["Status", memory.status.replaceAll("_", " ")],
  ];
  return (
    <section>
      <h2>About it</h2>
      <dl class="about">
        {rows.filter(([, value]) => value).map(([name, value]) => (
          <div key={name}><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>
        ))}
        {memory.entities.length > 0 && (
          <div><dt>Mentions</dt><dd>{memory.entities.map((name, at) => (
            <span key={name}>{at > 0 && ", "}<a href={to("graph", "entity", name)}>{name}</a></span>
          ))}</dd></div>
        )}
      </dl>
    </section>
  );
}

function Neighbours({ memory }: { memory: Memory }) {
  const near = useLoaded((stop) => get<{ neighbors: Neighbor[]; dangling: string[] }>(api`/memories/${memory.id}/neighbors`, { include_hidden: true }, stop), [memory.id]);
  const target = useSignal("");
  const rel = useSignal("related");
  async function link(): Promise<void> {
    const done = await act("Linked.", async () => {
      const wanted = target.value.trim();
      const links = api`/links`;
      const other = await get<string>(api`/memories/resolve/${wanted}`);
      return send("POST", links, { body: { source: memory.id, target: other, rel: rel.value.trim() || "related" } });
    });
    if (done !== null) target.value = "";
  }
  async function unlink(each: Neighbor): Promise<void> {
    const [source, into] = each.direction === "out" ? [memory.id, each.memory.id] : [each.memory.id, memory.id];
    await act("Link removed.", () => send("DELETE", api`/links`, { query: { source, target: into, rel: each.rel } }));
  }
  return (
    <section>
      <h2>Links</h2>
      <Waiting of={near.value ? { ...near, loading: false } : near} />
      {near.value && !near.value.neighbors.length && <Empty>Nothing is linked to this memory.</Empty>}
      <ul class="rows">
        {near.value?.neighbors.map((each) => (
          <li class="row linked" key={`${each.memory.id} ${each.rel}`}>
            <span class="rel">{each.direction === "out" ? `${each.rel} →` : `← ${each.rel}`}</span>
            <a href={memoryLink(each.memory.id)}><bdi>{firstWords(each.memory.text)}</bdi></a>
            <Standing memory={each.memory} />
            {may("writer") && <button class="plain" aria-label={`Remove the link ${each.rel}`} onClick={() => unlink(each)}>Remove</button>}
          </li>
        ))}
      </ul>
      {may("writer") && (
        <form class="fields" onSubmit={(event) => { event.preventDefault(); void link(); }}>
          <Field label="Relation"><input value={rel.value} onInput={(event) => (rel.value = event.currentTarget.value)} /></Field>
          <Field label="Id of the other memory"><input required value={target.value} onInput={(event) => (target.value = event.currentTarget.value)} /></Field>
          <button>Link</button>
        </form>
      )}
    </section>
  );
}

function Versions({ id }: { id: string }) {
  const history = useLoaded((stop) => get<History>(api`/memories/${id}/history`, {}, stop), [id]);
  const steps = history.value?.transitions ?? [];
  return (
    <section>
      <h2>Versions</h2>
      <Waiting of={history.value ? { ...history, loading: false } : history} />
      {history.value && !steps.length && <Empty>The text never changed.</Empty>}
      <ol class="steps">
        {[...steps].reverse().map((each) => (
          <li key={`${each.old} ${each.new} ${each.at}`}>
            <p class="quiet">
              <Time at={each.at} /> · {deed(each.operation)}{each.why && ` · ${each.why}`}
              {each.old !== each.new && <> · <a href={memoryLink(each.old === id ? each.new : each.old)}>the other memory</a></>}
            </p>
            <Difference before={each.before} after={each.after} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Why({ id }: { id: string }) {
  const entries = useLoaded((stop) => get<JournalEntry[]>(api`/journal`, { id, limit: 50 }, stop), [id]);
  return (
    <section>
      <h2>Why it is here</h2>
      <Waiting of={entries.value ? { ...entries, loading: false } : entries} />
      <ol class="steps">
        {entries.value?.map((entry) => (
          <li key={entry.seq}>
            <p class="quiet">
              <Time at={entry.operation.at} /> · {deed(entry.operation.name)} by {entry.operation.actor || "nobody known"}
              {entry.operation.why && ` · ${entry.operation.why}`} ·{" "}
              <a href={to("journal", entry.operation.batch)}>operation</a>
            </p>
            {entry.before && <Changes before={entry.before} after={entry.after} />}
          </li>
        ))}
      </ol>
    </section>
  );
}
