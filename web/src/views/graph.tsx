/** Graph: what is linked with what, around a memory, an entity or a tag, or in the whole space. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { ask, get } from "../api";
import { Empty, ErrorNote, Field, firstWords, memoryLink, plural, useLoaded, Waiting } from "../parts";
import { api, go, route, setOptions, to } from "../state";
import type { Drawn } from "../drawing";
import type { Drawing, Entity, Graph, Listing, Memory, Stats } from "../types";

const MOST_STARTS = 100;
const LISTED = 40;

interface Shown {
  drawing: Drawing;
  centres: string[];
}

const NOTHING: Drawing = { ids: [], titles: [], texts: [], types: [], relations: [], sources: [], targets: [], rels: [], cut: false };

async function around(kind: string, name: string, depth: number, stop: AbortSignal): Promise<Shown> {
  if (kind === "space") return { drawing: await get<Drawing>(api`/drawing`, {}, stop), centres: [] };
  let ids = [name];
  if (kind === "entity") ids = (await get<Memory[]>(api`/entities/${name}/memories`, { limit: MOST_STARTS }, stop)).map((each) => each.id);
  if (kind === "tag") ids = (await get<Listing>(api`/memories`, { tag: name, limit: MOST_STARTS }, stop)).memories.map((each) => each.id);
  if (!ids.length) return { drawing: NOTHING, centres: [] };
  const graph = await ask<Graph>(api`/graph`, { ids, depth, include_hidden: false }, stop);
  return { drawing: columns(graph, ids.length === MOST_STARTS), centres: ids };
}

function columns({ nodes, edges }: Graph, cut: boolean): Drawing {
  const memories = Object.values(nodes);
  const places = new Map(memories.map((each, at) => [each.id, at]));
  const within = edges.filter((each) => places.has(each.source) && places.has(each.target));
  const relations = [...new Set(within.map((each) => each.rel))];
  return {
    ids: memories.map((each) => each.id), titles: memories.map((each) => each.title), texts: memories.map((each) => each.text), types: memories.map((each) => each.type),
    relations, sources: within.map((each) => places.get(each.source)!), targets: within.map((each) => places.get(each.target)!), rels: within.map((each) => relations.indexOf(each.rel)), cut,
  };
}

/** Only links of this relation, and memories of this type that are linked or stand in the middle. */
function narrowed(all: Drawing, centres: string[], rel: string, type: string): Drawing {
  const wanted = rel ? all.relations.indexOf(rel) : -1;
  const links = [...all.sources.keys()].filter((at) => !rel || all.rels[at] === wanted);
  const linked = new Set(links.flatMap((at) => [all.sources[at]!, all.targets[at]!]));
  const kept = [...all.ids.keys()].filter((at) => (!type || all.types[at] === type) && (linked.has(at) || (!rel && centres.includes(all.ids[at]!))));
  const places = new Map(kept.map((old, at) => [old, at]));
  const drawn = links.filter((at) => places.has(all.sources[at]!) && places.has(all.targets[at]!));
  const of = <T,>(column: T[]) => kept.map((at) => column[at]!);
  return {
    ...all, ids: of(all.ids), titles: of(all.titles), texts: of(all.texts), types: of(all.types),
    sources: drawn.map((at) => places.get(all.sources[at]!)!), targets: drawn.map((at) => places.get(all.targets[at]!)!), rels: drawn.map((at) => all.rels[at]!),
  };
}

export function GraphView() {
  const [kind, name] = route.value.args;
  useEffect(() => void import("../drawing"), []); // beside what is drawn, not after it
  return (
    <>
      <h1>Graph</h1>
      <Choice kind={kind} name={name} />
      {kind ? <Shown kind={kind} name={name ?? ""} /> : <Empty>Choose an entity or a tag above, open a memory and press Graph, or show the whole space.</Empty>}
    </>
  );
}

function Choice({ kind, name }: { kind?: string; name?: string }) {
  const names = useLoaded((stop) => get<Entity[]>(api`/entities`, { limit: 200 }, stop), []);
  const stats = useLoaded((stop) => get<Stats>(api`/stats`, {}, stop), []);
  const depth = route.value.options.get("depth") ?? "1";
  return (
    <div class="fields">
      <Field label="Entity">
        <select value={kind === "entity" ? name : ""} onChange={(event) => event.currentTarget.value && go(to("graph", "entity", event.currentTarget.value))}>
          <option value="">choose</option>
          {names.value?.map((each) => <option key={each.name} value={each.name}>{`${each.name} (${each.count})`}</option>)}
        </select>
      </Field>
      <Field label="Tag">
        <select value={kind === "tag" ? name : ""} onChange={(event) => event.currentTarget.value && go(to("graph", "tag", event.currentTarget.value))}>
          <option value="">choose</option>
          {Object.entries(stats.value?.top_tags ?? {}).map(([tag, count]) => <option key={tag} value={tag}>{`${tag} (${count})`}</option>)}
        </select>
      </Field>
      {kind !== "space" && (
        <Field label="Depth">
          <select value={depth} onChange={(event) => setOptions({ depth: event.currentTarget.value })}>
            {["1", "2", "3"].map((each) => <option key={each}>{each}</option>)}
          </select>
        </Field>
      )}
      <a class="button" href={to("graph", "space")}>Whole space</a>
    </div>
  );
}

function Shown({ kind, name }: { kind: string; name: string }) {
  const depth = Number(route.value.options.get("depth") ?? "1");
  const shown = useLoaded((stop) => around(kind, name, depth, stop), [kind, name, depth]);
  const rel = route.value.options.get("rel") ?? "";
  const type = route.value.options.get("type") ?? "";
  const sought = useSignal("");
  const drawing = useMemo(() => shown.value && narrowed(shown.value.drawing, shown.value.centres, rel, type), [shown.value, rel, type]);
  if (!shown.value || !drawing) return <Waiting of={shown} />;
  const { drawing: all, centres } = shown.value;
  if (!all.sources.length)
    return (
      <Empty>
        <p>
          {kind === "space" ? "No memory of this space is linked to another." : all.ids.length ? `${plural(all.ids.length, "memory", "memories")}, and none of them is linked to another.` : "No memory fits."}{" "}
          Links come from agents, from conflicts, from reflection, and from you: open a memory and add one.
        </p>
        <List of={all} />
      </Empty>
    );
  const relations = [...all.relations].sort();
  const types = [...new Set(all.types)].sort();
  return (
    <>
      <div class="fields">
        <Field label="Relation">
          <select value={rel} onChange={(event) => setOptions({ rel: event.currentTarget.value })}>
            <option value="">all</option>
            {relations.map((each) => <option key={each} value={each}>{each.replaceAll("_", " ")}</option>)}
          </select>
        </Field>
        <Field label="Type">
          <select value={type} onChange={(event) => setOptions({ type: event.currentTarget.value })}>
            <option value="">all</option>
            {types.map((each) => <option key={each} value={each}>{each}</option>)}
          </select>
        </Field>
        <Field label="Find in the graph"><input type="search" value={sought.value} onInput={(event) => (sought.value = event.currentTarget.value)} /></Field>
        <span class="quiet" role="status">
          {plural(drawing.ids.length, "memory", "memories")}, {plural(drawing.sources.length, "link")}{all.cut && "; there are more, which are not drawn"}
        </span>
      </div>
      <Canvas drawing={drawing} centres={centres} sought={sought.value} />
      <details><summary>The same as a list</summary><List of={drawing} /></details>
    </>
  );
}

function Canvas({ drawing, centres, sought }: { drawing: Drawing; centres: string[]; sought: string }) {
  const drawn = useRef<Drawn | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(sought);
  const error = useSignal<unknown>(undefined);
  const content = useMemo(() => JSON.stringify(drawing), [drawing]); // loaded again, it is often the same
  useEffect(() => {
    let gone = false;
    import("../drawing")
      .then(({ drawGraph }) => {
        if (gone || !place.current) return;
        drawn.current = drawGraph(place.current, drawing, centres, (id) => go(memoryLink(id)), (failed) => (error.value = failed));
        if (latest.current) drawn.current.mark(latest.current);
      })
      .catch((failed) => (error.value = failed));
    return () => {
      gone = true;
      drawn.current?.remove();
      drawn.current = null;
    };
  }, [content]);
  useEffect(() => {
    latest.current = sought;
    drawn.current?.mark(sought);
  }, [sought]);
  if (error.value) return <ErrorNote error={error.value} />;
  return <div class="graph" ref={place} role="img" aria-label={`A graph of ${plural(drawing.ids.length, "memory", "memories")}`} />;
}

function List({ of }: { of: Drawing }) {
  return (
    <ul class="rows">
      {of.ids.slice(0, LISTED).map((id, at) => (
        <li class="row" key={id}><a href={memoryLink(id)}><bdi>{firstWords(of.texts[at]!, 120)}</bdi></a></li>
      ))}
    </ul>
  );
}
