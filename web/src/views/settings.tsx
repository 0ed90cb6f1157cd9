/** Settings: every one with its meaning, its value, and where that comes from. */
import { useSignal } from "@preact/signals";
import { get } from "../api";
import { Empty, Field, useLoaded, Waiting } from "../parts";
import { api, route, setOptions } from "../state";
import type { Setting } from "../types";

function worded(value: Setting["default"] | null): string {
  if (value === null) return "not shown";
  if (value === "") return "empty";
  return value === true ? "on" : value === false ? "off" : String(value);
}

export function SettingsView() {
  const lines = useLoaded((stop) => get<Setting[]>(api`/settings`, {}, stop), [], false);
  const words = useSignal("");
  const changedOnly = route.value.options.get("changed") === "1";
  const wanted = words.value.trim().toLowerCase();
  const shown = (lines.value ?? []).filter(
    (each) => (!changedOnly || (each.source !== "default" && each.source !== "")) && (!wanted || `${each.key} ${each.about} ${each.group}`.toLowerCase().includes(wanted)),
  );
  const groups = [...new Set(shown.map((each) => each.group))];
  const hidden = lines.value?.every((each) => each.source === "");
  return (
    <>
      <h1>Settings</h1>
      <div class="fields">
        <Field label="Find"><input type="search" value={words.value} onInput={(event) => (words.value = event.currentTarget.value)} /></Field>
        {!hidden && (
          <label class="check">
            <input type="checkbox" checked={changedOnly} onChange={(event) => setOptions({ changed: event.currentTarget.checked ? "1" : "" })} />
            Only what differs from the default
          </label>
        )}
      </div>
      {hidden ? (
        <p class="note">Values are shown to admins of all spaces alone. Below is what each setting means, and its default.</p>
      ) : (
        <p class="quiet">These values are in use since the server was started. <code>nacre config set KEY VALUE</code> changes one; start the server again after it.</p>
      )}
      {!lines.value && <Waiting of={lines} />}
      {lines.value && !shown.length && <Empty>{wanted ? "No setting fits." : "Everything is at its default."}</Empty>}
      {groups.map((group) => (
        <section key={group}>
          <h2>{group}</h2>
          <ul class="rows">{shown.filter((each) => each.group === group).map((each) => <Line key={each.key} of={each} hidden={hidden === true} />)}</ul>
        </section>
      ))}
    </>
  );
}

function Line({ of, hidden }: { of: Setting; hidden: boolean }) {
  const differs = !hidden && of.source !== "default";
  return (
    <li class="row setting" data-key={of.key}>
      <div class="setting-head">
        <code>{of.key}</code>
        {!hidden && <b class={differs ? "differs" : ""}>{of.secret ? "set, not shown" : worded(of.value)}</b>}
      </div>
      <p>{of.about}</p>
      <div class="row-about">
        <span>default: {worded(of.default)}</span>
        {!hidden && <span>from: {of.source}</span>}
        <span>{of.values.length > 0 ? `one of: ${of.values.join(", ")}` : of.type}</span>
        <span>example: <code>{of.example}</code></span>
      </div>
    </li>
  );
}
