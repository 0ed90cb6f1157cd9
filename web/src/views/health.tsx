/** Health: what is kept, how it grows, and whether all is well. */
import { get } from "../api";
import { number, plural, size, useLoaded, Waiting } from "../parts";
import { api, may, session } from "../state";
import type { Finding, Health, Stats } from "../types";
import { Chart } from "./chart";

export function HealthView() {
  const stats = useLoaded((stop) => get<Stats>(api`/stats`, {}, stop), []);
  const shown = stats.value;
  const growth = Object.entries(shown?.growth ?? {}).sort();
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
              <Chart label="Memories created in each week" times={growth.map(([day]) => Date.parse(day) / 1000)}
                series={[{ label: "created", values: growth.map(([, count]) => count) }]} />
            </>
          )}
          <div class="sides">
            <Counts title="Types" of={shown.by_type} />
            <Counts title="Tags" of={shown.top_tags} />
          </div>
        </>
      )}
      <StoreHealth />
      {may("admin") && !session.value?.spaces.length && <Findings />}
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
        <div><dt>Memories</dt><dd>{number(shown.memories)} in all spaces</dd></div>
        {shown.bytes_on_disk > 0 && <div><dt>Size</dt><dd>{size(shown.bytes_on_disk)}</dd></div>}
        <div><dt>Embedder</dt><dd>{shown.embedder || "none yet"}</dd></div>
        <div><dt>Vectors</dt><dd>{number(shown.vectors)}{shown.pending > 0 && `; ${plural(shown.pending, "memory", "memories")} waiting for the model`}</dd></div>
      </dl>
      {shown.problems.map((each) => <p class="note bad" key={each}>{each}</p>)}
      {shown.notes.map((each) => <p class="note" key={each}>{each}</p>)}
      {!shown.problems.length && <p>No problem was found.</p>}
    </section>
  );
}

function Findings() {
  const found = useLoaded((stop) => get<Finding[]>("/v1/doctor", {}, stop), [], false);
  return (
    <section>
      <h2>Doctor</h2>
      {!found.value && <Waiting of={found} />}
      <ul class="rows">
        {found.value?.map((each) => (
          <li class="row" key={each.check + each.says}><span class={`strength ${each.level}`}>{each.level}</span> {each.says}</li>
        ))}
      </ul>
    </section>
  );
}
