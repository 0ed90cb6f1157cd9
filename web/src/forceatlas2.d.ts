declare module "graphology-layout-forceatlas2/iterate.js" {
  /** Moves each node by one step; see the package for the numbers of a node and of an edge. */
  export default function iterate(settings: object, nodes: Float32Array, edges: Float32Array): object;
}
