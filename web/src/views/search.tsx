/** Search: recall while one types, with reasons; without a question, the newest memories. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { ask, get, send, type Values } from "../api";
import { choosesSpace, Empty, Field, MemoryRow, number, plural, Standing, Tags, Text, firstWords, memoryLink, useLoaded, Waiting, type Loaded } from "../parts";
import { act, api, may, ofSession, route, sayNotes, sayProblem, setOptions, space, unsent } from "../state";
import type { Counterpart, Hit, Listing, Memory, Pack, Recollection, RememberResult, Stats } from "../types";

const TYPING_MS = 30; // after the last key, while an earlier question is still being answered; else nothing is waited for
const READING_MS = 250; // after the last key: then a model reads the best hits, which takes longer than to find them
const MOST_HITS = 20;
const PAGE = 30;
const MOST_ROWS = 1_000; // that the server lists at once

// What is searched for stays in this page: a question may be as private as a memory, and addresses are kept in histories.
const query = ofSession("");
const asking = ofSession(false);
const FILTERS = ["type", "tag", "entity", "since", "until", "trust", "as_of"] as const;

function filters(): Values {
  const options = route.value.options;
  return Object.fromEntries(FILTERS.map((name) => [name, options.get(name) ?? ""]));
}

/** The filters as the API names them. */
function scope(): Record<string, unknown> {
  const { entity, trust, ...rest } = filters();
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value));
  return {
    ...given,
    ...(trust ? { min_trust: Number(trust) } : {}),
    ...(entity ? { where: [{ field: "entities", op: "any", value: [entity] }] } : {}),
  };
}

function scopeInQuery(): Values {
  const { where, ...rest } = scope();
  return { ...(rest as Values), ...(where ? { where: JSON.stringify(where) } : {}) };
}

/** What was typed before this script was there. */
function typedBefore(): string {
  return document.querySelector<HTMLInputElement>("#shell input")?.value ?? "";
}

export function SearchView() {
  const typed = useSignal(query.value || typedBefore());
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const question = typed.value.trim();
    if (!asking.peek()) {
      query.value = question;
      return;
    }
    const timer = setTimeout(() => (query.value = question), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  useLayoutEffect(() => {
    if (!choosesSpace()) input.current?.focus();
  }, []);

  function move(event: KeyboardEvent): void {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [...(list.current?.querySelectorAll<HTMLElement>("a.row-text") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    if (at < 0 && event.key === "ArrowUp") return;
    event.preventDefault();
    (next < 0 ? input.current : links[Math.min(next, links.length - 1)])?.focus();
  }

  return (
    <div onKeyDown={move}>
      <h1 class="hidden">Search</h1>
      <form role="search" onSubmit={(event) => { event.preventDefault(); query.value = typed.value.trim(); }}>
        <input
          ref={input}
          type="search"
          class="question"
          aria-label="Question or words"
          placeholder="Ask your memory, or type some words"
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
      </form>
      <Filters />
      <div ref={list}>{query.value ? <Hits /> : <Newest />}</div>
      {may("writer") && <NewMemory />}
    </div>
  );
}

function Filters() {
  const given = filters();
  const used = Object.values(given).filter(Boolean).length;
  const stats = useLoaded((stop) => get<Stats>(api`/stats`, {}, stop), []);
  const names = useLoaded((stop) => get<{ name: string }[]>(api`/entities`, { limit: 200 }, stop), []);
  const set = (name: string) => (event: { currentTarget: { value: string } }) => setOptions({ [name]: event.currentTarget.value });
  return (
    <details class="filters" open={used > 0}>
      <summary>Filters{used > 0 && ` (${used})`}</summary>
      <div class="fields">
        <Field label="Type">
          <select value={String(given.type)} onChange={set("type")}>
            <option value="">any</option>
            {Object.entries(stats.value?.by_type ?? {}).map(([name, count]) => (
              <option key={name} value={name}>{`${name} (${number(count)})`}</option>
            ))}
          </select>
        </Field>
        <Field label="Tag">
          <input list="tags" value={String(given.tag)} onChange={set("tag")} />
        </Field>
        <Field label="Mentions">
          <input list="entities" value={String(given.entity)} onChange={set("entity")} />
        </Field>
        <Field label="Since">
          <input type="date" value={String(given.since)} onChange={set("since")} />
        </Field>
        <Field label="Until">
          <input type="date" value={String(given.until)} onChange={set("until")} />
        </Field>
        <Field label="Trust">
          <select value={String(given.trust)} onChange={set("trust")}>
            <option value="">any</option>
            <option value="0.5">at least half</option>
            <option value="1">full</option>
          </select>
        </Field>
        <Field label="As it was on">
          <input type="date" value={String(given.as_of)} onChange={set("as_of")} />
        </Field>
        {used > 0 && (
          <button class="plain" onClick={() => setOptions(Object.fromEntries(FILTERS.map((name) => [name, ""])))}>
            Clear all
          </button>
        )}
      </div>
      <datalist id="tags">
        {Object.keys(stats.value?.top_tags ?? {}).map((name) => <option key={name} value={name} />)}
      </datalist>
      <datalist id="entities">{names.value?.map((each) => <option key={each.name} value={each.name} />)}</datalist>
    </details>
  );
}

/** Ends early, with an error, when it is no longer wanted. */
function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    stop.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(stop.reason);
    });
  });
}

function Hits() {
  const asked = query.value;
  const recall = (rerank: boolean, stop: AbortSignal) =>
    ask<Recollection>(api`/recall`, { query: asked, k: MOST_HITS, touch: false, rerank, ...scope() }, stop);
  const quick = useLoaded((stop) => recall(false, stop), [asked, filters()]);
  const read = useLoaded((stop) => pause(READING_MS, stop).then(() => recall(true, stop)), [asked, filters()]);
  const found = read.value ? read : quick;
  useEffect(() => {
    asking.value = quick.loading;
    return () => void (asking.value = false);
  }, [quick.loading]);
  const packing = useSignal(false);
  const likely = found.value?.hits.filter((hit) => hit.strength !== "weak" || !found.value?.calibrated) ?? [];
  const weak = found.value?.hits.filter((hit) => !likely.includes(hit)) ?? [];
  const nearest = likely.length ? null : (found.value?.nearest ?? weak[0] ?? null);
  const rest = nearest ? weak.filter((hit) => hit.memory.id !== nearest.memory.id) : weak;
  return (
    <section aria-label="Hits" aria-busy={found.loading}>
      <Waiting of={found.value ? { ...found, loading: false } : found} />
      {found.value && (
        <>
          {found.value.notes.map((note) => <p class="quiet" key={note}>{note}</p>)}
          <p class="quiet count" role="status">
            {likely.length ? plural(likely.length, "hit") : nearest ? "Nothing fits; this is the nearest:" : "Nothing fits."}
          </p>
          <ol class="rows hits">{(nearest ? [nearest] : likely).map((hit) => <HitRow key={hit.memory.id} hit={hit} />)}</ol>
          {rest.length > 0 && (
            <details class="weak">
              <summary>{plural(rest.length, "weak hit")}, unlikely to answer</summary>
              <ol class="rows hits">{rest.map((hit) => <HitRow key={hit.memory.id} hit={hit} />)}</ol>
            </details>
          )}
          {found.value.hits.length > 0 && (
            <details class="pack" onToggle={(event) => (packing.value = event.currentTarget.open)}>
              <summary>What an agent would read</summary>
              {packing.value && <PackPreview asked={asked} />}
            </details>
          )}
        </>
      )}
    </section>
  );
}

const MOST_REASONS = 6;

/** As `Counterpart.named` of the library words it. */
function relationTo(other: Counterpart): string {
  if (other.kind !== "update" && other.kind !== "version") return "conflicts with ";
  const verb = other.newer ? "newer: " : "updates ";
  return other.kind === "version" ? `perhaps ${verb}` : verb;
}

function HitRow({ hit }: { hit: Hit }) {
  const memory = hit.memory;
  const reasons = hit.why.filter((each) => Math.abs(each.score) >= 0.005).slice(0, MOST_REASONS);
  const most = Math.max(...reasons.map((each) => Math.abs(each.score)), 0.01);
  return (
    <li class="row">
      <a class="row-text" href={memoryLink(memory.id)}>
        {memory.title && <b>{memory.title} </b>}
        <Text short={400}>{memory.text}</Text>
      </a>
      {hit.was && (
        <p class="was">
          was: <a href={memoryLink(hit.was.id)}><bdi>{firstWords(hit.was.text)}</bdi></a>
        </p>
      )}
      {hit.conflicts.map((other) => (
        <p class="conflict" key={other.id}>
          {relationTo(other)}
          <a href={memoryLink(other.id)}><bdi>{firstWords(other.text, 60) || other.id}</bdi></a>
        </p>
      ))}
      <div class="row-about">
        <span class={`strength ${hit.strength}`} title={`Relevance ${hit.relevance.toFixed(2)}`}>{hit.strength}</span>
        <span>{memory.date}</span>
        <span>{memory.type}</span>
        <span>{memory.space}</span>
        <Standing memory={memory} />
        <Tags of={memory.tags} />
      </div>
      <ul class="reasons" aria-label="Reasons">
        {reasons.map((each) => (
          <li key={each.signal} title={each.detail || undefined}>
            <span>{each.signal}</span>
            <meter min={0} max={most} value={Math.abs(each.score)}>{each.score.toFixed(2)}</meter>
            <span class="figure">{each.score.toFixed(2)}</span>
          </li>
        ))}
      </ul>
    </li>
  );
}

function PackPreview({ asked }: { asked: string }) {
  const budget = useSignal(800);
  const copied = useSignal(false);
  const pack = useLoaded(
    (stop) => ask<Pack>(api`/pack`, { query: asked, token_budget: budget.value, ...scope() }, stop),
    [asked, budget.value, filters()], false,
  );
  const text = useRef<HTMLPreElement>(null);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(pack.value?.text ?? "");
      copied.value = true;
    } catch {
      getSelection()?.selectAllChildren(text.current!);
    }
  }
  return (
    <>
      <div class="fields">
        <Field label="Token budget">
          <input type="number" min={50} max={20000} step={50} value={budget.value}
            onChange={(event) => (budget.value = Math.max(50, event.currentTarget.valueAsNumber || 800))} />
        </Field>
        <button onClick={copy} disabled={!pack.value?.text}>{copied.value ? "Copied" : "Copy"}</button>
      </div>
      <Waiting of={pack.value ? { ...pack, loading: false } : pack} />
      {pack.value && (
        <>
          <p class="quiet">
            {plural(pack.value.used_tokens, "token")} of {number(pack.value.budget)}, {plural(pack.value.items.length, "memory", "memories")}
            {pack.value.truncated && "; more would not fit"}
          </p>
          <pre ref={text} tabIndex={0}>{pack.value.text || "Nothing fits."}</pre>
        </>
      )}
    </>
  );
}

function Newest() {
  const more = useSignal<Memory[]>([]);
  const cursor = useSignal<string | null>(null);
  const rows = useRef(PAGE); // as many as are shown: a change elsewhere must not take away what somebody reads
  useLayoutEffect(() => void (rows.current = PAGE), [JSON.stringify(filters())]);
  const first = useLoaded(
    (stop) => get<Listing>(api`/memories`, { limit: Math.min(rows.current, MOST_ROWS), ...scopeInQuery() }, stop), [filters()],
  );
  useEffect(() => {
    more.value = [];
    cursor.value = null;
  }, [first.value]);
  const next = cursor.value ?? first.value?.cursor;
  async function load(): Promise<void> {
    try {
      const page = await get<Listing>(api`/memories`, { limit: PAGE, cursor: next, ...scopeInQuery() });
      more.value = [...more.value, ...page.memories];
      cursor.value = page.cursor;
      rows.current += PAGE;
    } catch (error) {
      sayProblem(error);
    }
  }
  const shown: Loaded<unknown> = first.value ? { ...first, loading: false } : first;
  const memories = [...(first.value?.memories ?? []), ...more.value];
  return (
    <section aria-label="Newest memories">
      <Waiting of={shown} />
      {first.value && !memories.length && (
        <Empty>
          {Object.values(filters()).some(Boolean) ? "No memory fits these filters." : "This space holds nothing yet. Remember something below, or import a file."}
        </Empty>
      )}
      {memories.length > 0 && <h2>Newest</h2>}
      <ol class="rows">{memories.map((memory) => <MemoryRow key={memory.id} memory={memory} />)}</ol>
      {next && <button onClick={load}>Show more</button>}
    </section>
  );
}

const OUTCOMES: Record<RememberResult["outcome"], string> = {
  stored: "Remembered.",
  known: "Known already; it was not stored again.",
  merged: "Merged into the memory that says the same.",
  replaced: "Remembered, in the place of what it contradicts.",
  replaced_by_known: "Known already; it takes the place of the other now.",
};

function NewMemory() {
  const where = space.value;
  const text = unsent.value[where] ?? "";
  const write = (written: string) => (unsent.value = { ...unsent.value, [where]: written });
  async function remember(): Promise<void> {
    const written = await act((result) => OUTCOMES[result.outcome], () => send<RememberResult>("POST", api`/memories`, { body: { text } }));
    if (written === null) return;
    sayNotes(written);
    const now = unsent.peek()[where] ?? "";
    write(now.startsWith(text) ? now.slice(text.length).trimStart() : now); // what was written while it was sent
  }
  return (
    <form class="new" onSubmit={(event) => { event.preventDefault(); void remember(); }}>
      <label class="field">
        <span>Remember something</span>
        <textarea rows={2} required value={text} onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void remember(); }} />
      </label>
      <button disabled={!text.trim()}>Remember</button>
    </form>
  );
}
