/** Health: what is kept, how it grows, and whether all is well. */
import { useSignal } from "@preact/signals";
import { get, path, send } from "../api";
import { Asking, Empty, minuteOf, number, plural, size, useLoaded, Waiting } from "../parts";
import { api, may, noteDone, runJob, sayProblem, session, space } from "../state";
import type { Backup, Finding, Health, InjectionDay, Job, Stats, Upkeep, UpkeepJob } from "../types";
import { Chart } from "./chart";
import { Progress } from "./progress";

export function HealthView() {
  const stats = useLoaded((stop) => get<Stats>(api`/stats`, {}, stop), []);
  const shown = stats.value;
  const growth = Object.entries(shown?.growth ?? {}).sort();
  const older = (shown?.active ?? 0) - growth.reduce((sum, [, count]) => sum + count, 0);
  return (
    <>
      <h1>Health</h1>
      {!shown && <Waiting of={stats} />}
      {shown && (
        <>
          <dl class="figures">
            {(
              [["active", shown.active], ["replaced", shown.superseded], ["archived", shown.archived], ["in the trash", shown.trashed]] as const
            ).map(([name, count]) => <div key={name}><dt>{name}</dt><dd>{number(count)}</dd></div>)}
          </dl>
          {growth.length > 1 && (
            <>
              <h2>Growth by week</h2>
              {older > 0 && <p class="quiet">{number(older)} older {older === 1 ? "one is" : "ones are"} not drawn.</p>}
              <Chart label="Memories created in each week" unit="week" times={growth.map(([day]) => Date.parse(day) / 1000)}
                roots series={[{ label: "created", values: growth.map(([, count]) => count) }]} />
            </>
          )}
          <div class="sides">
            <Counts title="Types" of={shown.by_type} />
            <Counts title="Tags" of={shown.top_tags} />
          </div>
        </>
      )}
      <Injections />
      <StoreHealth />
      {may("admin") && !session.value?.spaces.length && (
        <>
          <Findings />
          <Maintenance />
          <Backups />
        </>
      )}
    </>
  );
}

function Counts({ title, of }: { title: string; of: Record<string, number> }) {
  const rows = Object.entries(of).sort(([, a], [, b]) => b - a).slice(0, 10);
  const most = rows[0]?.[1] ?? 1;
  if (!rows.length) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul class="reasons wide">
        {rows.map(([name, count]) => (
          <li key={name}><span>{name}</span><meter min={0} max={most} value={count}>{count}</meter><span class="figure">{number(count)}</span></li>
        ))}
      </ul>
    </section>
  );
}

function StoreHealth() {
  const health = useLoaded((stop) => get<Health>("/v1/health", {}, stop), []);
  const shown = health.value;
  if (!shown) return <Waiting of={health} />;
  return (
    <section>
      <h2>The store</h2>
      <dl class="about">
        <div><dt>Memories</dt><dd>{number(shown.memories)} in all spaces that you see</dd></div>
        {shown.bytes_on_disk > 0 && <div><dt>Size</dt><dd>{size(shown.bytes_on_disk)}</dd></div>}
        <div><dt>Embedder</dt><dd>{shown.embedder || "none yet"}</dd></div>
        {shown.vectors !== null && <div><dt>Vectors</dt><dd>{number(shown.vectors)}</dd></div>}
        {shown.pending > 0 && <div><dt>Waiting</dt><dd>{plural(shown.pending, "memory", "memories")} for the model</dd></div>}
      </dl>
      {shown.problems.map((each) => <p class="note bad" key={each}>{each}</p>)}
      {shown.notes.map((each) => <p class="note" key={each}>{each}</p>)}
      {!shown.problems.length && <p>No problem was found.</p>}
    </section>
  );
}

/** Runs a job of the server: what it is called, how far it is, and how to start it. */
function useJob() {
  const running = useSignal<{ label: string; job: Job<unknown> } | null>(null);
  async function run<T extends object>(label: string, address: string, body: unknown, said: (result: T) => string): Promise<void> {
    const where = space.value;
    try {
      const result = await runJob<T>(() => send("POST", address, { body }), (job) => (running.value = { label, job }));
      noteDone(where, said(result), ...("operations" in result ? (result.operations as string[]) : []));
    } catch (error) {
      sayProblem(error);
    }
    running.value = null;
  }
  return { running: running.value, run };
}

const FIXES: Record<string, string> = { catch_up: "Compute what is missing", reindex: "Compute everything again" };

function Findings() {
  const found = useLoaded((stop) => get<Finding[]>("/v1/doctor", {}, stop), []);
  const { running, run } = useJob();
  return (
    <section>
      <h2>Doctor</h2>
      {!found.value && <Waiting of={found} />}
      <ul class="rows">
        {found.value?.map((each) => (
          <li class="row finding" key={each.check + each.message}>
            <span class={`strength ${each.level}`}>{each.level}</span> <span>{each.message}</span>
            {FIXES[each.fixed_by] && (
              <button disabled={running !== null}
                onClick={() => run<{ memories: number }>("Repairing", "/v1/jobs/repair", {}, (result) => `Computed again: ${plural(result.memories, "memory", "memories")}.`)}>
                {FIXES[each.fixed_by]}
              </button>
            )}
            {each.fixed_by === "repair" && <span>End this server, and run <code>nacre doctor --fix</code>.</span>}
          </li>
        ))}
      </ul>
      {running && <Progress of={running.job} label={running.label} />}
    </section>
  );
}

const JOBS: Record<string, string> = {
  backup: "Copy the store", decay: "Move what nobody uses to the trash", reflect: "Condense similar episodes",
  consolidate: "Promote to the long term", retain: "Keep to the limits of age and number", trash: "Empty what was long in the trash",
  compact: "Drop old journal entries", reindex: "Compute missing vectors",
};
const FOR_GOOD = ["trash", "compact"];

function every(seconds: number | null): string {
  if (seconds === null) return "off";
  const [count, unit] = seconds >= 86_400 ? [seconds / 86_400, "day"] : seconds >= 3_600 ? [seconds / 3_600, "hour"] : [seconds / 60, "minute"];
  return count === 1 ? `every ${unit}` : `every ${number(Math.round(count))} ${unit}s`;
}

function Maintenance() {
  const planned = useSignal(false);
  const upkeep = useLoaded((stop) => get<Upkeep>(api`/maintenance`, { preview: planned.value }, stop), [planned.value]);
  const { running, run } = useJob();
  const shown = upkeep.value;
  const start = (each: UpkeepJob) =>
    run<{ notes: string[] }>(JOBS[each.job] ?? each.job, api`/jobs/maintenance`, { job: each.job }, (result) => result.notes.join(" ") || "Done.");
  return (
    <section>
      <h2>Maintenance</h2>
      {!shown && <Waiting of={upkeep} />}
      {shown && (
        <>
          <p class="quiet">
            {shown.holder ? `It runs in the background (${shown.holder}).` : <>Nobody does it in the background; <code>nacre maintenance start</code> does.</>}
          </p>
          <ul class="rows">
            {shown.jobs.map((each) => (
              <li class="row job" key={each.job} data-job={each.job}>
                <div><b>{JOBS[each.job] ?? each.job}</b> <span class="quiet">{each.job}</span></div>
                <div class="row-about">
                  <span>{every(each.every)}</span>
                  <span>last: {each.last_at === null ? "never" : minuteOf(each.last_at)}</span>
                  {each.next_at !== null && <span>next: {each.next_at * 1000 <= Date.now() ? "due now" : minuteOf(each.next_at)}</span>}
                  {each.every !== null && !FOR_GOOD.includes(each.job) && <button class="plain" disabled={running !== null} onClick={() => start(each)}>Run now</button>}
                </div>
                {each.would && <p class="would">{each.would}</p>}
                {each.error && <p class="note bad">{each.error}</p>}
              </li>
            ))}
          </ul>
          {running && <Progress of={running.job} label={running.label} />}
          {!planned.value && <button onClick={() => (planned.value = true)}>What would each do now?</button>}
          <h3>How a memory fades that nobody uses</h3>
          <Chart label="Score of an average memory by days" days share times={shown.fading.map(([day]) => day)}
            series={[{ label: "score", values: shown.fading.map(([, score]) => score) }, { label: "moved to the trash below", values: shown.fading.map(() => shown.floor) }]} />
        </>
      )}
    </section>
  );
}

function Injections() {
  const days = useLoaded((stop) => get<InjectionDay[]>(api`/injections`, {}, stop), []);
  if (!days.value) return <Waiting of={days} />;
  const total = (name: "times" | "memories" | "tokens") => days.value!.reduce((sum, each) => sum + each[name], 0);
  return (
    <section>
      <h2>What hooks put before prompts</h2>
      {!days.value.length && <Empty>No hook has added anything in this space yet.</Empty>}
      {days.value.length > 0 && (
        <p>
          Since {days.value[0]!.day}: {plural(total("times"), "time")}, {plural(total("memories"), "memory", "memories")},{" "}
          <b>{plural(total("tokens"), "token")}</b> (about {number(Math.round(total("tokens") / Math.max(1, total("times"))))} each time).
        </p>
      )}
      {days.value.length > 1 && (
        <Chart label="Tokens that hooks added on each day" times={days.value.map((each) => Date.parse(each.day) / 1000)}
          roots series={[{ label: "tokens", values: days.value.map((each) => each.tokens) }]} />
      )}
    </section>
  );
}

function Backups() {
  const list = useLoaded((stop) => get<Backup[]>("/v1/backups", {}, stop), []);
  const asked = useSignal("");
  const restoring = useSignal(false);
  const { running, run } = useJob();

  async function restore(name: string): Promise<void> {
    restoring.value = true;
    try {
      await send("POST", path`/v1/backups/${name}/restore`, { body: {} });
      location.reload(); // everything that is shown may be different now
    } catch (error) {
      sayProblem(error);
      restoring.value = false;
    }
  }

  return (
    <section>
      <h2>Backups</h2>
      {!list.value && <Waiting of={list} />}
      {list.value && (
        <>
          <button disabled={running !== null || restoring.value}
            onClick={() => run<{ name: string }>("Copying", "/v1/jobs/backup", {}, (result) => `Copied and checked: ${result.name}`)}>Make a backup now</button>
          {running && <Progress of={running.job} label={running.label} />}
          {!list.value.length && <Empty>There is no backup yet.</Empty>}
          <ul class="rows">
            {list.value.map((each) => (
              <li class="row" key={each.name}>
                <div class="row-head"><span>{minuteOf(each.made_at)}</span> <span class="quiet">{size(each.bytes_on_disk)}{each.replaced && " · the store before a restore"}</span>
                  <button class="plain" aria-expanded={asked.value === each.name} onClick={() => (asked.value = asked.value === each.name ? "" : each.name)}>Restore…</button></div>
                {asked.value === each.name && (
                  <Asking label="Restore this backup" close={() => (asked.value = "")}>
                    <p>The whole store, with all spaces, becomes what it was at {minuteOf(each.made_at)}. What is there now is kept as a backup, so that you can go back.</p>
                    <div class="buttons">
                      <button class="danger" disabled={restoring.value} onClick={() => restore(each.name)}>{restoring.value ? "Restoring…" : "Restore it"}</button>
                      <button onClick={() => (asked.value = "")}>Cancel</button>
                    </div>
                  </Asking>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
