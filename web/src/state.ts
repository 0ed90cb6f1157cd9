/** What the whole page knows: who uses it, where it is, what changed, what was said. */
import { batch, computed, signal } from "@preact/signals";
import { firstSession } from "./boot";
import { get, path, Problem, send, type Answer } from "./api";
import type { Job, JournalEntry, ReviewItem, Session, SpaceNote } from "./types";

export const session = signal<Session | null | undefined>(undefined);
export const spaces = signal<SpaceNote[]>([]);
export const reviewCount = signal<number | null>(null);
/** Counts what was written since the page was opened, here and elsewhere; views load again when it grows. */
export const changed = signal(0);
export const lastChanges = signal<JournalEntry[]>([]);
export const connected = signal(true);

// Where the page is

export interface Route {
  space: string;
  view: string;
  args: string[];
  options: URLSearchParams;
}

const hash = signal(location.hash);
addEventListener("hashchange", () => (hash.value = location.hash));

export const route = computed<Route>(() => {
  const [way, query] = hash.value.replace(/^#\/?/, "").split("?");
  const [space, view, ...args] = (way ?? "").split("/").map(decodeURIComponent);
  return { space: space || session.value?.space || "", view: view || "search", args, options: new URLSearchParams(query) };
});
export const space = computed(() => route.value.space);

export function to(view: string, ...args: string[]): string {
  return toSpace(space.value, view, ...args);
}

export function toSpace(name: string, view: string, ...args: string[]): string {
  return `#/${[name, view, ...args].map(encodeURIComponent).join("/")}`;
}

export function go(address: string): void {
  location.hash = address;
}

/** Changes what stands behind the question mark of the address, and adds nothing to the way back. */
export function setOptions(values: Record<string, string>): void {
  const options = new URLSearchParams(route.value.options);
  for (const [name, value] of Object.entries(values)) {
    if (value) options.set(name, value);
    else options.delete(name);
  }
  const { view, args } = route.value;
  const address = to(view, ...args) + (options.size ? `?${options}` : "");
  history.replaceState(null, "", address);
  hash.value = address;
}

/** The address of something in the space that is open. */
export function api(parts: TemplateStringsArray, ...names: string[]): string {
  return path`/v1/spaces/${space.value}` + path(parts, ...names);
}

// What one may do

const ROLES = ["reader", "writer", "reviewer", "admin"];
export function may(role: "writer" | "reviewer" | "admin"): boolean {
  return ROLES.indexOf(session.value?.role ?? "reader") >= ROLES.indexOf(role);
}

// What is said

export interface Toast {
  number: number;
  text: string;
  bad: boolean;
  undo?: () => Promise<unknown>;
}

export const toasts = signal<Toast[]>([]);
const SHOWN_MS = 12_000; // long enough to read a sentence and to reach the button
const MOST_TOASTS = 3;
let toastNumber = 0;

export function say(text: string, undo?: () => Promise<unknown>, bad = false): void {
  const toast = { number: ++toastNumber, text, undo, bad };
  toasts.value = [...toasts.value.slice(1 - MOST_TOASTS), toast];
  setTimeout(() => dismiss(toast.number), SHOWN_MS);
}

export function dismiss(number: number): void {
  toasts.value = toasts.value.filter((each) => each.number !== number);
}

export function sayProblem(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (error instanceof Problem && error.status === 401) session.value = null;
  say(error instanceof Error ? error.message : String(error), undefined, true);
}

/** The operations of this page, the last one at the end: Ctrl-Z takes them back. */
const done = signal<{ space: string; operations: string[]; text: string }[]>([]);

/** Does something, says what was done, and offers to undo it. Returns null where it was refused, which is said. */
export async function act<T>(text: string, work: () => Promise<Answer<T>>): Promise<T | null> {
  try {
    const answer = await work();
    noteDone(text, answer.operation);
    return answer.value;
  } catch (error) {
    sayProblem(error);
    return null;
  }
}

export function noteDone(text: string, ...written: string[]): void {
  const where = space.value;
  const operations = written.filter(Boolean);
  if (operations.length) done.value = [...done.value, { space: where, operations, text }];
  say(text, operations.length ? () => undo(where, operations, text) : undefined);
  changed.value++;
}

/** Takes operations back, the last one first. */
export async function undo(where: string, operations: string[], text: string): Promise<boolean> {
  const answer = await act(`Undone: ${text}`, async () => {
    let last: Answer<unknown> = { value: null, operation: "" };
    for (const each of operations.toReversed())
      last = await send("POST", path`/v1/spaces/${where}/operations/${each}/undo`, { body: {} });
    return operations.length === 1 ? last : { ...last, operation: "" };
  });
  if (answer !== null) done.value = done.value.filter((each) => each.operations !== operations);
  return answer !== null;
}

export async function undoLast(): Promise<void> {
  const last = done.value.at(-1);
  if (!last) return say("There is nothing to undo from this page; the journal has everything else.");
  done.value = done.value.slice(0, -1);
  dismissUndo();
  await undo(last.space, last.operations, last.text);
  done.value = done.value.slice(0, -1); // an undo is not undone by the same key
}

function dismissUndo(): void {
  toasts.value = toasts.value.filter((each) => !each.undo);
}

// Who uses it

export async function start(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("login");
  if (code) {
    history.replaceState(null, "", location.pathname);
    hash.value = "";
    try {
      session.value = (await send<Session>("POST", "/session", { body: { code } })).value;
      return;
    } catch (error) {
      if (!(await resumed())) sayProblem(error);
      return;
    }
  }
  await resumed();
}

async function resumed(): Promise<boolean> {
  try {
    const first = await firstSession;
    const known: Session = first?.ok && !first.bodyUsed ? await first.json() : await get<Session>("/session");
    session.value = known.user === null ? null : known;
  } catch (error) {
    session.value = null;
    sayProblem(error);
  }
  return session.value !== null;
}

export async function signIn(token: string): Promise<void> {
  session.value = (await send<Session>("POST", "/session", { body: { token } })).value;
}

export async function signOut(): Promise<void> {
  await send("DELETE", "/session");
  batch(() => {
    session.value = null;
    done.value = [];
    toasts.value = [];
    spaces.value = [];
  });
}

// Long work

const LOOK_MS = 300;

/** Starts a job of the server, and tells how far it is; returns what came of it. */
export async function runJob<T>(start: () => Promise<Answer<Job<T>>>, tell: (job: Job<T>) => void): Promise<T> {
  let job = (await start()).value;
  while (job.state === "running") {
    tell(job);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    job = await get<Job<T>>(path`/v1/jobs/${job.id}`);
  }
  if (job.state === "done") return job.result as T;
  if (job.state === "lost") throw new Problem(0, "Lost", "The server that did this has ended.", "Start it again.");
  throw new Problem(0, job.error?.title ?? "", job.error?.detail ?? job.error?.title ?? "It failed.", job.error?.remedy ?? "");
}

// What happens elsewhere

const GATHER_MS = 150; // changes that come together are shown together
const MOST_REVIEW = 100;

/** Listens to the changes of a space; returns how to stop. A hidden page does not listen: browsers allow six
 * connections to a server, for all pages together. */
export function listen(name: string): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let seq: number | null = null;
  let waiting: JournalEntry[] = [];

  function tell(): void {
    timer = undefined;
    batch(() => {
      lastChanges.value = waiting;
      changed.value++;
    });
    waiting = [];
  }

  async function open(): Promise<void> {
    if (source || stopped || document.hidden) return;
    if (seq === null) {
      const last = await get<JournalEntry[]>(path`/v1/spaces/${name}/journal`, { limit: 1 }).catch(() => []);
      seq = last[0]?.seq ?? 0;
      if (stopped || document.hidden) return;
    }
    source = new EventSource(path`/v1/spaces/${name}/changes` + `?since=${seq}`);
    source.onopen = () => (connected.value = true);
    source.onerror = () => (connected.value = source?.readyState === EventSource.OPEN);
    source.addEventListener("change", (event) => {
      const entry = JSON.parse((event as MessageEvent<string>).data) as JournalEntry;
      seq = entry.seq;
      waiting.push(entry);
      timer ??= setTimeout(tell, GATHER_MS);
    });
  }

  function close(): void {
    source?.close();
    source = null;
  }

  const look = () => (document.hidden ? close() : void open());
  document.addEventListener("visibilitychange", look);
  void open();
  return () => {
    stopped = true;
    document.removeEventListener("visibilitychange", look);
    clearTimeout(timer);
    close();
  };
}

export async function loadSpaces(): Promise<void> {
  spaces.value = await get<SpaceNote[]>("/v1/spaces");
}

export async function loadReviewCount(): Promise<void> {
  const items = await get<ReviewItem[]>(api`/review`, { limit: MOST_REVIEW });
  reviewCount.value = items.length;
}
