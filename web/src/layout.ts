/** Computes where the memories of a graph are drawn; runs in a worker, so that the page stays quick. */
import Graph from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import { spiral, type LayoutTask } from "./layout-task";

const STEPS = 300; // after which a graph of some hundred memories no longer moves visibly
const MOST_WORK = 400_000; // steps times memories: a large graph is laid out more roughly

self.onmessage = (event: MessageEvent<LayoutTask>) => {
  const graph = new Graph({ multi: false, type: "undirected" });
  const { nodes, edges } = event.data;
  for (const [id, place] of Object.entries(spiral(nodes))) graph.addNode(id, place);
  for (const [source, target] of edges) if (source !== target) graph.mergeEdge(source, target);
  const iterations = Math.max(30, Math.min(STEPS, Math.floor(MOST_WORK / Math.max(1, nodes.length))));
  const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: nodes.length > 500, gravity: 1, adjustSizes: false };
  self.postMessage(nodes.length > 1 ? forceAtlas2(graph, { iterations, settings }) : { [nodes[0] ?? ""]: { x: 0, y: 0 } });
};
