/** Import and export: a file is looked through first, then imported, and can be taken out again. */
import { useSignal } from "@preact/signals";
import { get, send } from "../api";
import { ErrorNote, Field, number, plural, useLoaded } from "../parts";
import { api, may, noteDone, runJob, session, sessionEnded, space, undo } from "../state";
import type { FileFormats, Imported, Job } from "../types";
import { Progress } from "./progress";

const CHOICES: [string, string][] = [
  ["skip", "keep what is here"], ["newer", "take what was changed later"], ["overwrite", "take the file's"], ["rename", "keep both"],
];
const KINDS: Record<string, string> = {
  archive: "An archive of Nacre or AI-Houkai", zip: "A zip with such files, such as a folder of notes", folder: "A zip of files",
  "claude-code": "A conversation of Claude Code", chatgpt: "An export of ChatGPT", claude: "An export of Claude", jsonl: "Lines of JSON",
  csv: "A table (CSV)", markdown: "A note in Markdown",
};
const EXPORTS: Record<string, string> = {
  nacre: "Archive: keeps all that a memory has, to be imported into another store", archive: "Archive: keeps all that a memory has, to be imported into another store",
  ahkai: "Archive for AI-Houkai", jsonl: "Lines of JSON, for other programs", csv: "A table, for spreadsheets", markdown: "Notes in Markdown, as a zip",
};

export function FilesView() {
  const formats = useLoaded((stop) => get<FileFormats>("/v1/formats", {}, stop), [], false);
  return (
    <>
      <h1>Import and export</h1>
      {may("admin") && !session.value?.spaces.length ? (
        <Import known={formats.value?.imported ?? []} />
      ) : (
        <p class="note">Importing needs the role admin in all spaces; ask an admin of the server.</p>
      )}
      <section>
        <h2>Export</h2>
        <p class="quiet">All of the space <b>{space.value}</b> but the trash, without what looks like a secret.</p>
        <ul class="rows exports">
          {formats.value?.exported.map((format) => (
            <li class="row" key={format}>
              <a class="button" download href={`${api`/export`}?format=${encodeURIComponent(format)}`}>Download .{format}</a>
              <span>{EXPORTS[format] ?? ""}</span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

function Import({ known }: { known: string[] }) {
  const file = useSignal<File | null>(null);
  const policy = useSignal("skip");
  const over = useSignal(false);
  const job = useSignal<Job<Imported> | null>(null);
  const would = useSignal<Imported | null>(null);
  const done = useSignal<Imported | null>(null);
  const error = useSignal<unknown>(undefined);
  const undone = useSignal(false);

  async function run(sent: File, dry: boolean): Promise<void> {
    const where = space.value;
    error.value = undefined;
    job.value = { id: "", kind: "import", state: "running", done: 0, total: 0, what: "sending", result: null, error: null };
    try {
      const query = { name: sent.name, dry_run: dry, on_conflict: policy.value };
      const result = await runJob<Imported>(() => send("POST", api`/jobs/import`, { body: sent, query }), (state) => (job.value = state));
      if (dry) would.value = result;
      else {
        done.value = result;
        would.value = null;
        noteDone(where, `Imported ${sent.name}.`, ...result.operations);
      }
    } catch (failed) {
      sessionEnded(failed);
      error.value = failed;
    }
    job.value = null;
  }

  function choose(chosen: File | undefined): void {
    if (!chosen) return;
    file.value = chosen;
    would.value = done.value = null;
    undone.value = false;
    void run(chosen, true);
  }

  const coming = would.value ? would.value.new + would.value.changed + would.value.removed : 0;
  return (
    <section>
      <h2>Import</h2>
      <label class={over.value ? "drop over" : "drop"}
        onDragOver={(event) => { event.preventDefault(); over.value = true; }}
        onDragLeave={() => (over.value = false)}
        onDrop={(event) => { event.preventDefault(); over.value = false; choose(event.dataTransfer?.files[0]); }}>
        <b>Drop a file here, or choose one</b>
        <input type="file" aria-label="File to import" disabled={job.value !== null} onChange={(event) => { choose(event.currentTarget.files?.[0]); event.currentTarget.value = ""; }} />
        <span class="quiet">It is looked through first; nothing is changed before you say so.</span>
      </label>
      <details>
        <summary>What can be imported</summary>
        <ul>{known.map((each) => <li key={each}>{KINDS[each] ?? each}</li>)}</ul>
      </details>
      <div class="fields">
        <Field label="An archive's memories that are here already">
          <select value={policy.value} onChange={(event) => { policy.value = event.currentTarget.value; if (file.value && would.value) void run(file.value, true); }}>
            {CHOICES.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
          </select>
        </Field>
      </div>
      {job.value && <Progress of={job.value} label={file.value?.name ?? "the file"} />}
      {error.value !== undefined && <ErrorNote error={error.value} retry={file.value ? () => run(file.value!, true) : undefined} />}
      {would.value && !job.value && (
        <div class="note" role="status">
          <p><b>{file.value?.name}</b>: {(KINDS[would.value.kind] ?? would.value.kind).toLowerCase()}. This would happen:</p>
          <Counts of={would.value} />
          <div class="buttons">
            <button class="main" disabled={!coming} onClick={() => run(file.value!, false)}>{coming ? "Import it" : "Nothing to import"}</button>
            <button onClick={() => { would.value = null; file.value = null; }}>Cancel</button>
          </div>
        </div>
      )}
      {done.value && (
        <div class="note" role="status">
          <p><b>{file.value?.name}</b> {undone.value ? "was imported, and taken out again." : "is imported:"}</p>
          <Counts of={done.value} />
          {!undone.value && done.value.operations.length > 0 && (
            <button onClick={async () => { undone.value = (await undo(space.value, done.value!.operations, `import of ${file.value?.name}.`)) !== null; }}>Undo the import</button>
          )}
        </div>
      )}
    </section>
  );
}

function Counts({ of }: { of: Imported }) {
  const rows: [string, number][] = [
    ["files", of.files > 1 ? of.files : 0], ["new", of.new], ["changed", of.changed], ["here already", of.unchanged],
    ["gone from their notes, to the trash", of.removed], ["cannot be read", of.broken],
  ];
  return (
    <>
      <dl class="figures small">
        {rows.filter(([name, count]) => count || name === "new").map(([name, count]) => <div key={name}><dt>{name}</dt><dd>{number(count)}</dd></div>)}
      </dl>
      {Object.entries(of.left_out).map(([reason, count]) => <p class="quiet" key={reason}>Left out: {plural(count, "piece")} ({reason})</p>)}
      {of.notes.map((each) => <p class="quiet" key={each}>{each}</p>)}
      {of.faults.length > 0 && (
        <details><summary>What cannot be read</summary><ul>{of.faults.map((each) => <li key={each}><bdi>{each}</bdi></li>)}</ul></details>
      )}
    </>
  );
}

