/** The frame of the page: sign in, navigation, the view that the address names, and what is said at the bottom. */
import { useSignal } from "@preact/signals";
import { render, type ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { choosesSpace, ErrorNote, isWriting } from "./parts";
import {
  changed, connected, dismiss, go, listen, loadReviewCount, loadSpaces, reviewCount, route, sayProblem, session,
  signIn, signOut, space, spaces, start, to, toasts, toSpace, undoLast,
} from "./state";
import { FilesView } from "./views/files";
import { GraphView } from "./views/graph";
import { HealthView } from "./views/health";
import { JournalView } from "./views/journal";
import { MemoryView } from "./views/memory";
import { ReviewView } from "./views/review";
import { SearchView } from "./views/search";
import { SettingsView } from "./views/settings";
import { TimelineView } from "./views/timeline";

interface View {
  title: string;
  show: ComponentType;
  key?: string;
}

const VIEWS: Record<string, View> = {
  search: { title: "Search", show: SearchView, key: "1" },
  timeline: { title: "Timeline", show: TimelineView, key: "2" },
  review: { title: "Review", show: ReviewView, key: "3" },
  graph: { title: "Graph", show: GraphView, key: "4" },
  journal: { title: "Journal", show: JournalView, key: "5" },
  health: { title: "Health", show: HealthView, key: "6" },
  files: { title: "Import/export", show: FilesView, key: "7" },
  settings: { title: "Settings", show: SettingsView, key: "8" },
};
const HIDDEN_VIEWS: Record<string, View> = { memory: { title: "Memory", show: MemoryView } };

function viewCalled(name: string): View | undefined {
  return [VIEWS, HIDDEN_VIEWS].find((views) => Object.hasOwn(views, name))?.[name];
}

function onKey(event: KeyboardEvent): void {
  if (isWriting(event) || event.repeat) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "z") {
    event.preventDefault();
    void undoLast();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    go(to("search"));
    document.querySelector<HTMLInputElement>("input.question")?.focus(); // another view's is focused when it is shown
  }
  const named = Object.entries(VIEWS).find(([, view]) => view.key === event.key);
  if (named) go(to(named[0]));
}

function Navigation() {
  const shown = route.value.view;
  return (
    <header>
      <a class="brand" href={to("search")}>
        Nacre
      </a>
      <nav aria-label="Views">
        {Object.entries(VIEWS).map(([name, view]) => (
            <a key={name} href={to(name)} aria-current={shown === name ? "page" : undefined} title={`Key ${view.key}`}>
              {view.title}
              {name === "review" && !!reviewCount.value && (
                <span class="badge">
                  {reviewCount.value >= 100 ? "99+" : reviewCount.value}
                  <span class="hidden"> waiting</span>
                </span>
              )}
            </a>
          ))}
      </nav>
      <div class="who">
        {!connected.value && <span class="mark warn">no connection</span>}
        <SpaceChoice />
        {session.value?.user !== "web" && (
          <button class="plain" onClick={() => signOut().catch(sayProblem)}>
            Sign out {session.value?.user}
          </button>
        )}
      </div>
    </header>
  );
}

function SpaceChoice() {
  // One's own space is there before anything is stored in it.
  const byKey = useRef(false);
  const names = new Set([...spaces.value.map((each) => each.name), space.value, session.value?.space ?? space.value]);
  return (
    <label>
      <span class="hidden">Space</span>
      <select
        value={space.value}
        onPointerDown={() => (byKey.current = false)}
        onKeyDown={() => (byKey.current = true)}
        onChange={(event) => {
          if (!byKey.current) event.currentTarget.blur(); // by keys one goes on to the next space
          const { view } = route.value;
          go(toSpace(event.currentTarget.value, view in VIEWS ? view : "search"));
        }}
      >
        {[...names].sort().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((each) => (
        <div key={each.number} class={each.bad ? "toast bad" : "toast"}>
          <span>{each.text}</span>
          {each.undo && (
            <button
              onClick={() => {
                dismiss(each.number);
                void each.undo?.();
              }}
            >
              {each.label}
            </button>
          )}
          <button class="plain" aria-label="Dismiss" onClick={() => dismiss(each.number)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

function SignIn() {
  const error = useSignal<unknown>(undefined);
  const token = useSignal("");
  return (
    <main class="sign-in">
      <h1>Nacre</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn(token.value).catch((failed) => (error.value = failed));
        }}
      >
        <label class="field">
          <span>Your token</span>
          <input
            type="password"
            autocomplete="current-password"
            required
            value={token.value}
            onInput={(event) => (token.value = event.currentTarget.value)}
          />
        </label>
        <button class="main">Sign in</button>
      </form>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      <p class="quiet">
        An admin makes tokens with <code>nacre token create</code>. On your own machine, <code>nacre web</code> gives a
        link that needs none.
      </p>
    </main>
  );
}

function Page() {
  const { view, args } = route.value;
  const shown = viewCalled(view);
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => listen(space.value), [space.value]);
  useEffect(() => {
    document.title = `${shown?.title ?? "Not found"} · ${space.value} · Nacre`;
    // A view may have put the focus where one types.
    if (!first.current && !choosesSpace() && !main.current?.contains(document.activeElement)) main.current?.focus();
    first.current = false;
    scrollTo(0, 0);
  }, [space.value, view, args.join("/")]);
  useEffect(() => {
    loadSpaces().catch(sayProblem);
    loadReviewCount().catch(sayProblem);
  }, [space.value, changed.value]);
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>
        Skip to the content
      </a>
      <Navigation />
      <main id="main" ref={main} tabIndex={-1} key={`${space.value}/${view}`}>
        {shown ? <shown.show /> : <p class="empty">There is no such view. <a href={to("search")}>Search instead.</a></p>}
      </main>
    </>
  );
}

function App() {
  const known = session.value !== undefined;
  useLayoutEffect(() => {
    if (known) document.getElementById("shell")?.remove(); // what index.html shows until then
  }, [known]);
  return (
    <>
      {session.value === null && <SignIn />}
      {session.value && <Page />}
      <Toasts />
    </>
  );
}

render(<App />, document.getElementById("app")!);
void start();
