/** Timeline: how much came and went, and what, day by day. */
import { ask, get } from "../api";
import { COMPUTED, deed, Empty, Field, firstWords, memoryLink, number, plural, shortId, useLoaded, Waiting } from "../parts";
import { api, route, setOptions, to } from "../state";
import type { JournalEntry, Memory, TimelineBucket } from "../types";
import { Chart } from "./chart";

const BUCKETS = ["day", "week", "month"] as const;
const DAYS: Record<string, number> = { day: 1, week: 7, month: 31 };
const MOST_ENTRIES = 500;

export function TimelineView() {
  const bucket = BUCKETS.find((each) => each === route.value.options.get("by")) ?? "day";
  const buckets = useLoaded((stop) => get<TimelineBucket[]>(api`/timeline`, { bucket }, stop), [bucket]);
  const shown = buckets.value ?? [];
  const named = shown.findIndex((each) => each.day === route.value.options.get("at"));
  const lastBusy = shown.findLastIndex((each) => each.created || each.changes || each.forgotten);
  const at = named >= 0 ? named : lastBusy >= 0 ? lastBusy : shown.length - 1;
  const chosen = shown[at];
  return (
    <>
      <h1>Timeline</h1>
      <div class="fields">
        <Field label="By">
          <select value={bucket} onChange={(event) => setOptions({ by: event.currentTarget.value, at: "" })}>
            {BUCKETS.map((each) => <option key={each} value={each}>{each}</option>)}
          </select>
        </Field>
        <span class="quiet">
          {plural(shown.reduce((sum, each) => sum + each.created, 0), "memory", "memories")} dated in this time,{" "}
          {plural(shown.reduce((sum, each) => sum + each.changes, 0), "change")} made,{" "}
          {number(shown.reduce((sum, each) => sum + each.forgotten, 0))} forgotten
        </span>
      </div>
      {!buckets.value && <Waiting of={buckets} />}
      {chosen && (
        <>
          <Chart
            label={`Memories by their date, changes and forgotten memories by ${bucket}`} roots unit={bucket}
            times={shown.map((each) => each.start)}
            series={[
              { label: "dated", values: shown.map((each) => each.created) },
              { label: "changes made", values: shown.map((each) => each.changes) },
              { label: "forgotten", values: shown.map((each) => each.forgotten) },
            ]}
          />
          <p class="quiet">
            A memory counts at the time that it is dated, and a change at the time that it was made. The heights are square
            roots, so that one busy {bucket} does not hide the others.
          </p>
          <label class="scrubber">
            <span>{bucket === "day" ? chosen.day : `${bucket} from ${chosen.day}`}: {plural(chosen.created, "memory", "memories")} dated then, {plural(chosen.changes, "change")} made, {number(chosen.forgotten)} forgotten</span>
            <input type="range" min={0} max={shown.length - 1} value={at} aria-valuetext={chosen.day}
              onInput={(event) => setOptions({ at: shown[event.currentTarget.valueAsNumber]?.day ?? "" })} />
          </label>
          <Entries since={chosen.start} until={shown[at + 1]?.start ?? chosen.start + (DAYS[bucket] ?? 1) * 86_400} />
        </>
      )}
    </>
  );
}

const GROUPS = ["Stored", "Changed", "Forgotten"];

function groupOf(entry: JournalEntry): "Stored" | "Changed" | "Forgotten" {
  if (!entry.before) return "Stored";
  return !entry.after || entry.after.status === "trashed" ? "Forgotten" : "Changed";
}

const MOST_TEXTS = 200; // that are asked for at once
const textIn = (entry: JournalEntry) => [entry.after?.text, entry.before?.text].find((text) => typeof text === "string") as string | undefined;

/** What the memory says; an entry has only what it changed. */
function words(entry: JournalEntry, texts: Record<string, string>): string {
  const text = textIn(entry) ?? texts[entry.memory_id];
  return text ? firstWords(text, 140) : `Memory ${shortId(entry.memory_id)}`;
}

function fieldsChanged(entry: JournalEntry): string {
  const names = new Set([...Object.keys(entry.before ?? {}), ...Object.keys(entry.after ?? {})]);
  const told = [...names].filter((name) => !COMPUTED.includes(name)).map((name) => name.replaceAll("_", " "));
  return told.length ? told.join(", ") : "computed values only";
}

function Entries({ since, until }: { since: number; until: number }) {
  const entries = useLoaded(
    (stop) => get<JournalEntry[]>(api`/journal`, { since, until: until - 0.001, limit: MOST_ENTRIES }, stop), [since, until],
  );
  const memories = (entries.value ?? []).filter((each) => each.kind === "memory");
  const unnamed = [...new Set(memories.filter((each) => !textIn(each)).map((each) => each.memory_id))].slice(0, MOST_TEXTS);
  const texts = useLoaded(async (stop) => {
    if (!unnamed.length) return {};
    const read = await ask<Memory[]>(api`/memories/read`, { ids: unnamed }, stop);
    return Object.fromEntries(read.map((each) => [each.id, each.title || each.text]));
  }, [unnamed], false);
  if (!entries.value) return <Waiting of={entries} />;
  if (!memories.length) return <Empty>Nothing was written at that time.</Empty>;
  const days = grouped(memories, (each) => new Date(each.operation.at * 1000).toISOString().slice(0, 10));
  return (
    <>
      {[...days].map(([day, ofDay]) => (
        <section key={day}>
          <h2>{day}</h2>
          {[...grouped(ofDay, groupOf)].sort(([a], [b]) => GROUPS.indexOf(a) - GROUPS.indexOf(b)).map(([name, list]) => (
            <section key={name} class="group">
              <h3>{name} <span class="quiet">{list.length}</span></h3>
              <ul class="rows">
                {list.map((entry) => (
                  <li class="row" key={entry.seq}>
                    <a class="row-text" href={memoryLink(entry.memory_id)}>
                      <bdi>{words(entry, texts.value ?? {})}</bdi>
                    </a>
                    {name !== "Stored" && (
                      <div class="row-about">
                        <span>{deed(entry.operation.name)}</span>
                        {name === "Changed" && <span>{fieldsChanged(entry)}</span>}
                        {entry.operation.why && <bdi>{entry.operation.why}</bdi>}
                        <a href={to("journal", entry.operation.batch)}>What changed</a>
                      </div>
                    )}
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </section>
      ))}
      {entries.value.length === MOST_ENTRIES && <p class="quiet">Only the newest {MOST_ENTRIES} changes are shown; choose a shorter time.</p>}
    </>
  );
}

function grouped<T>(items: T[], by: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(by(item), [...(groups.get(by(item)) ?? []), item]);
  return groups;
}
