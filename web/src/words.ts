/** Which words of two texts differ. */

export interface Piece {
  text: string;
  differs: boolean;
}

const MOST_CELLS = 4_000_000; // of the table: longer texts are compared by their ends alone

function split(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

/** Both texts in pieces; what is not in the other one differs. */
export function compare(before: string, after: string): [Piece[], Piece[]] {
  const a = split(before);
  const b = split(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const [inA, inB] = common(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const mark = (words: string[], shared: boolean[]) =>
    joined(words.map((text, at) => [text, at < head || at >= words.length - tail || shared[at - head] === true]));
  return [mark(a, inA), mark(b, inB)];
}

/** For each word of both, whether it is part of a longest common sequence. */
function common(a: string[], b: string[]): [boolean[], boolean[]] {
  const inA = a.map(() => false);
  const inB = b.map(() => false);
  if (!a.length || !b.length || a.length * b.length > MOST_CELLS) return [inA, inB];
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] =
        a[i] === b[j]
          ? table[(i + 1) * width + j + 1]! + 1
          : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      inA[i++] = true;
      inB[j++] = true;
    } else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) i++;
    else j++;
  }
  return [inA, inB];
}

function joined(words: [string, boolean][]): Piece[] {
  const pieces: Piece[] = [];
  for (const [text, same] of words) {
    const last = pieces.at(-1);
    if (last && (last.differs !== same || !text.trim())) last.text += text;
    else pieces.push({ text, differs: !same });
  }
  return pieces;
}
