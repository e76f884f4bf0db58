// SPDX-License-Identifier: Apache-2.0
// Starts the page and combines its parts. Errors while unpacking are shown in the page, not in a console.
import { render } from "preact";
import "./colors.css";
import "./style.css";
import "./frame/frame.css";
import { loadCode } from "./code";
import { loadDocument } from "./data";
import { keepPlace, restorePlace } from "./editor";
import { Header } from "./frame/header";
import { Help } from "./frame/help";
import { startKeys } from "./frame/keys";
import { startSourceSwitch } from "./frame/source_switch";
import { startTheme } from "./frame/theme";
import { firstDocument, followLive, isLive } from "./live";
import { Flame } from "./pages/flame";
import { Comparison } from "./pages/comparison";
import { Compilation } from "./pages/compilation";
import { Generations } from "./pages/generations";
import { Input } from "./pages/input";
import { Batch } from "./pages/batch";
import { Kernels } from "./pages/kernels";
import { Layers } from "./pages/layers";
import { Lines } from "./pages/lines";
import { Memory } from "./pages/memory";
import { NoData } from "./pages/no_data";
import { Overview } from "./pages/overview";
import { Ranks } from "./pages/ranks";
import { reasonOf } from "./pages/reasons";
import { RooflinePage } from "./pages/roofline";
import { Runs } from "./pages/runs";
import { documentData, experiment, failure, isUnpacking, page, pageTitle, run, startState, type Page } from "./state";
import { droppedDocument } from "./open/drop";
import { checkEnd, findSource, hasNothing, isOpened, served } from "./parts";
import { Timeline } from "./timeline/timeline";
import { startWindows } from "./windows";

const VIEWS: Record<Page, () => preact.JSX.Element> = {
  overview: Overview,
  timeline: Timeline,
  flame: Flame,
  lines: Lines,
  layers: Layers,
  kernels: Kernels,
  roofline: RooflinePage,
  batch: Batch,
  memory: Memory,
  input: Input,
  generations: Generations,
  compilation: Compilation,
  ranks: Ranks,
  runs: Runs,
  comparison: Comparison,
};

function App() {
  const data = documentData.value;
  if (failure.value !== "")
    return (
      <main class="failure">
        <h1>The report could not be shown</h1>
        <p role="alert">{failure.value}</p>
      </main>
    );
  if (data === null) return <p id="loading">Unpacking the report…</p>;
  const View = isOpened() && reasonOf(page.value) !== "" ? NoData : VIEWS[page.value];
  return (
    <>
      <Header />
      <main id={`page-${page.value}`} tabIndex={-1} aria-busy={isUnpacking.value}>
        <h2 class="unseen">{pageTitle(page.value)}</h2>
        <View />
      </main>
      <footer>
        <span>{data.files[run.value?.file ?? 0].name}</span>
        <span>xsp {experiment.value?.xsp_version ?? ""}</span>
        <span>
          {served === null
            ? isOpened()
              ? "Opened in the browser: xsp report FILE makes a page with all tables. It sends nothing."
              : "One file: it loads nothing and sends nothing."
            : "From xsp serve: it loads from this server and sends nothing elsewhere."}
        </span>
      </footer>
      <Help />
    </>
  );
}

const fail = (error: unknown) => {
  failure.value ||= error instanceof Error ? error.message : String(error); // the first is the cause
};
const place = document.getElementById("app")!;
startTheme();
startKeys();
startSourceSwitch();
const end = checkEnd().catch(fail);
if (typeof DecompressionStream === "undefined") {
  fail(
    "this browser cannot unpack it (no DecompressionStream). Chrome or Edge 80, Firefox 113, Safari 16.4 and later can.",
  );
  await end;
} else {
  await findSource();
  const source = hasNothing() ? droppedDocument(place) : isLive() ? firstDocument() : loadDocument();
  await source.then((data) => {
    restorePlace();
    startState(data);
    void loadCode().catch(fail);
    startWindows();
    keepPlace();
    document.title = `${experiment.value?.name ?? data.files[0].name} · xsp`;
    if (isLive()) void followLive();
  }, fail);
}
place.replaceChildren(); // the message shown while the page was read
render(<App />, place);
