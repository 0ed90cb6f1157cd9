/** Graph: what is linked with what, around a memory, an entity or a tag, or in the whole space. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ask, get } from "../api";
import { Empty, ErrorNote, Field, firstWords, memoryLink, plural, useLoaded, Waiting } from "../parts";
import { api, go, route, setOptions, to } from "../state";
import type { Drawn } from "../drawing";
import type { Edge, Entity, Graph, Listing, Memory, Stats } from "../types";

const MOST_STARTS = 100;
const MOST_NODES = 10_000;
const CHUNK = 1_000; // ids of one question
const LISTED = 40;

interface Shown {
  graph: Graph;
  centres: string[];
  cut: boolean;
}

async function around(kind: string, name: string, depth: number, stop: AbortSignal): Promise<Shown> {
  if (kind === "space") return wholeSpace(stop);
  let ids = [name];
  if (kind === "entity") ids = (await get<Memory[]>(api`/entities/${name}/memories`, { limit: MOST_STARTS }, stop)).map((each) => each.id);
  if (kind === "tag") ids = (await get<Listing>(api`/memories`, { tag: name, limit: MOST_STARTS }, stop)).memories.map((each) => each.id);
  if (!ids.length) return { graph: { nodes: {}, edges: [], dangling: [] }, centres: [], cut: false };
  return { graph: await ask<Graph>(api`/graph`, { ids, depth, include_hidden: false }, stop), centres: ids, cut: ids.length === MOST_STARTS };
}

async function wholeSpace(stop: AbortSignal): Promise<Shown> {
  const edges = await get<Edge[]>(api`/links`, {}, stop);
  const all = [...new Set(edges.flatMap((each) => [each.source, each.target]))];
  const ids = all.slice(0, MOST_NODES);
  const nodes: Record<string, Memory> = {};
  const chunks = Array.from({ length: Math.ceil(ids.length / CHUNK) }, (_, at) => ids.slice(at * CHUNK, (at + 1) * CHUNK));
  const pages = await Promise.all(chunks.map((some) => ask<Memory[]>(api`/memories/read`, { ids: some }, stop)));
  for (const each of pages.flat()) nodes[each.id] = each;
  const within = edges.filter((each) => each.source in nodes && each.target in nodes);
  return { graph: { nodes, edges: within, dangling: [] }, centres: [], cut: all.length > ids.length };
}

export function GraphView() {
  const [kind, name] = route.value.args;
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
  if (!shown.value) return <Waiting of={shown} />;
  const { graph, centres, cut } = shown.value;
  const relations = [...new Set(graph.edges.map((each) => each.rel))].sort();
  const edges = graph.edges.filter((each) => !rel || each.rel === rel);
  const linked = new Set(edges.flatMap((each) => [each.source, each.target]));
  const types = [...new Set(Object.values(graph.nodes).map((each) => each.type))].sort();
  const nodes = Object.fromEntries(
    Object.entries(graph.nodes).filter(([id, each]) => (!type || each.type === type) && (linked.has(id) || (!rel && centres.includes(id)))),
  );
  const count = Object.keys(nodes).length;
  if (!graph.edges.length)
    return (
      <Empty>
        <p>
          {kind === "space" ? "No memory of this space is linked to another." : count ? `${plural(count, "memory", "memories")}, and none of them is linked to another.` : "No memory fits."}{" "}
          Links come from agents, from conflicts, from reflection, and from you: open a memory and add one.
        </p>
        <List memories={Object.values(graph.nodes)} />
      </Empty>
    );
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
          {plural(count, "memory", "memories")}, {plural(edges.length, "link")}{cut && "; there are more, which are not drawn"}
        </span>
      </div>
      <Canvas graph={{ ...graph, nodes, edges }} centres={centres} sought={sought.value} />
      <details><summary>The same as a list</summary><List memories={Object.values(nodes)} /></details>
    </>
  );
}

function Canvas({ graph, centres, sought }: { graph: Graph; centres: string[]; sought: string }) {
  const drawn = useRef<Drawn | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    let gone = false;
    import("../drawing")
      .then(({ drawGraph }) => (gone || !place.current ? null : drawGraph(place.current, graph, centres, (id) => go(memoryLink(id)))))
      .then((made) => {
        if (gone) return made?.remove();
        drawn.current = made;
        made?.mark(sought);
      })
      .catch((failed) => (error.value = failed));
    return () => {
      gone = true;
      drawn.current?.remove();
      drawn.current = null;
    };
  }, [JSON.stringify([Object.keys(graph.nodes), graph.edges])]);
  useEffect(() => drawn.current?.mark(sought), [sought]);
  if (error.value) return <ErrorNote error={error.value} />;
  return <div class="graph" ref={place} role="img" aria-label={`A graph of ${plural(Object.keys(graph.nodes).length, "memory", "memories")}`} />;
}

function List({ memories }: { memories: Memory[] }) {
  return (
    <ul class="rows">
      {memories.slice(0, LISTED).map((each) => (
        <li class="row" key={each.id}><a href={memoryLink(each.id)}><bdi>{firstWords(each.text, 120)}</bdi></a></li>
      ))}
    </ul>
  );
}
