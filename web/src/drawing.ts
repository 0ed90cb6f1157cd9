/** Draws a graph of memories; loaded only where one is shown. Needs no graphics card. */
import { spiral, type LayoutTask, type Placed, type Places } from "./layout-task";
import { Raster, type Colour } from "./raster";
import type { Drawing } from "./types";

const LONGEST_LABEL = 42;
const NARROW = 600; // pixels: below, labels are short, or they would leave the canvas
const SHORT_LABEL = 16;
const LARGE = 2_000; // memories: such a graph is shown at once, and laid out while one looks at it
const MOST_ARROWS = 60; // memories, up to which links have arrows and names
const PADDING = 50; // pixels
const [RADIUS, STRONG_RADIUS] = [5, 9];
const LEAST_RADIUS = 0.8; // of a memory in a large graph, which grows as it comes nearer
const LABEL_SIZE = 12;
const [MOST_LABELS, MOST_TRIED] = [40, 400]; // in a large graph
const REACH = 10; // pixels around a memory in which it is pointed at
const CLICK = 4; // pixels: who moves further drags
const [LEAST_ZOOM, MOST_ZOOM] = [0.3, 60];
const REST_MS = 120; // without a movement, after which everything is drawn again
const QUICK_MS = 12; // a picture that takes longer is drawn without links and labels while it moves: a frame has 33

export interface Drawn {
  remove: () => void;
  /** Marks the memories whose text has these words, and makes the others pale. */
  mark: (words: string) => void;
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The same colour as three numbers; the style has all of them as six digits. */
function numbers(name: string): Colour {
  const value = Number.parseInt(colour(name).slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Computes the layout in a worker, and shows what it has from time to time; returns how to stop. */
function layOut(task: LayoutTask, show: (placed: Placed) => void, fail: (error: Error) => void): () => void {
  const worker = new Worker(new URL("./layout.ts", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<Placed>) => {
    if (data.done) worker.terminate();
    show(data);
  };
  worker.onerror = () => {
    worker.terminate();
    fail(new Error("The graph could not be laid out; load the page again."));
  };
  worker.postMessage(task);
  return () => worker.terminate();
}

/** A small graph is shown when it is laid out, a large one at once. */
export function drawGraph(
  place: HTMLElement, drawing: Drawing, centres: string[], open: (id: string) => void, fail: (error: Error) => void,
): Drawn {
  const picture = new Picture(place, drawing, centres, open);
  const task = { count: drawing.ids.length, sources: drawing.sources, targets: drawing.targets };
  if (picture.large) picture.show(spiral(task));
  const stop = layOut(task, ({ places, done }) => {
    if (done || picture.large) picture.show(places);
    if (done) place.dataset.settled = "1";
  }, fail);
  picture.whenRemoved(stop);
  return picture;
}

class Picture implements Drawn {
  private readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d")!;
  readonly large: boolean;
  private readonly labels: string[];
  private readonly ends: Float32Array;
  private readonly colours: Record<"accent" | "second" | "third" | "edge" | "line" | "text" | "quiet" | "panel", string>;
  private readonly shades: { second: Colour; third: Colour; edge: Colour; line: Colour };
  private readonly central: Set<number>;
  private readonly left = new AbortController();
  private raster: Raster | null = null;
  private places: Places = new Float32Array();
  private searched: string[] | null = null;
  private marked: Set<number> | null = null;
  private pointed = -1;
  private width = 0;
  private height = 0;
  // What is in the middle, and how large; `fits` until somebody moves it.
  private view = { x: 0, y: 0, scale: 1, zoom: 1 };
  private fits = true;
  private frame = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private moving = false;
  private stale = true; // whether the raster shows another state
  private fullMs = 0;

  constructor(private readonly place: HTMLElement, private readonly drawing: Drawing, centres: string[], private readonly open: (id: string) => void) {
    this.large = drawing.ids.length > LARGE;
    const wanted = new Set(centres);
    this.central = new Set(drawing.ids.flatMap((id, at) => (wanted.has(id) ? [at] : [])));
    const longest = place.clientWidth < NARROW ? SHORT_LABEL : LONGEST_LABEL;
    this.labels = drawing.ids.map((_, at) => shortened(drawing.titles[at] || drawing.texts[at]!, longest));
    this.ends = new Float32Array(4 * drawing.sources.length);
    this.colours = {
      accent: colour("--accent"), second: colour("--second"), third: colour("--third"), edge: colour("--edge"),
      line: colour("--line"), text: colour("--text"), quiet: colour("--quiet"), panel: colour("--panel"),
    };
    this.shades = { second: numbers("--second"), third: numbers("--third"), edge: numbers("--edge"), line: numbers("--line") };
    place.replaceChildren(this.canvas);
    this.listen();
  }

  whenRemoved(work: () => void): void {
    this.left.signal.addEventListener("abort", work);
  }

  remove(): void {
    this.left.abort();
    for (const name of ["drawn", "settled", "marked", "still", "zoom"]) delete this.place.dataset[name];
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    this.canvas.remove();
  }

  mark(words: string): void {
    const wanted = words.trim().toLowerCase();
    this.searched ??= this.drawing.ids.map((_, at) => `${this.drawing.titles[at]} ${this.drawing.texts[at]}`.toLowerCase());
    this.marked = wanted ? new Set(this.searched.flatMap((text, at) => (text.includes(wanted) ? [at] : []))) : null;
    this.place.dataset.marked = String(this.marked?.size ?? 0);
    this.later();
  }

  show(places: Places): void {
    if (this.left.signal.aborted) return;
    this.places = places;
    if (!this.width) this.measure();
    this.fit();
    if (this.place.dataset.drawn === undefined) this.draw();
    else this.later();
    this.place.dataset.drawn = String(this.drawing.ids.length);
  }

  // Where it is

  private measure(): void {
    this.width = Math.max(1, this.place.clientWidth);
    this.height = Math.max(1, this.place.clientHeight);
    const ratio = this.large ? 1 : devicePixelRatio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.raster = this.large ? new Raster(this.width, this.height) : null;
  }

  /** Shows all of it, unless somebody looks at a part. */
  private fit(): void {
    if (!this.fits) return;
    const [left, right, top, bottom] = bounds(this.places);
    const wide = (this.width - 2 * PADDING) / Math.max(right - left, 1e-6);
    const high = (this.height - 2 * PADDING) / Math.max(bottom - top, 1e-6);
    const scale = Math.min(wide, high, this.width, this.height);
    this.view = { x: (left + right) / 2, y: (top + bottom) / 2, scale: Math.max(1, scale), zoom: 1 };
  }

  private x(at: number): number {
    return this.width / 2 + (this.places[2 * at]! - this.view.x) * this.view.scale * this.view.zoom;
  }

  private y(at: number): number {
    return this.height / 2 + (this.places[2 * at + 1]! - this.view.y) * this.view.scale * this.view.zoom;
  }

  /** The memory at a point of the canvas, or -1. */
  private at(x: number, y: number): number {
    let [nearest, least] = [-1, REACH * REACH];
    for (let at = 0; at < this.labels.length; at++) {
      const far = (this.x(at) - x) ** 2 + (this.y(at) - y) ** 2;
      if (far < least) [nearest, least] = [at, far];
    }
    return nearest;
  }

  // How it is moved

  private listen(): void {
    const held = new Map<number, { x: number; y: number }>();
    let dragged = 0;
    const options = { signal: this.left.signal };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (!held.size) dragged = 0;
      held.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      if (event.isTrusted) this.canvas.setPointerCapture(event.pointerId);
    }, options);
    this.canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (!before) return this.point(this.at(event.offsetX, event.offsetY));
      const now = { x: event.offsetX, y: event.offsetY };
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
      dragged += Math.hypot(now.x - before.x, now.y - before.y);
      held.set(event.pointerId, now);
      if (dragged < CLICK) return;
      if (other) this.zoom(distance(now, other) / Math.max(1, distance(before, other)), other.x, other.y);
      else this.move(now.x - before.x, now.y - before.y);
    }, options);
    for (const end of ["pointerup", "pointercancel"] as const)
      this.canvas.addEventListener(end, (event) => {
        if (!held.delete(event.pointerId) || end === "pointercancel" || dragged >= CLICK || held.size) return;
        const at = this.at(event.offsetX, event.offsetY);
        if (at >= 0) this.open(this.drawing.ids[at]!);
      }, options);
    this.canvas.addEventListener("pointerleave", () => this.point(-1), options);
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { ...options, passive: false });
    const resized = new ResizeObserver(() => {
      if (!this.width || (this.place.clientWidth === this.width && this.place.clientHeight === this.height)) return;
      this.measure();
      this.fit();
      this.later();
    });
    resized.observe(this.place);
    this.whenRemoved(() => resized.disconnect());
  }

  private move(dx: number, dy: number): void {
    const size = this.view.scale * this.view.zoom;
    this.view = { ...this.view, x: this.view.x - dx / size, y: this.view.y - dy / size };
    this.moved();
  }

  /** What is at this point of the canvas stays there. */
  private zoom(times: number, x: number, y: number): void {
    const zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, this.view.zoom * times));
    const [before, after] = [this.view.scale * this.view.zoom, this.view.scale * zoom];
    const [right, down] = [x - this.width / 2, y - this.height / 2];
    this.view = { ...this.view, zoom, x: this.view.x + right / before - right / after, y: this.view.y + down / before - down / after };
    this.moved();
  }

  private moved(): void {
    this.fits = false;
    this.moving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.moving = false;
      this.later();
    }, REST_MS);
    this.later();
  }

  private point(at: number): void {
    if (this.pointed === at) return;
    this.pointed = at;
    this.canvas.classList.toggle("pointed", at >= 0);
    this.later(false);
  }

  // What is drawn

  private later(stale = true): void {
    this.stale ||= stale;
    delete this.place.dataset.still;
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame = 0;
    if (!this.width) return; // nothing is laid out yet
    const began = performance.now();
    const quickly = this.large && this.moving && this.fullMs > QUICK_MS;
    this.context.clearRect(0, 0, this.width, this.height);
    if (this.raster && this.stale) this.drawMany(this.raster, !quickly);
    if (this.raster) this.raster.show(this.context);
    else this.drawFew();
    if (!quickly) this.drawLabels();
    if (this.pointed >= 0) this.drawLabel(this.pointed, true);
    if (this.stale && !quickly) this.fullMs = performance.now() - began;
    this.stale = false;
    this.place.dataset.zoom = this.view.zoom.toFixed(1);
    if (!this.moving) this.place.dataset.still = "1"; // everything that was changed is drawn
  }

  private drawMany(raster: Raster, links: boolean): void {
    const { second, third, edge, line } = this.shades;
    const { sources, targets, ids } = this.drawing;
    raster.clear();
    if (links) {
      for (let at = 0; at < sources.length; at++) {
        this.ends[4 * at] = this.x(sources[at]!);
        this.ends[4 * at + 1] = this.y(sources[at]!);
        this.ends[4 * at + 2] = this.x(targets[at]!);
        this.ends[4 * at + 3] = this.y(targets[at]!);
      }
      raster.lines(this.ends, sources.length, this.marked ? line : edge);
    }
    const radius = this.radius(0);
    for (let at = 0; at < ids.length; at++) raster.dot(this.x(at), this.y(at), radius, this.marked ? line : second);
    for (const at of this.marked ?? []) raster.dot(this.x(at), this.y(at), radius + 2, third);
  }

  private drawFew(): void {
    const { sources, targets, rels, relations, ids } = this.drawing;
    const named = ids.length <= MOST_ARROWS;
    this.context.lineWidth = 1.5;
    this.context.strokeStyle = this.context.fillStyle = this.colours.edge;
    for (let at = 0; at < sources.length; at++) this.drawLink(sources[at]!, targets[at]!, named ? relations[rels[at]!]! : "");
    for (let at = 0; at < ids.length; at++) {
      const marked = this.marked?.has(at);
      this.context.fillStyle = marked ? this.colours.third : this.marked ? this.colours.line : this.central.has(at) ? this.colours.accent : this.colours.second;
      this.context.beginPath();
      this.context.arc(this.x(at), this.y(at), this.radius(at), 0, 2 * Math.PI);
      this.context.fill();
    }
  }

  private radius(at: number): number {
    if (this.large) return Math.min(RADIUS, Math.max(LEAST_RADIUS, (this.view.scale * this.view.zoom) / 2 / Math.sqrt(this.labels.length)));
    return this.marked?.has(at) || this.central.has(at) ? STRONG_RADIUS : RADIUS;
  }

  private drawLink(from: number, to: number, name: string): void {
    const [x0, y0, x1, y1] = [this.x(from), this.y(from), this.x(to), this.y(to)];
    const length = Math.hypot(x1 - x0, y1 - y0);
    this.context.beginPath();
    this.context.moveTo(x0, y0);
    this.context.lineTo(x1, y1);
    this.context.stroke();
    if (!name || length < 2 * STRONG_RADIUS) return;
    const [right, down] = [(x1 - x0) / length, (y1 - y0) / length];
    const [tipX, tipY] = [x1 - right * (this.radius(to) + 1), y1 - down * (this.radius(to) + 1)];
    this.context.beginPath();
    this.context.moveTo(tipX, tipY);
    this.context.lineTo(tipX - 8 * right + 4 * down, tipY - 8 * down - 4 * right);
    this.context.lineTo(tipX - 8 * right - 4 * down, tipY - 8 * down + 4 * right);
    this.context.fill();
    const before = this.context.fillStyle;
    this.context.fillStyle = this.colours.quiet;
    this.context.font = "10px system-ui, sans-serif";
    this.context.textAlign = "center";
    this.context.fillText(name.replaceAll("_", " "), (x0 + x1) / 2, (y0 + y1) / 2 - 3);
    this.context.textAlign = "left";
    this.context.fillStyle = before;
  }

  /** As many as have room, in the order of the memories; where some are marked, only of those. */
  private drawLabels(): void {
    const most = this.large ? MOST_LABELS : this.labels.length;
    const rows = new Map<number, [left: number, right: number][]>(); // where labels stand already
    let drawn = 0;
    let tried = 0;
    for (const at of this.marked ?? this.labels.keys()) {
      const [x, y] = [this.x(at), this.y(at)];
      if (x < 0 || y < 0 || x > this.width || y > this.height) continue;
      if (this.large && ++tried > MOST_TRIED) return;
      const [left, width] = this.labelled(at);
      const near = [Math.floor(y / LABEL_SIZE), Math.floor(y / LABEL_SIZE) + 1];
      if (near.some((row) => rows.get(row)?.some((taken) => taken[0] < left + width && left < taken[1]))) continue;
      for (const row of near) rows.set(row, [...(rows.get(row) ?? []), [left, left + width]]);
      this.drawLabel(at, false);
      if (++drawn === most) return;
    }
  }

  /** Where the label begins, and how wide it is: to the right of its memory, or to the left where it would leave the canvas. */
  private labelled(at: number): [left: number, width: number] {
    this.context.font = `${LABEL_SIZE}px system-ui, sans-serif`;
    const [x, away, width] = [this.x(at), this.radius(at) + 3, this.context.measureText(this.labels[at]!).width];
    return [x + away + width <= this.width || x - away - width < 0 ? x + away : x - away - width, width];
  }

  private drawLabel(at: number, alone: boolean): void {
    const [[left, width], y] = [this.labelled(at), this.y(at)];
    if (alone) {
      this.context.fillStyle = this.colours.panel;
      this.context.fillRect(left - 2, y - LABEL_SIZE, width + 4, 1.6 * LABEL_SIZE);
    }
    this.context.fillStyle = this.colours.text;
    this.context.fillText(this.labels[at]!, left, y + LABEL_SIZE / 3);
  }
}

function shortened(text: string, longest: number): string {
  const line = text.slice(0, LONGEST_LABEL * 2).replace(/\s+/g, " ");
  return line.length > longest ? `${line.slice(0, longest).trimEnd()}…` : line;
}

function bounds(places: Places): [number, number, number, number] {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let at = 0; at < places.length; at += 2) {
    left = Math.min(left, places[at]!);
    right = Math.max(right, places[at]!);
    top = Math.min(top, places[at + 1]!);
    bottom = Math.max(bottom, places[at + 1]!);
  }
  return left <= right ? [left, right, top, bottom] : [0, 0, 0, 0];
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
