/** Computes where the memories of a graph are drawn; runs in a worker, so that the page stays quick. */
import iterate from "graphology-layout-forceatlas2/iterate.js";
import { spiral, type LayoutTask, type Placed, type Places } from "./layout-task";

const STEPS = 300; // after which a graph of some hundred memories no longer moves visibly
const LEAST_STEPS = 30;
const MOST_WORK = 400_000; // steps times memories: a large graph is laid out more roughly
const TELL_MS = 500; // between two looks at a layout that takes long
const SPREAD = 100; // of the beginning, so that the first forces are neither huge nor tiny
const [NODE_VALUES, EDGE_VALUES] = [10, 3]; // numbers that the algorithm holds of each
const [MASS, CONVERGENCE, SIZE] = [6, 7, 8]; // places among those of a node

self.onmessage = (event: MessageEvent<LayoutTask>) => {
  const { count, sources, targets } = event.data;
  const nodes = new Float32Array(count * NODE_VALUES);
  spiral(event.data).forEach((value, at) => (nodes[(at >> 1) * NODE_VALUES + (at & 1)] = value * SPREAD));
  for (let at = 0; at < count; at++) for (const value of [MASS, CONVERGENCE, SIZE]) nodes[at * NODE_VALUES + value] = 1;
  const edges = new Float32Array(sources.length * EDGE_VALUES);
  let used = 0;
  for (let at = 0; at < sources.length; at++) {
    const [from, to] = [sources[at]! * NODE_VALUES, targets[at]! * NODE_VALUES];
    if (from === to) continue;
    nodes[from + MASS]!++;
    nodes[to + MASS]!++;
    edges.set([from, to, 1], used);
    used += EDGE_VALUES;
  }
  const settings = {
    linLogMode: false, outboundAttractionDistribution: false, adjustSizes: false, edgeWeightInfluence: 1,
    strongGravityMode: true, gravity: 1, scalingRatio: 10, slowDown: 1 + Math.log(count),
    barnesHutOptimize: count > 500, barnesHutTheta: 1,
  };
  const steps = Math.max(LEAST_STEPS, Math.min(STEPS, Math.floor(MOST_WORK / count)));
  let told = performance.now();
  for (let step = 0; count > 1 && step < steps; step++) {
    iterate(settings, nodes, edges.subarray(0, used));
    if (performance.now() - told < TELL_MS) continue;
    tell({ places: placed(nodes, count), done: false });
    told = performance.now();
  }
  tell({ places: placed(nodes, count), done: true });
};

function tell(message: Placed): void {
  self.postMessage(message, { transfer: [message.places.buffer] });
}

/** Around 0, from -1 to 1: each look at the layout has the same size. */
function placed(nodes: Float32Array, count: number): Places {
  const places = new Float32Array(2 * count);
  for (const axis of [0, 1]) {
    let sum = 0;
    for (let at = 0; at < count; at++) sum += nodes[at * NODE_VALUES + axis]!;
    for (let at = 0; at < count; at++) places[2 * at + axis] = nodes[at * NODE_VALUES + axis]! - sum / count;
  }
  const most = places.reduce((known, value) => Math.max(known, Math.abs(value)), 1e-9);
  return places.map((value) => value / most);
}
