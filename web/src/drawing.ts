/** Draws a graph of memories; loaded only where one is shown. */
import Graph from "graphology";
import Sigma from "sigma";
import { spiral, type LayoutTask } from "./layout-task";
import type { Graph as Memories } from "./types";

const LONGEST_LABEL = 42;
const NARROW = 600; // pixels: below, labels are short, or they would leave the canvas
const SHORT_LABEL = 16;
const LARGE = 2_000; // memories: such a graph is shown at once, and laid out while one looks at it

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function layout(task: LayoutTask): Promise<Record<string, { x: number; y: number }>> {
  const worker = new Worker(new URL("./layout.ts", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = (event) => {
      worker.terminate();
      resolve(event.data);
    };
    worker.onerror = () => {
      worker.terminate();
      reject(new Error("The graph could not be laid out; load the page again."));
    };
    worker.postMessage(task);
  });
}

/** To the right of its node, or to the left where it would leave the canvas. */
function drawLabel(context: CanvasRenderingContext2D, data: { label: string | null; x: number; y: number; size: number }, settings: { labelSize: number; labelFont: string; labelWeight: string }): void {
  if (!data.label) return;
  context.fillStyle = colour("--text");
  context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
  const width = context.measureText(data.label).width;
  const right = data.x + data.size + 3;
  const fits = right + width <= context.canvas.clientWidth || data.x - data.size - 3 - width < 0;
  context.fillText(data.label, fits ? right : data.x - data.size - 3 - width, data.y + settings.labelSize / 3);
}

export interface Drawn {
  remove: () => void;
  /** Marks the memories whose text has these words, and makes the others pale. */
  mark: (words: string) => void;
}

export async function drawGraph(
  place: HTMLElement, memories: Memories, centres: string[], open: (id: string) => void,
): Promise<Drawn> {
  const ids = Object.keys(memories.nodes);
  const task: LayoutTask = { nodes: ids, edges: memories.edges.map((each) => [each.source, each.target]) };
  const large = ids.length > LARGE;
  const places = large ? spiral(ids) : await layout(task);
  const [accent, second, faint] = ["--accent", "--second", "--edge"].map(colour) as [string, string, string];
  const graph = new Graph({ multi: true });
  const longest = place.clientWidth < NARROW ? SHORT_LABEL : LONGEST_LABEL;
  for (const id of ids) {
    const text = memories.nodes[id]!.title || memories.nodes[id]!.text.slice(0, LONGEST_LABEL * 2).replace(/\s+/g, " ");
    const centre = centres.includes(id);
    graph.addNode(id, {
      ...places[id], size: centre ? 9 : 5, color: centre ? accent : second,
      label: text.length > longest ? `${text.slice(0, longest).trimEnd()}…` : text,
    });
  }
  for (const edge of memories.edges)
    if (graph.hasNode(edge.source) && graph.hasNode(edge.target))
      graph.addEdge(edge.source, edge.target, { label: edge.rel, size: 1.500, color: faint });
  const small = ids.length <= 60;
  const drawn = new Sigma(graph, place, {
    renderEdgeLabels: small, defaultEdgeType: large ? "line" : "arrow", hideEdgesOnMove: large, labelColor: { color: colour("--text") }, edgeLabelColor: { color: colour("--quiet") },
    labelFont: "system-ui, sans-serif", edgeLabelFont: "system-ui, sans-serif", labelSize: 12, edgeLabelSize: 10, labelRenderedSizeThreshold: small ? 1 : 6, stagePadding: 50, defaultDrawNodeLabel: drawLabel,
  });
  drawn.on("clickNode", ({ node }) => open(node));
  place.dataset.drawn = String(graph.order);
  if (large)
    void layout(task).then((better) => {
      graph.updateEachNodeAttributes((id, old) => ({ ...old, ...better[id] }));
      place.dataset.settled = "1";
    });
  function mark(words: string): void {
    const wanted = words.trim().toLowerCase();
    const marked = new Set(wanted ? ids.filter((id) => `${memories.nodes[id]!.title} ${memories.nodes[id]!.text}`.toLowerCase().includes(wanted)) : []);
    place.dataset.marked = String(marked.size);
    const [strong, pale] = [colour("--third"), colour("--line")];
    drawn.setSetting("nodeReducer", wanted ? (id, data) => (marked.has(id) ? { ...data, color: strong, size: 9, forceLabel: true, zIndex: 1 } : { ...data, color: pale, label: "" }) : null);
  }
  return { remove: () => drawn.kill(), mark };
}
