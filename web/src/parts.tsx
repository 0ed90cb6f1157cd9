/** Small parts that several views share. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { changed, sessionEnded, space, to } from "./state";
import type { Fields, Memory } from "./types";
import { compare } from "./words";

// Times

// A date is a whole day, UTC; a time of day is that of the reader.
const DAY = new Intl.DateTimeFormat("en", { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" });
const MINUTE = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
export const dayOf = (at: number) => DAY.format(at * 1000);
// The last day of a time that has ended at `end`: at midnight that is the day before.
export const lastDayOf = (end: number) => dayOf(Math.ceil(end) - 1);
export const minuteOf = (at: number) => MINUTE.format(at * 1000);
export const Time = ({ at }: { at: number }) => (
  <time dateTime={new Date(at * 1000).toISOString()} title={minuteOf(at)}>
    {dayOf(at)}
  </time>
);

export function number(value: number): string {
  return value.toLocaleString("en");
}

export function plural(count: number, one: string, several = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : several}`;
}

export function size(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000;
    unit++;
  }
  return `${unit && bytes < 10 ? bytes.toFixed(1) : number(Math.round(bytes))} ${units[unit]}`;
}

export const shortId = (id: string) => (id.length > 12 ? id.slice(0, 8) : id);

/** The first words of a text, on one line. */
export function firstWords(text: string, longest = 90): string {
  const line = text.slice(0, longest * 4).replace(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1).trimEnd()}…`;
}

// Loading

export interface Loaded<T> {
  value: T | undefined;
  error: unknown;
  loading: boolean;
  reload: () => void;
}

/** Loads something, and again when one of the keys or the store changes; the old value is shown meanwhile. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, keys: unknown[], live = true): Loaded<T> {
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const loading = useSignal(true);
  const again = useSignal(0);
  const key = JSON.stringify([space.value, ...keys]);
  const shown = useSignal(key);
  useEffect(() => {
    const stop = new AbortController();
    if (shown.value !== key) {
      value.value = undefined;
      shown.value = key;
    }
    loading.value = true;
    load(stop.signal).then(
      (loaded) => {
        if (stop.signal.aborted) return;
        value.value = loaded;
        error.value = undefined;
        loading.value = false;
      },
      (failed) => {
        if (stop.signal.aborted) return;
        sessionEnded(failed);
        error.value = failed;
        loading.value = false;
      },
    );
    return () => stop.abort();
  }, [key, live ? changed.value : 0, again.value]);
  return { value: value.value, error: error.value, loading: loading.value, reload: () => void again.value++ };
}

export function Waiting({ of }: { of: Loaded<unknown> }) {
  if (of.error) return <ErrorNote error={of.error} retry={of.reload} />;
  if (of.loading) return <p class="quiet" role="status">Loading…</p>;
  return null;
}

export function ErrorNote({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {retry && <button onClick={retry}>Try again</button>}
    </div>
  );
}

export const Empty = ({ children }: { children: ComponentChildren }) => <div class="empty">{children}</div>;

// Memories

export const memoryLink = (id: string) => to("memory", id);

export function Tags({ of }: { of: string[] }) {
  return (
    <>
      {of.map((tag) => (
        <span class="tag" key={tag}>
          {tag}
        </span>
      ))}
    </>
  );
}

export function Standing({ memory }: { memory: Memory }) {
  const marks: string[] = [];
  if (memory.status === "trashed") marks.push("in the trash");
  if (memory.status === "archived") marks.push("archived");
  if (memory.superseded_by) marks.push("replaced");
  if (memory.trust < 0.5) marks.push("not trusted");
  return (
    <>
      {memory.pinned && <span class="mark">pinned</span>}
      {marks.map((each) => (
        <span class="mark warn" key={each}>
          {each}
        </span>
      ))}
    </>
  );
}

const LONGEST_SHOWN = 20_000; // characters: a browser lays out a megabyte of one word for seconds

/** The text as it is: nothing in it is read as HTML, and its direction cannot change what stands around it. */
export function Text({ children, short }: { children: string; short?: number }) {
  const all = useSignal(false);
  const longest = short ?? LONGEST_SHOWN;
  const cut = !all.value && children.length > longest;
  return (
    <>
      <bdi class="text">{cut ? `${children.slice(0, longest)}…` : children}</bdi>
      {cut && short === undefined && (
        <button class="plain" onClick={() => (all.value = true)}>
          Show all {number(children.length)} characters
        </button>
      )}
    </>
  );
}

export function MemoryRow({ memory, children }: { memory: Memory; children?: ComponentChildren }) {
  return (
    <li class="row">
      <a class="row-text" href={memoryLink(memory.id)}>
        {memory.title && <b>{memory.title} </b>}
        <bdi>{firstWords(memory.text, 180)}</bdi>
      </a>
      <div class="row-about">
        <span>{memory.date}</span>
        <span>{memory.type}</span>
        <Standing memory={memory} />
        <Tags of={memory.tags} />
        {children}
      </div>
    </li>
  );
}

// Differences

export function Difference({ before, after }: { before: string; after: string }) {
  const [a, b] = compare(before, after);
  return (
    <div class="difference">
      <p class="before">
        <span class="hidden">Before: </span>
        <bdi>{a.map((each) => (each.differs ? <del>{each.text}</del> : each.text))}</bdi>
      </p>
      <p class="after">
        <span class="hidden">After: </span>
        <bdi>{b.map((each) => (each.differs ? <ins>{each.text}</ins> : each.text))}</bdi>
      </p>
    </div>
  );
}

const TIMES = /(_at|_from|_until|_accessed)$/;
const ENDS = ["valid_until", "expires_at"];
const DAY_SECONDS = 86_400;
export const COMPUTED = ["updated_at", "salience", "last_accessed", "access_count", "trashed_from", "id", "space", "version"];
const OF_NEW = ["text", "title", "type", "tags", "source", "links"]; // what a reader wants to know of a new memory

function worded(name: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "number" && TIMES.test(name)) {
    if (value % DAY_SECONDS) return minuteOf(value);
    return ENDS.includes(name) ? lastDayOf(value) : dayOf(value); // a date was given
  }
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    if (!value.length) return "none";
    return value.map((each) => (each && typeof each === "object" ? linkWords(each as Fields) : String(each))).join(", ");
  }
  return JSON.stringify(value);
}

const linkWords = (link: Fields) => (link.to ? `${link.rel ?? "related"} → ${shortId(String(link.to))}` : JSON.stringify(link));

/** What an entry of the journal changed, field by field. */
export function Changes({ before, after }: { before: Fields | null; after: Fields | null }) {
  if (!before && !after) return <p class="quiet">The content was deleted for good.</p>;
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].filter(
    (name) => !COMPUTED.includes(name) && (before && after ? true : OF_NEW.includes(name)),
  );
  if (!names.length) return <p class="quiet">Only computed values changed.</p>;
  return (
    <dl class="changes">
      {names.map((name) => {
        const was = before?.[name];
        const is = after?.[name];
        if ((!before || !after) && worded(name, was ?? is) === "none") return null;
        return (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>
              {before && after ? (
                <Difference before={worded(name, was)} after={worded(name, is)} />
              ) : (
                <Text short={600}>{worded(name, was ?? is)}</Text>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

// Forms

/** Whether a key belongs to something that one writes in, or to a form around it. */
export function isWriting(event: KeyboardEvent): boolean {
  return event.target instanceof HTMLElement && event.target.closest("form, input, textarea, select") !== null;
}

/** Whether somebody goes through the spaces by keys: what is shown then leaves the focus there. */
export const choosesSpace = () => Boolean(document.activeElement?.closest("header select"));

/** Asks once more before something that cannot be taken back easily. It takes the focus, and gives it back. */
export function Asking({ label, close, children }: { label: string; close: () => void; children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const dialog = place.current!;
    const before = document.activeElement;
    dialog.focus();
    return () => {
      if (dialog.contains(document.activeElement) && before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <div class="note bad" role="alertdialog" aria-label={label} tabIndex={-1} ref={place}
      onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      {children}
    </div>
  );
}

export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

/** Names of operations, as a reader says them. */
export const DEEDS: Record<string, string> = {
  remember: "Remembered", edit: "Edited", forget: "Forgotten", restore: "Restored", link: "Linked", unlink: "Link removed",
  supersede: "Replaced", merge: "Merged", redact: "Redacted", purge: "Purged", undo: "Undone", decide: "Decided",
  import: "Imported", pin: "Pinned", unpin: "Unpinned", archive: "Archived", unarchive: "Taken out of the archive",
  tag: "Tagged", validate: "Confirmed", bump: "Importance changed",
};
export const deed = (name: string) => DEEDS[name] ?? name.replaceAll("_", " ");
