// SPDX-License-Identifier: Apache-2.0
// The frame of the page: head, pages, keys, theme. What goes wrong while unpacking is said in the page, not in a console.
import { render } from "preact";
import { signal } from "@preact/signals";
import "./style.css";
import { loadDocument } from "./data";
import { Flame } from "./pages/flame";
import { Batch } from "./pages/batch";
import { Kernels } from "./pages/kernels";
import { Layers } from "./pages/layers";
import { Memory } from "./pages/memory";
import { Overview } from "./pages/overview";
import { RooflinePage } from "./pages/roofline";
import { Runs } from "./pages/runs";
import { documentData, failure, fragment, helpIsOpen, isUnpacking, page, PAGES, startState, type Page } from "./state";
import { Timeline } from "./timeline/timeline";

const VIEWS: Record<Page, () => preact.JSX.Element> = {
  overview: Overview,
  timeline: Timeline,
  flame: Flame,
  layers: Layers,
  kernels: Kernels,
  roofline: RooflinePage,
  batch: Batch,
  memory: Memory,
  runs: Runs,
};
const KEYS: [string, string][] = [
  ["W, S", "zoom in and out at the pointer"],
  ["A, D", "pan left and right"],
  ["Ctrl + wheel", "zoom"],
  ["Shift + wheel", "pan"],
  ["Drag", "select a range: it filters the tables and the flame graph"],
  ["Shift + drag", "pan"],
  ["Click", "select a span: its parents, its launch and executions"],
  [". and ,", "next and previous span of the row"],
  ["F", "zoom to the selected span"],
  ["0", "show all"],
  ["Esc", "clear the selection"],
  ["Enter", "in the search: next match; with Shift the previous one"],
  ["1 … 9", "the pages"],
  ["?", "this help"],
];
const theme = signal<"light" | "dark" | null>(null);

function setTheme(next: "light" | "dark") {
  theme.value = next;
  document.documentElement.dataset.theme = next;
  dispatchEvent(new Event("xsp-theme"));
}

function Help() {
  return (
    <dialog open class="help" aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => (helpIsOpen.value = false)} ref={(button) => button?.focus()}>
        Close
      </button>
    </dialog>
  );
}

function App() {
  const data = documentData.value;
  if (failure.value !== "")
    return (
      <p class="failure" role="alert">
        The report could not be shown: {failure.value}
      </p>
    );
  if (data === null) return <p id="loading">Unpacking the report…</p>;
  const View = VIEWS[page.value];
  const isDark = theme.value === "dark" || (theme.value === null && matchMedia("(prefers-color-scheme: dark)").matches);
  return (
    <>
      <header>
        <h1>{data.experiments[0]?.name ?? data.files[0].name}</h1>
        <nav aria-label="Pages">
          {PAGES.map((name) => (
            <a
              key={name}
              href={fragment().replace(/page=[a-z]+/, `page=${name}`)}
              aria-current={page.value === name ? "page" : undefined}
            >
              {name[0].toUpperCase() + name.slice(1)}
            </a>
          ))}
        </nav>
        <span class="spacer-flex" />
        <button
          type="button"
          onClick={() => setTheme(isDark ? "light" : "dark")}
          aria-label={isDark ? "Light colours" : "Dark colours"}
        >
          {isDark ? "Light" : "Dark"}
        </button>
        <button type="button" onClick={() => (helpIsOpen.value = true)} aria-label="Keys">
          ?
        </button>
      </header>
      <main id={`page-${page.value}`} aria-busy={isUnpacking.value}>
        <View />
      </main>
      <footer>
        <span>{data.files[0].name}</span>
        <span>xsp {data.experiments[0]?.xsp_version ?? ""}</span>
        <span class="quiet">This page is one file: nothing is loaded from elsewhere, nothing leaves it.</span>
      </footer>
      {helpIsOpen.value && <Help />}
    </>
  );
}

addEventListener("keydown", (event) => {
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName)
  )
    return;
  if (event.key === "?") helpIsOpen.value = !helpIsOpen.value;
  else if (event.key === "Escape") helpIsOpen.value = false;
  else if (/^[1-9]$/.test(event.key)) page.value = PAGES[Number(event.key) - 1];
});
loadDocument().then(
  (data) => {
    document.title = `${data.experiments[0]?.name ?? data.files[0].name} · xsp`;
    startState(data);
  },
  (error) => (failure.value = String(error.message ?? error)),
);
render(<App />, document.getElementById("app")!);
