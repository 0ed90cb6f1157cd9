/** What the whole page knows: who uses it, where it is, what changed, what was said. */
import { batch, computed, signal, type Signal } from "@preact/signals";
import { firstSession } from "./boot";
import { get, path, Problem, send, type Answer } from "./api";
import type { Job, JournalEntry, Memory, Operation, RememberResult, ReviewItem, Session, SpaceNote } from "./types";

const forgets: (() => void)[] = [];

/** A value that is somebody's own: it is as at first when the session ends, so that the next person does not see it. */
export function ofSession<T>(first: T): Signal<T> {
  const value = signal(first);
  forgets.push(() => (value.value = first));
  return value;
}

export const session = signal<Session | null | undefined>(undefined);
export const spaces = ofSession<SpaceNote[]>([]);
export const reviewCount = ofSession<number | null>(null);
/** Counts what was written since the page was opened, here and elsewhere; views load again when it grows. */
export const changed = signal(0);
export const lastChanges = ofSession<JournalEntry[]>([]);
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
  const [space, view, ...args] = names(way ?? "");
  return { space: space || session.value?.space || "", view: view || "search", args, options: new URLSearchParams(query) };
});

function names(way: string): string[] {
  try {
    return way.split("/").map(decodeURIComponent);
  } catch {
    return ["", way]; // somebody has changed it by hand, and no view is called so
  }
}

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

const DOTS = [".", ".."];

/** The address of something in the space that is open. */
export function api(parts: TemplateStringsArray, ...names: string[]): string {
  const own = path`/v1/spaces/${space.value}`;
  const dots = names.find((name) => DOTS.includes(name));
  if (dots === undefined) return own + path(parts, ...names);
  // Browsers take dots out of an address. Memories may have such ids from before they were refused.
  const rest = path(parts, ...names.map((name) => (name === dots ? "-" : name)));
  return `${own}${rest}?arguments=${encodeURIComponent(JSON.stringify({ id: dots }))}`;
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
  label: string;
}

export const toasts = ofSession<Toast[]>([]);
const SHOWN_MS = 12_000; // long enough to read a sentence and to reach the button
const MOST_TOASTS = 3;
let toastNumber = 0;

export function say(text: string, undo?: () => Promise<unknown>, bad = false, label = "Undo"): void {
  const toast = { number: ++toastNumber, text, undo, bad, label };
  toasts.value = [...toasts.value.slice(1 - MOST_TOASTS), toast];
  setTimeout(() => dismiss(toast.number), SHOWN_MS);
}

export function dismiss(number: number): void {
  toasts.value = toasts.value.filter((each) => each.number !== number);
}

export function sayProblem(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (sessionEnded(error)) return;
  sayWords(error);
}

function sayWords(error: unknown): void {
  say(error instanceof Error ? error.message : String(error), undefined, true);
}

/** The operations of this page, the last one at the end: Ctrl-Z takes them back. */
const done = ofSession<{ space: string; operations: string[]; text: string }[]>([]);
const undoing = new Set<string>(); // operations whose undo is asked for, and not answered yet

/** Does something in a space, says what was done, and offers to undo it. Returns null where it was refused, which is
 * said. Another space may be open when it is done. */
export async function act<T>(
  text: string | ((value: T) => string), work: () => Promise<Answer<T>>, where = space.value,
): Promise<T | null> {
  try {
    const answer = await work();
    noteDone(where, typeof text === "string" ? text : text(answer.value), answer.operation);
    return answer.value;
  } catch (error) {
    sayProblem(error);
    return null;
  }
}

/** Besides what was done: that conflicts wait, and the notes of the server. */
export function sayNotes({ noted, notes }: RememberResult): void {
  const conflicts = noted ? ["It may conflict with what is remembered already; decide in Review."] : [];
  const more = [...conflicts, ...notes].join(" ");
  if (more) say(more);
}

/** `where` is the space that the work was begun in. */
export function noteDone(where: string, text: string, ...written: string[]): void {
  const operations = written.filter(Boolean);
  if (operations.length) done.value = [...done.value, { space: where, operations, text }];
  say(text, operations.length ? () => undo(where, operations, text) : undefined);
  changed.value++;
}

/** Takes operations back, the last one first; `cascade` takes back what depends on them, too. Returns the operation that
 * did it, which is empty where several did, and null where it was refused, which is said. */
export async function undo(where: string, operations: string[], text: string, cascade = false): Promise<string | null> {
  const written: string[] = [];
  for (const each of operations) undoing.add(each);
  try {
    for (const each of operations.toReversed()) {
      const address = path`/v1/spaces/${where}/operations/${each}/undo`;
      try {
        written.push((await send("POST", address, { body: cascade ? { cascade } : {} })).operation);
      } catch (error) {
        if (isOver(error)) forgetDone(each);
        throw error;
      }
      forgetDone(each);
    }
  } catch (error) {
    const left = operations.slice(0, operations.length - written.length);
    sayRefused(error, () => undo(where, left, text, true));
    return null;
  } finally {
    for (const each of operations) undoing.delete(each);
  }
  const by = written.length === 1 ? written[0]! : "";
  noteDone(where, `Undone: ${text}`, by);
  return by;
}

const isBlocked = (error: unknown) => error instanceof Problem && error.kind === "UndoBlocked" && error.later.length > 0;
/** Whether the operation cannot be undone any more, such as one that was undone already. */
const isOver = (error: unknown) =>
  error instanceof Problem && ["UndoRefused", "UndoBlocked", "OperationNotFound"].includes(error.kind) && !isBlocked(error);

/** Ctrl-Z goes on with what was done before it. */
function forgetDone(operation: string): void {
  done.value = done.value.flatMap((each) => {
    if (!each.operations.includes(operation)) return [each];
    const operations = each.operations.filter((other) => other !== operation);
    return operations.length ? [{ ...each, operations }] : [];
  });
}

/** Without the remedy, which is one of the command line. */
function sayRefused(error: unknown, undoAll: () => Promise<unknown>): void {
  if (!(error instanceof Problem && (isBlocked(error) || isOver(error)))) return sayProblem(error);
  const text = `Not undone. ${error.detail}`;
  if (isOver(error)) say(text, undefined, true);
  else if (error.later.every(mayUndo)) say(text, undoAll, true, "Undo these too");
  else say(`${text} Undoing what others did needs the role reviewer.`, undefined, true);
}

export const mayUndo = (operation: Operation) => may("writer") && (operation.actor === session.value?.user || may("reviewer"));

export async function undoLast(): Promise<void> {
  const last = done.value.findLast((each) => !each.operations.some((operation) => undoing.has(operation)));
  if (!last) return say("There is nothing to undo from this page; the journal has everything else.");
  dismissUndo();
  const by = await undo(last.space, last.operations, last.text);
  if (by) forgetDone(by); // an undo is not undone by the same key
}

function dismissUndo(): void {
  toasts.value = toasts.value.filter((each) => !each.undo);
}

// What is written and not yet saved

/** An edit of a memory; `base` is the memory that it began with, and `tags` is null where nobody touched them. */
export interface Draft {
  base: Memory;
  text: string;
  title: string;
  tags: string | null;
  importance: string;
}

/** By space and id. They outlive a session that ends by itself, for the same user. */
export const drafts = signal<Record<string, Draft>>({});
/** A new memory that is not sent yet, by space. */
export const unsent = signal<Record<string, string>>({});

export function newDraft(base: Memory): Draft {
  return { base, text: base.text, title: base.title, tags: null, importance: String(base.importance) };
}

export function keepDraft(key: string, draft: Draft | null): void {
  const { [key]: _, ...others } = drafts.value;
  drafts.value = draft ? { ...others, [key]: draft } : others;
}

/** Tags on one line; one with a comma stands in quotation marks. */
export const joined = (tags: string[]) => tags.map((tag) => (tag.includes(",") ? `"${tag}"` : tag)).join(", ");
const TAG = /\s*"([^"]*,[^"]*)"\s*|[^,]+/g;
const split = (tags: string) => [...tags.matchAll(TAG)].map((found) => (found[1] ?? found[0]).trim()).filter(Boolean);

/** The fields that are different from those of the memory that the draft began with. */
export function changesOf({ base, text, title, tags, importance }: Draft): Partial<Record<keyof Memory, unknown>> {
  const wanted = {
    text, title, tags: tags === null ? base.tags : split(tags),
    importance: importance.trim() ? Number(importance) : null, // none is not 0
  };
  const differs = (name: keyof typeof wanted) => JSON.stringify(wanted[name]) !== JSON.stringify(base[name]);
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => differs(name as keyof typeof wanted)));
}

export const isUnsaved = (draft: Draft | undefined) => draft !== undefined && Object.keys(changesOf(draft)).length > 0;

addEventListener("beforeunload", (event) => {
  if (Object.values(drafts.value).some(isUnsaved) || Object.values(unsent.value).some((text) => text.trim())) event.preventDefault();
});

// Who uses it

let lastUser: string | null = null;

/** Whether an error says that nobody is signed in any more; the page asks to sign in again. */
export function sessionEnded(error: unknown): boolean {
  if (!(error instanceof Problem && error.status === 401)) return false;
  if (session.value) {
    endSession();
    say("Your session has ended; sign in again.", undefined, true);
  }
  return true;
}

function endSession(): void {
  batch(() => {
    lastUser = session.value?.user ?? lastUser;
    session.value = null;
    for (const forget of forgets) forget();
  });
}

/** Nothing that somebody has written, and no address, is left for the next person. */
function forgetPerson(): void {
  batch(() => {
    lastUser = null;
    drafts.value = {};
    unsent.value = {};
    history.replaceState(null, "", location.pathname);
    hash.value = "";
  });
}

export async function start(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("login");
  if (code) {
    history.replaceState(null, "", location.pathname);
    hash.value = "";
    try {
      session.value = (await send<Session>("POST", "/session", { body: { code } })).value;
      return;
    } catch (error) {
      if (!(await resumed())) sayWords(error); // of the link: no session has ended
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
  const known = (await send<Session>("POST", "/session", { body: { token } })).value;
  if (lastUser !== null && lastUser !== known.user) forgetPerson();
  session.value = known;
}

export async function signOut(): Promise<void> {
  await send("DELETE", "/session");
  endSession();
  forgetPerson();
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
const AGAIN_MS = 1_000; // after which a journal is looked at again that was not followed to its end
const MOST_REVIEW = 100;

/** Listens to the changes of a space; returns how to stop. A hidden page does not listen: browsers allow six
 * connections to a server, for all pages together. */
export function listen(name: string): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let seq: number | null = null;
  let lost = false;
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
      if (stopped || source) return;
      if (lost) tell(); // now: what is loaded before the number is known may be older than it
      lost = false;
      if (document.hidden) return;
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
    // An older copy of the store is in its place, or the journal was shortened: all that is shown may be different.
    source.addEventListener("lost", () => {
      close();
      seq = null;
      lost = true;
      setTimeout(() => void open(), AGAIN_MS);
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
