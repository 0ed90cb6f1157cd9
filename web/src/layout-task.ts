/** What the worker is asked to lay out, and where it begins. */
export interface LayoutTask {
  nodes: string[];
  edges: [string, string][];
}

const TURN = 2.399963; // radians: the golden angle spreads points evenly

/** The same graph always begins, and so looks, the same. */
export function spiral(nodes: string[]): Record<string, { x: number; y: number }> {
  return Object.fromEntries(
    nodes.map((id, at) => [id, { x: Math.sqrt(at + 1) * Math.cos(at * TURN), y: Math.sqrt(at + 1) * Math.sin(at * TURN) }]),
  );
}
