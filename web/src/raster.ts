/** Draws very many points and lines into pixels itself: a canvas without a graphics card takes a hundred times as long. */
const DENSEST = 24; // lines over one pixel, from which on it no longer grows darker

export type Colour = [red: number, green: number, blue: number];

export class Raster {
  private readonly counts: Uint8Array;
  private readonly pixels: Uint32Array;
  private readonly image: ImageData;

  constructor(readonly width: number, readonly height: number) {
    this.image = new ImageData(width, height);
    this.counts = new Uint8Array(width * height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  clear(): void {
    this.pixels.fill(0);
  }

  /** Lines between points of the screen, darker where many cross; `ends` holds four numbers of each of `count` lines. */
  lines(ends: Float32Array, count: number, colour: Colour): void {
    this.counts.fill(0);
    for (let at = 0; at < 4 * count; at += 4) this.line(ends[at]!, ends[at + 1]!, ends[at + 2]!, ends[at + 3]!);
    const shades = Uint32Array.from({ length: DENSEST + 1 }, (_, times) => shade(colour, times));
    for (let at = 0; at < this.counts.length; at++) if (this.counts[at]) this.pixels[at] = shades[this.counts[at]!]!;
  }

  private line(x0: number, y0: number, x1: number, y1: number): void {
    const dx = x1 - x0;
    const dy = y1 - y0;
    if ((dx === 0 && (x0 < 0 || x0 > this.width - 1)) || (dy === 0 && (y0 < 0 || y0 > this.height - 1))) return;
    // The part of the line, from 0 to 1, that lies inside of the picture.
    let from = 0;
    let to = 1;
    if (dx !== 0) {
      from = Math.max(from, Math.min(-x0 / dx, (this.width - 1 - x0) / dx));
      to = Math.min(to, Math.max(-x0 / dx, (this.width - 1 - x0) / dx));
    }
    if (dy !== 0) {
      from = Math.max(from, Math.min(-y0 / dy, (this.height - 1 - y0) / dy));
      to = Math.min(to, Math.max(-y0 / dy, (this.height - 1 - y0) / dy));
    }
    if (from > to) return;
    const steps = Math.max(1, Math.ceil((to - from) * Math.max(Math.abs(dx), Math.abs(dy))));
    const stepX = ((to - from) * dx) / steps;
    const stepY = ((to - from) * dy) / steps;
    const { counts, width } = this;
    let x = x0 + from * dx;
    let y = y0 + from * dy;
    for (let step = 0; step <= steps; step++, x += stepX, y += stepY) {
      const at = (y | 0) * width + (x | 0);
      if (counts[at]! < DENSEST) counts[at]!++;
    }
  }

  /** A disc; what lies outside of the picture is left out. */
  dot(x: number, y: number, radius: number, colour: Colour): void {
    const value = pixel(colour, 255);
    const bottom = Math.min(this.height - 1, Math.floor(y + radius));
    for (let row = Math.max(0, Math.ceil(y - radius)); row <= bottom; row++) {
      const half = Math.sqrt(radius * radius - (row - y) * (row - y));
      const [left, right] = [Math.max(0, Math.ceil(x - half)), Math.min(this.width - 1, Math.floor(x + half))];
      if (left <= right) this.pixels.fill(value, row * this.width + left, row * this.width + right + 1);
    }
  }

  show(context: CanvasRenderingContext2D): void {
    context.putImageData(this.image, 0, 0);
  }
}

function shade(colour: Colour, times: number): number {
  return pixel(colour, Math.round(255 * Math.min(1, 0.25 + (0.75 * Math.log1p(times - 1)) / Math.log(DENSEST))));
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

function pixel([red, green, blue]: Colour, alpha: number): number {
  return (LITTLE_ENDIAN ? (alpha << 24) | (blue << 16) | (green << 8) | red : (red << 24) | (green << 16) | (blue << 8) | alpha) >>> 0;
}
