/** What the worker is asked to lay out, and where it begins. */
export interface LayoutTask {
  count: number;
  sources: ArrayLike<number>;
  targets: ArrayLike<number>;
}

/** x and y of each memory, from -1 to 1. */
export type Places = Float32Array<ArrayBuffer>;

export interface Placed {
  places: Places;
  done: boolean;
}

const TURN = 2.399963; // radians: the golden angle spreads points evenly

/** A spiral on which linked memories come one after the other. The same graph always begins, and so looks, the same. */
export function spiral(task: LayoutTask): Places {
  const places = new Float32Array(2 * task.count);
  walk(task).forEach((node, at) => {
    const far = Math.sqrt((at + 1) / task.count);
    places[2 * node] = far * Math.cos(at * TURN);
    places[2 * node + 1] = far * Math.sin(at * TURN);
  });
  return places;
}

/** All memories, each before those that are linked to it and were not met yet. */
function walk({ count, sources, targets }: LayoutTask): Int32Array {
  const begins = new Int32Array(count + 1);
  for (const ends of [sources, targets]) for (let at = 0; at < ends.length; at++) begins[ends[at]! + 1]!++;
  for (let node = 0; node < count; node++) begins[node + 1]! += begins[node]!;
  const filled = begins.slice(0, count);
  const linked = new Int32Array(2 * sources.length);
  for (let at = 0; at < sources.length; at++) {
    linked[filled[sources[at]!]!++] = targets[at]!;
    linked[filled[targets[at]!]!++] = sources[at]!;
  }
  const order = new Int32Array(count);
  const met = new Uint8Array(count);
  let known = 0;
  for (let first = 0; first < count; first++) {
    if (met[first]) continue;
    met[first] = 1;
    order[known++] = first;
    for (let next = known - 1; next < known; next++)
      for (let at = begins[order[next]!]!; at < begins[order[next]! + 1]!; at++) {
        const other = linked[at]!;
        if (met[other]) continue;
        met[other] = 1;
        order[known++] = other;
      }
  }
  return order;
}
