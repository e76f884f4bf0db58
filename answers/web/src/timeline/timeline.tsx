// SPDX-License-Identifier: Apache-2.0
// The page of all tracks of a run over time: tools, overview strip, tracks, figures.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import "./timeline.css";
import type { Spans } from "../data";
import { plural } from "../format";
import {
  documentData,
  drawable,
  opening,
  openingName,
  overview,
  run,
  selected,
  setDetail,
  spans,
  view,
  windowSpans,
} from "../state";
import { Aggregates } from "./aggregates";
import { rowsWithLinks } from "./arrows";
import { Counters } from "./counters";
import { SpanDetails } from "./details";
import { FindingBar } from "./finding_bar";
import { keysOn } from "./keys";
import { arrangement, lay, setFilter, showAllTracks } from "./layout";
import { Minimap } from "./minimap";
import { NoSpans, Notes } from "./notes";
import { pointerOn } from "./pointer";
import { Side } from "./side";
import { areAllArrows, Stage } from "./stage";
import { Tip } from "./tip";
import { trackGroups } from "./tracks";

const LANES_PLAIN = 3; // with more there is a filter
const MOST_HEIGHT = "max(260px, 58vh)";

// The range that the data is of; undefined: the whole run.
function windowText(data: Spans): string | undefined {
  const within = windowSpans.value;
  return within?.spans === data ? `${within.range.from}_${within.range.to}` : undefined;
}

// `data` is a window of the run, or `whole`.
function Tracks({ data, whole, names }: { data: Spans; whole: Spans; names: string[] }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    box = useRef<HTMLDivElement>(null),
    [stage, setStage] = useState<Stage | null>(null);
  const groups = useMemo(() => trackGroups(whole), [whole]);
  const arranged = arrangement.value,
    layout = useMemo(() => lay(data, groups, arranged), [data, groups, arranged]);
  useLayoutEffect(() => {
    const made = new Stage(canvas.current!, box.current!, data, whole, names, layout);
    const stops = [made.start(), pointerOn(made), keysOn(made)];
    setStage(made);
    return () => {
      stops.forEach((stop) => stop());
      setStage(null);
    };
  }, []);
  useLayoutEffect(() => stage?.take(data, whole, names, layout), [stage, data, whole, names, layout]);
  return (
    <div class="timeline-frame">
      <div class="timeline-top">
        <Minimap data={whole} />
        <Tools data={data} />
      </div>
      <div
        class="timeline"
        ref={box}
        tabIndex={0}
        role="application"
        aria-label="Timeline. W and S zoom, A and D pan, arrow keys scroll or walk from span to span; the tables below have its numbers."
        style={{ height: `min(${layout.height + 8}px, ${MOST_HEIGHT})` }}
      >
        <div class="timeline-window">
          <canvas
            ref={canvas}
            role="img"
            data-window={windowText(data)}
            aria-label={`${plural(data.count, data.merged === null ? "span" : "rectangle")} on ${plural(data.facts.lanes.length, "track")}`}
          />
          <Side data={data} layout={layout} stage={stage} />
        </div>
        <div class="timeline-size" style={{ height: `${layout.height}px` }} />
      </div>
      <Counters data={whole} />
      {layout.leftOut > 0 && (
        <p class="left-out" role="status">
          {plural(layout.leftOut, "track")} hidden{" "}
          <button type="button" class="link" onClick={showAllTracks}>
            show all tracks
          </button>
        </p>
      )}
    </div>
  );
}

// Next to the overview strip, above the names of the tracks.
function Tools({ data }: { data: Spans }) {
  const hasLaunches = spans.value !== null && rowsWithLinks(data).includes(1);
  return (
    <div class="timeline-tools">
      {data.facts.lanes.length > LANES_PLAIN && (
        <input
          type="search"
          placeholder="Tracks"
          aria-label="Filter tracks by name"
          value={arrangement.value.filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      )}
      {hasLaunches && (
        <button
          type="button"
          aria-pressed={areAllArrows()}
          title="Arrows from all launches in view to their executions (L)"
          onClick={() => setDetail("timeline.arrows", areAllArrows() ? "" : "all")}
        >
          Arrows
        </button>
      )}
      {opening.value !== null && (
        <button
          type="button"
          aria-pressed={view.value === opening.value}
          title={`Show the ${openingName.value.toLowerCase()} (0 shows all, and again this)`}
          onClick={() => (view.value = opening.value)}
        >
          {openingName.value}
        </button>
      )}
      <button
        type="button"
        aria-pressed={view.value === null}
        title="Show the whole run (0)"
        onClick={() => (view.value = null)}
      >
        All
      </button>
    </div>
  );
}

// Tracks first; parts that count spans or follow links come later.
export function Timeline() {
  const data = drawable.value,
    whole = overview.value,
    isWhole = spans.value !== null,
    names = documentData.value!.names,
    facts = run.value;
  return (
    <div class="timeline-page">
      {facts !== undefined && facts.detail === "none" && <NoSpans facts={facts} />}
      {data !== null && whole !== null && (
        <>
          <FindingBar data={data} isReady={isWhole} />
          <Tracks key={data.facts.run} data={data} whole={whole} names={names} />
          {isWhole && (
            <>
              <Tip data={data} names={names} />
              <Notes data={data} />
              <Selected data={data} names={names} />
              <Aggregates data={whole} names={names} />
            </>
          )}
        </>
      )}
    </div>
  );
}

function Selected({ data, names }: { data: Spans; names: string[] }) {
  const span = selected.value;
  return span >= 0 && span < data.count ? <SpanDetails data={data} names={names} span={span} /> : null;
}
