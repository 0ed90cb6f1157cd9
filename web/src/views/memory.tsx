/** Memory: everything about one, to read and to change. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, Problem, send } from "../api";
import { Changes, deed, Difference, dayOf, Empty, Field, firstWords, lastDayOf, memoryLink, minuteOf, plural, shortId, Standing, Tags, Text, Time, useLoaded, Waiting } from "../parts";
import { act, api, may, noteDone, route, sayProblem, to } from "../state";
import type { History, JournalEntry, Memory, Neighbor } from "../types";

export function MemoryView() {
  const id = route.value.args[0] ?? "";
  const memory = useLoaded((stop) => get<Memory>(api`/memories/${id}`, {}, stop), [id]);
  const editing = useSignal<Memory | null>(null);
  useEffect(() => void (editing.value = null), [id]);
  const shown = memory.value;
  if (!shown) return <Waiting of={memory} />;
  return (
    <article class="memory">
      <h1>{shown.title || <span class="quiet">Memory {shortId(shown.id)}</span>}</h1>
      <div class="row-about">
        <span>{shown.date}</span>
        <span>{shown.type}</span>
        <Standing memory={shown} />
        <Tags of={shown.tags} />
      </div>
      {memory.error !== undefined && <Waiting of={memory} />}
      {editing.value ? (
        <Editor memory={editing.value} now={shown} close={() => (editing.value = null)} />
      ) : (
        <>
          <div class="full"><Text>{shown.text}</Text></div>
          {may("writer") && <Deeds memory={shown} edit={() => (editing.value = shown)} />}
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

function Editor({ memory, now, close }: { memory: Memory; now: Memory; close: () => void }) {
  const text = useSignal(memory.text);
  const title = useSignal(memory.title);
  const tags = useSignal(memory.tags.join(", "));
  const importance = useSignal(memory.importance);
  const base = useSignal(memory);
  const theirs = useSignal<Memory | null>(null);

  async function save(over: Memory): Promise<void> {
    const wanted = { text: text.value, title: title.value, tags: split(tags.value), importance: importance.value };
    const before = base.value;
    const body = Object.fromEntries(
      Object.entries(wanted).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Memory])),
    );
    if (!Object.keys(body).length) return close();
    try {
      const answer = await send<Memory>("PATCH", api`/memories/${memory.id}`, { body, version: over.version });
      noteDone("Saved.", answer.operation);
      close();
    } catch (error) {
      if (error instanceof Problem && error.status === 412) theirs.value = await get<Memory>(api`/memories/${memory.id}`);
      else sayProblem(error);
    }
  }

  const meanwhile = now.version !== base.value.version && !theirs.value;
  return (
    <form class="editor" onSubmit={(event) => { event.preventDefault(); void save(base.value); }}
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void save(base.value); }
      }}>
      <Field label="Text">
        <textarea rows={Math.min(20, 3 + Math.ceil(text.value.length / 90))} autofocus value={text.value}
          ref={(element) => { if (element && !element.dataset.seen) { element.dataset.seen = "1"; element.focus(); } }}
          onInput={(event) => (text.value = event.currentTarget.value)} />
      </Field>
      <div class="fields">
        <Field label="Title"><input value={title.value} onInput={(event) => (title.value = event.currentTarget.value)} /></Field>
        <Field label="Tags, by commas"><input value={tags.value} onInput={(event) => (tags.value = event.currentTarget.value)} /></Field>
        <Field label="Importance, 0 to 1">
          <input type="number" min={0} max={1} step={0.05} value={importance.value}
            onInput={(event) => (importance.value = event.currentTarget.valueAsNumber || 0)} />
        </Field>
      </div>
      {meanwhile && <p class="note">Somebody changed this memory while you edit it; saving will show you both.</p>}
      {theirs.value ? (
        <div class="note bad" role="alert">
          <p><b>Somebody changed this memory meanwhile.</b> Theirs is above, yours below:</p>
          <Difference before={theirs.value.text} after={text.value} />
          <div class="buttons">
            <button class="main" type="button" onClick={() => { base.value = theirs.value!; void save(theirs.value!); }}>Save mine over it</button>
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

const split = (tags: string) => tags.split(",").map((each) => each.trim()).filter(Boolean);

function Deeds({ memory, edit }: { memory: Memory; edit: () => void }) {
  const redacting = useSignal(false);
  const address = api`/memories/${memory.id}`;
  const trashed = memory.status === "trashed";
  return (
    <>
      <div class="buttons">
        {!trashed && <button class="main" onClick={edit}>Edit</button>}
        {!trashed && (
          <button title="Moves it to the trash: no recall returns it, and it can be restored."
            onClick={() => act("Forgotten: it is in the trash.", () => send("DELETE", address))}>Forget</button>
        )}
        {(trashed || memory.superseded_by) && (
          <button title="Makes it hold again." onClick={() => act("Restored.", () => send("POST", `${address}/restore`, { body: {} }))}>Restore</button>
        )}
        {!trashed && (
          <button title={memory.pinned ? "Lets it decay again." : "Protects it from decay."}
            onClick={() => act(memory.pinned ? "Unpinned." : "Pinned.", () => send("POST", `${address}/${memory.pinned ? "unpin" : "pin"}`, { body: {} }))}>
            {memory.pinned ? "Unpin" : "Pin"}
          </button>
        )}
        {!trashed && (
          <button title="Says that it still holds." onClick={() => act("Confirmed: it still holds.", () => send("POST", `${address}/validate`, { body: {} }))}>Still true</button>
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
        <div class="note bad" role="alertdialog" aria-label="Redact this memory">
          <p>Redacting deletes the content for good, in all its versions and in the journal. It <b>cannot be undone</b>; backups made before keep it.</p>
          <div class="buttons">
            <button class="danger" onClick={async () => {
              redacting.value = false;
              await act("Redacted: the content is gone for good.", async () => ({ ...(await send("POST", `${address}/redact`, { body: {} })), operation: "" }));
            }}>Redact for good</button>
            <button onClick={() => (redacting.value = false)}>Cancel</button>
          </div>
        </div>
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
      const other = await get<string>(api`/memories/resolve/${wanted}`);
      return send("POST", api`/links`, { body: { source: memory.id, target: other, rel: rel.value.trim() || "related" } });
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
