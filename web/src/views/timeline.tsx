/** Timeline: how much came and went, and what, day by day. */
import { get } from "../api";
import { deed, Empty, Field, firstWords, memoryLink, number, plural, useLoaded, Waiting } from "../parts";
import { api, route, setOptions } from "../state";
import type { JournalEntry, TimelineBucket } from "../types";
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
          {plural(shown.reduce((sum, each) => sum + each.created, 0), "memory", "memories")} created,{" "}
          {plural(shown.reduce((sum, each) => sum + each.changes, 0), "change")},{" "}
          {number(shown.reduce((sum, each) => sum + each.forgotten, 0))} forgotten
        </span>
      </div>
      {!buckets.value && <Waiting of={buckets} />}
      {chosen && (
        <>
          <Chart
            label={`Memories created, changes and forgotten memories by ${bucket}`}
            times={shown.map((each) => each.start)}
            series={[
              { label: "created", values: shown.map((each) => each.created) },
              { label: "changes", values: shown.map((each) => each.changes) },
              { label: "forgotten", values: shown.map((each) => each.forgotten) },
            ]}
          />
          <label class="scrubber">
            <span>{bucket === "day" ? chosen.day : `${bucket} from ${chosen.day}`}: {number(chosen.created)} created, {plural(chosen.changes, "change")}, {number(chosen.forgotten)} forgotten</span>
            <input type="range" min={0} max={shown.length - 1} value={at} aria-valuetext={chosen.day}
              onInput={(event) => setOptions({ at: shown[event.currentTarget.valueAsNumber]?.day ?? "" })} />
          </label>
          <Entries since={chosen.start} until={shown[at + 1]?.start ?? chosen.start + (DAYS[bucket] ?? 1) * 86_400} />
        </>
      )}
    </>
  );
}

function groupOf(entry: JournalEntry): "Learned" | "Changed" | "Forgotten" {
  if (!entry.before) return "Learned";
  return !entry.after || entry.after.status === "trashed" ? "Forgotten" : "Changed";
}

function Entries({ since, until }: { since: number; until: number }) {
  const entries = useLoaded(
    (stop) => get<JournalEntry[]>(api`/journal`, { since, until: until - 0.001, limit: MOST_ENTRIES }, stop), [since, until],
  );
  if (!entries.value) return <Waiting of={entries} />;
  const memories = entries.value.filter((each) => each.kind === "memory");
  if (!memories.length) return <Empty>Nothing was written at that time.</Empty>;
  const days = grouped(memories, (each) => new Date(each.operation.at * 1000).toISOString().slice(0, 10));
  return (
    <>
      {[...days].map(([day, ofDay]) => (
        <section key={day}>
          <h2>{day}</h2>
          {[...grouped(ofDay, groupOf)].map(([name, list]) => (
            <section key={name} class="group">
              <h3>{name} <span class="quiet">{list.length}</span></h3>
              <ul class="rows">
                {list.map((entry) => (
                  <li class="row" key={entry.seq}>
                    <a class="row-text" href={memoryLink(entry.memory_id)}>
                      <bdi>{typeof entry.after?.text === "string" ? firstWords(entry.after.text, 140) : `${deed(entry.operation.name)}: ${Object.keys(entry.after ?? {}).filter((field) => field !== "updated_at").join(", ") || entry.memory_id}`}</bdi>
                    </a>
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
