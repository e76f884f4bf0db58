// SPDX-License-Identifier: Apache-2.0
// Names of the tracks next to the canvas, as buttons: a group or a track closes, a track is pinned or hidden. Only
// those in view are in the document; the canvas moves them with each frame.
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../format";
import type { Spans } from "../data";
import { GROUP_HEAD, ROW } from "./geometry";
import { toggle, type GroupBox, type Layout, type TrackBox } from "./layout";
import type { Stage } from "./stage";

const MARGIN = 400, // pixels rendered beyond the window
  LONG = 16, // letters
  TAIL = 8;

function trackTitle(data: Spans, box: TrackBox): string {
  const { track } = box,
    lane = data.facts.lanes[track.lane];
  const overlap = track.isOverlap ? "; spans here overlap others of the same track, so they have a separate lane" : "";
  const depth = `${plural(box.depth, "row")} deep`;
  return `${lane.name} (${lane.process}): ${plural(track.spans, data.merged === null ? "span" : "rectangle")}, ${depth}${overlap}`;
}

// Long names wrap if the track is tall enough; else their middle is left out, since names of threads and streams often
// differ at the end.
function TrackName({ box }: { box: TrackBox }) {
  const { label } = box.track,
    lines = Math.min(3, Math.floor(box.height / ROW));
  if (lines > 1)
    return (
      <span class="side-text is-wrapped" style={{ maxHeight: `${lines * ROW}px` }}>
        {label}
      </span>
    );
  const head = label.length > LONG ? label.slice(0, -TAIL) : label;
  return (
    <span class="side-text is-cut">
      <span>{head}</span>
      {head.length < label.length && <span>{label.slice(-TAIL)}</span>}
    </span>
  );
}

function TrackLabel({ data, box }: { data: Spans; box: TrackBox }) {
  const id = String(box.track.lane),
    isClosed = box.state === "closed";
  return (
    <div class={`side-track${box.track.isOverlap ? " is-overlap" : ""}`} style={{ top: `${box.top}px` }}>
      <button
        type="button"
        class="side-name"
        title={trackTitle(data, box)}
        aria-expanded={!isClosed}
        onClick={() => toggle("closed", id)}
      >
        <span class="chevron" aria-hidden="true" />
        <TrackName box={box} />
      </button>
      <span class="side-actions">
        <button
          type="button"
          aria-pressed={box.isPinned}
          aria-label={`Pin ${box.track.label}`}
          title={box.isPinned ? "Unpin" : "Pin to the top"}
          onClick={() => toggle("pinned", id)}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M5 2h6l-1 5 3 3H3l3-3zM8 10v4" />
          </svg>
        </button>
        <button type="button" aria-label={`Hide ${box.track.label}`} title="Hide" onClick={() => toggle("hidden", id)}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M4 4l8 8M12 4l-8 8" />
          </svg>
        </button>
      </span>
      {box.state === "short" && (
        <button
          type="button"
          class="side-more"
          style={{ top: `${box.height - ROW}px` }}
          onClick={() => toggle("open", id)}
        >
          {box.depth - Math.round(box.height / ROW) + 1} deeper rows
        </button>
      )}
    </div>
  );
}

function GroupLabel({ box }: { box: GroupBox }) {
  return (
    <button
      type="button"
      class="side-group"
      style={{ top: `${box.top}px`, height: `${GROUP_HEAD}px` }}
      title={box.group.title}
      aria-expanded={box.isOpen}
      onClick={() => toggle("closed", box.group.id)}
    >
      <span class="chevron" aria-hidden="true" />
      <span class="side-text">{box.group.label}</span>
      <span class="quiet">{box.group.tracks.length}</span>
    </button>
  );
}

export function Side({ data, layout, stage }: { data: Spans; layout: Layout; stage: Stage | null }) {
  const moved = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0); // scroll position in steps of the margin
  useEffect(() => {
    if (stage === null) return;
    stage.onScroll = (top) => {
      if (moved.current === null) return; // another page is shown already
      moved.current.style.transform = `translateY(${-top}px)`;
      setAt(Math.floor(top / MARGIN));
    };
    stage.later();
    return () => (stage.onScroll = null);
  }, [stage, layout]);
  const from = (at - 1) * MARGIN,
    to = (at + 2) * MARGIN + innerHeight;
  const isNear = (box: { top: number; height?: number }) => box.top + (box.height ?? GROUP_HEAD) > from && box.top < to;
  const near = [...layout.groups, ...layout.tracks.filter((box) => !box.isPinned)]
    .filter(isNear)
    .sort((a, b) => a.top - b.top); // as the keyboard goes through them
  return (
    <div class="side">
      <div class="side-clip" style={{ top: `${layout.headHeight + layout.pinnedHeight}px` }}>
        <div ref={moved} style={{ marginTop: `${-layout.headHeight - layout.pinnedHeight}px` }}>
          {near.map((box) =>
            "group" in box ? (
              <GroupLabel key={box.group.id} box={box} />
            ) : (
              <TrackLabel key={box.track.lane} data={data} box={box} />
            ),
          )}
        </div>
      </div>
      {layout.tracks
        .filter((box) => box.isPinned)
        .map((box) => (
          <TrackLabel key={box.track.lane} data={data} box={box} />
        ))}
    </div>
  );
}
