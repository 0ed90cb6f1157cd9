/** Review: one item at a time, one key for each decision. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get, send } from "../api";
import { Empty, firstWords, isWriting, memoryLink, Tags, Text, useLoaded, Waiting } from "../parts";
import { act, api, may, ofSession, say, to } from "../state";
import type { Memory, ReviewItem } from "../types";
import { compare, type Piece } from "../words";

interface Choice {
  key: string;
  label: string;
  decision: string;
  done: string;
}

const CHOICES: Record<ReviewItem["kind"], Choice[]> = {
  conflict: [
    { key: "n", label: "Newer holds", decision: "newer", done: "The newer one replaced the older." },
    { key: "o", label: "Older holds", decision: "older", done: "The older one replaced the newer." },
    { key: "b", label: "Both are true", decision: "keep_both", done: "Both are kept." },
    { key: "d", label: "Not a conflict", decision: "not_a_conflict", done: "Kept as two different things." },
    { key: "m", label: "Merge…", decision: "merge", done: "Merged into the newer one." },
  ],
  unvalidated: [
    { key: "v", label: "Still true", decision: "validate", done: "Confirmed: it still holds." },
    { key: "t", label: "Forget", decision: "trash", done: "Moved to the trash." },
  ],
  stale: [
    { key: "v", label: "Still true", decision: "validate", done: "Confirmed: it still holds." },
    { key: "t", label: "Forget", decision: "trash", done: "Moved to the trash." },
  ],
  word: [
    { key: "k", label: "Keep it", decision: "keep", done: "The relation is kept." },
    { key: "m", label: "Use another…", decision: "merge", done: "Its links have the other relation now." },
  ],
  entity: [
    { key: "m", label: "One and the same", decision: "merge", done: "Both names mean one now." },
    { key: "d", label: "Two different ones", decision: "distinct", done: "Kept as two names." },
  ],
};
const KINDS: Record<ReviewItem["kind"], string> = {
  conflict: "These two may not both be true", unvalidated: "Nobody has confirmed this yet", stale: "Is this still true?",
  word: "A relation that was used for the first time", entity: "Two names that may be one",
};

/** What is written for an item, until that is decided. */
const typed = ofSession<{ item: string; text: string } | null>(null);

export function ReviewView() {
  const items = useLoaded((stop) => get<ReviewItem[]>(api`/review`, { limit: 100 }, stop), []);
  const later = useSignal<string[]>([]);
  const running = useRef(false);
  const list = useRef(items.value);
  list.current = items.value;
  const decided = useRef<ReviewItem[] | undefined>(undefined); // the list with the last item that was decided
  const waiting = (items.value ?? []).filter((each) => !later.value.includes(each.id));
  const item = waiting[0];
  const typing = typed.value && typed.value.item === item?.id ? typed.value.text : null;
  const type = (text: string | null) => (typed.value = text === null || !item ? null : { item: item.id, text });

  async function decide(choice: Choice): Promise<void> {
    if (!item || running.current || decided.current === list.current) return;
    if (choice.decision === "merge" && item.kind !== "entity" && typing === null) {
      type(firstText(item));
      return;
    }
    const said = typing ?? "";
    const body = { decision: choice.decision, ...(item.kind === "word" ? { into: said } : said && { text: said }) };
    running.current = true;
    const done = await act(choice.done, () => send("POST", api`/review/${item.id}/decide`, { body }));
    running.current = false;
    if (done === null) return;
    decided.current = list.current; // until another one is loaded, what is shown is settled
    type(null);
  }
  const leaveOff = () =>
    item && typing !== firstText(item) ? say("What you wrote is not saved. Ctrl-Enter merges, Cancel drops it.") : type(null);
  const putOff = () => item && (later.value = [...later.value, item.id]);

  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      // A key that is held down would decide what nobody has read.
      if (!item || isWriting(event) || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !may("reviewer")) return;
      const choice = CHOICES[item.kind].find((each) => each.key === event.key);
      if (choice) void decide(choice);
      else if (event.key === "l" || event.key === "s") putOff();
      else return;
      event.preventDefault();
    }
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  if (!items.value) return <><h1>Review</h1><Waiting of={items} /></>;
  if (!item)
    return (
      <>
        <h1>Review</h1>
        <Empty>
          {later.value.length ? (
            <>The rest waits for later. <button onClick={() => (later.value = [])}>Show it again</button></>
          ) : (
            <>Nothing waits for a decision. <a href={to("search")}>Search your memory.</a></>
          )}
        </Empty>
      </>
    );
  const merge = CHOICES[item.kind].find((each) => each.decision === "merge");
  return (
    <section class="review" data-item={item.id}>
      <h1>Review <span class="quiet">{waiting.length} waiting</span></h1>
      <h2>{KINDS[item.kind]}</h2>
      <p class="quiet">{item.conflict ? `${item.conflict.kind}: ${item.why}` : item.why}</p>
      <Sides item={item} />
      {typing !== null && merge ? (
        <form onSubmit={(event) => { event.preventDefault(); void decide(merge); }}>
          <label class="field">
            <span>{item.kind === "word" ? "Which relation does it mean?" : "What they say together"}</span>
            <textarea rows={4} required value={typing} onInput={(event) => type(event.currentTarget.value)}
              ref={(element) => { if (element && !element.dataset.seen) { element.dataset.seen = "1"; element.focus(); } }}
              onKeyDown={(event) => {
                if (event.key === "Escape" && !event.isComposing) leaveOff();
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void decide(merge); }
              }} />
          </label>
          <div class="buttons"><button class="main">Merge</button><button type="button" onClick={() => type(null)}>Cancel</button></div>
        </form>
      ) : may("reviewer") ? (
        <div class="buttons">
          {CHOICES[item.kind].map((each) => (
            <button key={each.key} onClick={() => decide(each)}><kbd>{each.key}</kbd> {each.label}</button>
          ))}
          <button onClick={putOff}><kbd>l</kbd> Later</button>
        </div>
      ) : (
        <p class="quiet">Decisions need the role reviewer; ask an admin of the server for another token.</p>
      )}
      <p class="quiet">Ctrl-Z undoes the last decision.</p>
    </section>
  );
}

/** What a merge begins with, before somebody changes it. */
const firstText = (item: ReviewItem) => item.conflict?.a.text ?? "";

function Sides({ item }: { item: ReviewItem }) {
  if (item.conflict) {
    const [older, newer] = compare(item.conflict.b.text, item.conflict.a.text);
    return (
      <div class="sides">
        <Side title="Older" memory={item.conflict.b} pieces={older} />
        <Side title="Newer" memory={item.conflict.a} pieces={newer} />
      </div>
    );
  }
  if (item.memory) return <div class="sides"><Side title="Memory" memory={item.memory} /></div>;
  return <p class="big">{item.kind === "entity" ? item.names.join(" = ") + "?" : item.word}</p>;
}

function Side({ title, memory, pieces }: { title: string; memory: Memory; pieces?: Piece[] }) {
  return (
    <section class="side" aria-label={title}>
      <h3>{title} · {memory.date}</h3>
      <p class="text">
        {pieces ? <bdi>{pieces.map((each) => (each.differs ? <mark>{each.text}</mark> : each.text))}</bdi> : <Text short={2000}>{memory.text}</Text>}
      </p>
      <div class="row-about">
        <span>{memory.source || "source not known"}</span>
        <Tags of={memory.tags} />
        <a href={memoryLink(memory.id)} aria-label={`Open: ${firstWords(memory.text, 40)}`}>Open</a>
      </div>
    </section>
  );
}
