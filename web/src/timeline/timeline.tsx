// SPDX-License-Identifier: Apache-2.0
// All tracks of a run over time. Keys and mouse as in Perfetto: W and S zoom, A and D pan, dragging selects a range, a
// click selects a span; arrows lead from launches to their executions.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { palette } from "../colors";
import { BASES, basisOf, KINDS, kindOf, levelOf, LEVELS, type Spans } from "../data";
import { groups, matching, type Group } from "../find";
import { plural, time } from "../format";
import { drawRow, firstEndingAfter, spanAt, type Label } from "./lane_draw";
import { documentData, helpIsOpen, run, selected, selection, spans, view, type Range } from "../state";
import { DataTable } from "../widgets/table";

const ROW = 19,
  GAP = 10,
  HEAD = 26,
  SIDE = 190,
  LEAST_NS = 20,
  ARROWS_MOST = 300;

interface Placed {
  row: number;
  lane: number;
  top: number;
  first: number;
  count: number;
  isFirstOfLane: boolean;
}
function layout(data: Spans): { rows: Placed[]; height: number } {
  let top = HEAD,
    lane = -1;
  const rows = data.facts.rows.map(([laneIndex, , first, rowCount], row) => {
    const isFirstOfLane = laneIndex !== lane;
    if (isFirstOfLane && lane >= 0) top += GAP;
    lane = laneIndex;
    const placed = { row, lane: laneIndex, top, first, count: rowCount, isFirstOfLane };
    top += ROW;
    return placed;
  });
  return { rows, height: top + GAP };
}

function ticks(from: number, to: number, most: number): { step: number; first: number } {
  const raw = (to - from) / most,
    magnitude = 10 ** Math.floor(Math.log10(raw));
  const step =
    [1, 2, 5, 10].map((factor) => factor * magnitude).find((candidate) => candidate >= raw) ?? magnitude * 10;
  return { step, first: Math.ceil(from / step) * step };
}

class Painter {
  private image = document.createElement("canvas");
  private pixels = new Uint32Array(0);
  private childrenOf: Map<number, number[]> | null = null;
  constructor(
    private canvas: HTMLCanvasElement,
    private data: Spans,
    private rows: Placed[],
    private names: string[],
  ) {}

  executions(launch: number): number[] {
    if (this.childrenOf === null) {
      this.childrenOf = new Map();
      for (let i = 0; i < this.data.count; i++) {
        const of = this.data.launch[i];
        if (of >= 0) this.childrenOf.get(of)?.push(i) ?? this.childrenOf.set(of, [i]);
      }
    }
    return this.childrenOf.get(launch) ?? [];
  }

  paint(
    range: Range,
    scrollTop: number,
    height: number,
    chosen: Range | null,
    chosenSpan: number,
    hits: Uint8Array | null,
  ) {
    const { canvas, data } = this,
      ratio = devicePixelRatio || 1;
    const width = Math.max(1, canvas.clientWidth - SIDE),
      context = canvas.getContext("2d")!;
    if (canvas.width !== Math.round(canvas.clientWidth * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const style = getComputedStyle(canvas),
      colors = palette();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = style.getPropertyValue("--surface");
    context.fillRect(0, 0, canvas.clientWidth, height);
    const seen = this.rows.filter((row) => row.top + ROW > scrollTop + HEAD && row.top < scrollTop + height);
    const wide = Math.round(width * ratio),
      labels: Label[] = [],
      labelRows: number[] = [];
    if (this.image.width !== wide || this.image.height !== Math.max(1, seen.length)) {
      this.image.width = wide;
      this.image.height = Math.max(1, seen.length);
    }
    this.pixels = this.pixels.length === wide * seen.length ? this.pixels : new Uint32Array(wide * seen.length);
    this.pixels.fill(0);
    const color =
      hits === null
        ? (i: number) => colors.of(levelOf(data, i), data.name[i])
        : (i: number) =>
            hits[data.name[i]] === 1 ? colors.of(levelOf(data, i), data.name[i]) : colors.faded(levelOf(data, i));
    seen.forEach((row, line) => {
      const before = labels.length;
      drawRow(
        data,
        row.first,
        row.first + row.count,
        range.from,
        range.to,
        wide,
        color,
        this.pixels,
        line * wide,
        34 * ratio,
        labels,
      );
      for (let i = before; i < labels.length; i++) labelRows.push(row.top - scrollTop);
    });
    if (seen.length > 0) {
      this.image
        .getContext("2d")!
        .putImageData(new ImageData(new Uint8ClampedArray(this.pixels.buffer as ArrayBuffer), wide, seen.length), 0, 0);
      context.imageSmoothingEnabled = false;
      seen.forEach((row, line) =>
        context.drawImage(this.image, 0, line, wide, 1, SIDE, row.top - scrollTop, width, ROW - 2),
      );
    }
    this.paintLabels(context, labels, labelRows, colors.text, ratio);
    this.paintMarks(context, range, scrollTop, height, width, chosen, chosenSpan, style, colors.line);
    this.paintHead(context, range, width, height, style);
    this.paintSide(context, seen, scrollTop, height, style);
  }

  private paintLabels(
    context: CanvasRenderingContext2D,
    labels: Label[],
    tops: number[],
    color: string,
    ratio: number,
  ) {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = color;
    labels.forEach((label, i) => {
      const room = (label.x1 - label.x0) / ratio - 8,
        name = this.names[this.data.name[label.span]];
      const fits = Math.floor(room / 6.1); // about a letter's width: measuring each would cost more than drawing
      const text = name.length <= fits ? name : fits > 3 ? `${name.slice(0, fits - 1)}…` : "";
      if (text !== "") context.fillText(text, SIDE + label.x0 / ratio + 4, tops[i] + ROW / 2 - 0.5);
    });
  }

  private topOf(span: number) {
    return this.rows[this.data.row[span]].top;
  }
  private paintMarks(
    context: CanvasRenderingContext2D,
    range: Range,
    scrollTop: number,
    height: number,
    width: number,
    chosen: Range | null,
    chosenSpan: number,
    style: CSSStyleDeclaration,
    line: string,
  ) {
    const x = (at: number) => SIDE + ((at - range.from) / (range.to - range.from)) * width;
    context.save();
    context.beginPath();
    context.rect(SIDE, HEAD, width, height - HEAD);
    context.clip();
    if (chosen !== null) {
      context.fillStyle = style.getPropertyValue("--range");
      context.fillRect(x(chosen.from), HEAD, x(chosen.to) - x(chosen.from), height);
    }
    if (chosenSpan >= 0 && chosenSpan < this.data.count) {
      const left = x(this.data.start[chosenSpan]),
        right = x(this.data.start[chosenSpan] + this.data.duration[chosenSpan]);
      context.strokeStyle = line;
      context.lineWidth = 2;
      context.strokeRect(left, this.topOf(chosenSpan) - scrollTop, Math.max(2, right - left), ROW - 2);
      const launch = kindOf(this.data, chosenSpan) === 2 ? this.data.launch[chosenSpan] : chosenSpan;
      if (launch >= 0)
        for (const execution of this.executions(launch).slice(0, ARROWS_MOST))
          this.arrow(context, launch, execution, x, scrollTop);
    }
    context.restore();
  }

  private arrow(
    context: CanvasRenderingContext2D,
    launch: number,
    execution: number,
    x: (at: number) => number,
    scrollTop: number,
  ) {
    const x0 = x(this.data.start[launch] + this.data.duration[launch]),
      y0 = this.topOf(launch) - scrollTop + ROW / 2;
    const x1 = x(this.data.start[execution]),
      y1 = this.topOf(execution) - scrollTop + ROW / 2;
    const bend = Math.max(24, Math.abs(x1 - x0) / 3);
    context.lineWidth = 1.25;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.moveTo(x1 - 5, y1 - 3.5);
    context.lineTo(x1, y1);
    context.lineTo(x1 - 5, y1 + 3.5);
    context.stroke();
  }

  private paintHead(
    context: CanvasRenderingContext2D,
    range: Range,
    width: number,
    height: number,
    style: CSSStyleDeclaration,
  ) {
    context.fillStyle = style.getPropertyValue("--surface");
    context.fillRect(0, 0, SIDE + width, HEAD);
    context.fillStyle = style.getPropertyValue("--quiet");
    context.strokeStyle = style.getPropertyValue("--rule");
    context.lineWidth = 1;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const { step, first } = ticks(range.from, range.to, Math.max(2, width / 120));
    for (let at = first; at < range.to; at += step) {
      const x = Math.round(SIDE + ((at - range.from) / (range.to - range.from)) * width) + 0.5;
      context.globalAlpha = 0.5;
      context.beginPath();
      context.moveTo(x, HEAD - 6);
      context.lineTo(x, height);
      context.stroke();
      context.globalAlpha = 1;
      context.fillText(time(at, Math.max(3, Math.ceil(Math.log10(Math.max(1, range.to / step))) + 1)), x + 4, HEAD / 2);
    }
  }

  private paintSide(
    context: CanvasRenderingContext2D,
    seen: Placed[],
    scrollTop: number,
    height: number,
    style: CSSStyleDeclaration,
  ) {
    context.fillStyle = style.getPropertyValue("--surface");
    context.fillRect(0, HEAD, SIDE - 1, height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const done = new Set<number>();
    for (const row of seen) {
      if (done.has(row.lane)) continue;
      done.add(row.lane);
      const lane = this.data.facts.lanes[row.lane],
        top = Math.max(row.top - scrollTop, HEAD);
      const text = lane.overlap === 0 ? lane.name : `${lane.name} (${lane.overlap + 1})`;
      context.fillStyle = style.getPropertyValue(lane.overlap === 0 ? "--text" : "--quiet");
      context.fillText(text.length > 29 ? `${text.slice(0, 28)}…` : text, 8, top + ROW / 2 - 1, SIDE - 16);
    }
  }
}

export function Timeline() {
  const data = spans.value,
    names = documentData.value!.names;
  const canvas = useRef<HTMLCanvasElement>(null),
    box = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<{ span: number; x: number; y: number } | null>(null);
  const placed = useMemo(() => (data === null ? null : layout(data)), [data]);
  const facts = run.value;
  useEffect(() => {
    if (data === null || placed === null) return;
    return interact(
      canvas.current!,
      box.current!,
      new Painter(canvas.current!, data, placed.rows, names),
      data,
      placed,
      setHover,
    );
  }, [data, placed]);
  return (
    <div class="timeline-page">
      <div class="tools">
        <span class="spacer-flex" />
        {selection.value !== null && (
          <button type="button" onClick={() => (view.value = selection.value)}>
            Zoom to selection
          </button>
        )}
        <button type="button" onClick={() => (view.value = null)}>
          Show all
        </button>
        <button type="button" onClick={() => (helpIsOpen.value = true)}>
          Keys
        </button>
      </div>
      {facts !== undefined && facts.detail === "none" ? (
        <p class="note">
          This run has {plural(facts.spans, "span")}, more than this report holds. Its tables are complete. To see its
          spans: <code>xsp report FILE --max-spans {facts.spans}</code>, or <code>xsp export FILE --to perfetto</code>.
        </p>
      ) : (
        <div
          class="timeline"
          ref={box}
          tabIndex={0}
          role="application"
          aria-label="Timeline. W and S zoom, A and D pan, arrow keys scroll, the table below has its numbers."
        >
          <canvas
            ref={canvas}
            role="img"
            aria-label={
              data === null
                ? "unpacking"
                : `${plural(data.count, "span")} on ${plural(data.facts.lanes.length, "track")}`
            }
          />
          <div class="timeline-size" style={{ height: `${placed?.height ?? 0}px` }} />
        </div>
      )}
      {hover !== null && data !== null && <Tip data={data} names={names} {...hover} />}
      {data !== null && selected.value >= 0 && selected.value < data.count && (
        <SpanFacts data={data} names={names} span={selected.value} />
      )}
      {data !== null && <Groups data={data} names={names} />}
    </div>
  );
}

function interact(
  canvas: HTMLCanvasElement,
  box: HTMLDivElement,
  painter: Painter,
  data: Spans,
  placed: { rows: Placed[]; height: number },
  setHover: (hover: { span: number; x: number; y: number } | null) => void,
) {
  const whole: Range = { from: -data.end * 0.005, to: Math.max(1, data.end * 1.005) };
  let frame = 0,
    drag: { x: number; at: number; moved: boolean; pan: boolean; from: Range } | null = null,
    pointer = 0;
  const held = new Set<string>();
  const shown = () => view.value ?? whole;
  const width = () => Math.max(1, canvas.clientWidth - SIDE);
  const timeAt = (x: number) => shown().from + ((x - SIDE) / width()) * (shown().to - shown().from);
  const clamp = (range: Range): Range => {
    const size = Math.min(Math.max(range.to - range.from, LEAST_NS), whole.to - whole.from);
    const from = Math.min(Math.max(range.from, whole.from), whole.to - size);
    return { from, to: from + size };
  };
  const zoom = (factor: number, at: number) => {
    const { from, to } = shown();
    view.value = clamp({ from: at - (at - from) * factor, to: at + (to - at) * factor });
  };
  const pan = (share: number) => {
    const { from, to } = shown();
    view.value = clamp({ from: from + (to - from) * share, to: to + (to - from) * share });
  };
  const spanUnder = (event: { clientX: number; clientY: number }) => {
    const area = canvas.getBoundingClientRect(),
      x = event.clientX - area.left,
      y = event.clientY - area.top + box.scrollTop;
    const row =
      x < SIDE || event.clientY - area.top < HEAD
        ? undefined
        : placed.rows.find((candidate) => y >= candidate.top && y < candidate.top + ROW);
    return row === undefined
      ? -1
      : spanAt(data, row.first, row.first + row.count, timeAt(x), ((shown().to - shown().from) / width()) * 1.5);
  };
  const paint = () => {
    frame = 0;
    if (held.size > 0) step();
    painter.paint(shown(), box.scrollTop, box.clientHeight, selection.value, selected.value, matching.value);
    performance.measure("xsp-frame", { start: started, end: performance.now() });
  };
  let started = 0;
  const later = () => {
    if (frame === 0)
      frame = requestAnimationFrame(() => {
        started = performance.now();
        paint();
      });
  };
  const step = () => {
    const at = timeAt(Math.max(SIDE, pointer || SIDE + width() / 2));
    if (held.has("w")) zoom(0.94, at);
    if (held.has("s")) zoom(1 / 0.94, at);
    if (held.has("a")) pan(-0.02);
    if (held.has("d")) pan(0.02);
    later();
  };
  const onKey = (event: KeyboardEvent) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName)
    )
      return;
    const key = event.key.toLowerCase();
    if ("wasd".includes(key) && key.length === 1) {
      if (!held.has(key)) {
        held.add(key);
        step();
      }
    } else if (key === "f" && selected.value >= 0) {
      const from = data.start[selected.value],
        size = Math.max(LEAST_NS, data.duration[selected.value]);
      view.value = clamp({ from: from - size * 0.2, to: from + size * 1.2 });
    } else if (key === "." || key === ",") moveSelection(key === "." ? 1 : -1);
    else if (key === "escape") {
      selection.value = null;
      selected.value = -1;
    } else if (key === "0") view.value = null;
    else return;
    event.preventDefault();
  };
  const moveSelection = (by: number) => {
    const next = selected.value + by;
    if (next >= 0 && next < data.count && data.row[next] === data.row[selected.value]) {
      selected.value = next;
      reveal(next);
    }
  };
  const reveal = (span: number) => {
    const { from, to } = shown(),
      middle = data.start[span] + data.duration[span] / 2;
    if (middle < from || middle > to)
      view.value = clamp({ from: middle - (to - from) / 2, to: middle + (to - from) / 2 });
    const top = placed.rows[data.row[span]].top;
    if (top < box.scrollTop + HEAD || top + ROW > box.scrollTop + box.clientHeight)
      box.scrollTop = top - box.clientHeight / 2;
  };
  const onKeyUp = (event: KeyboardEvent) => held.delete(event.key.toLowerCase());
  const onWheel = (event: WheelEvent) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(event.deltaY * 0.002), timeAt(x));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan(((event.deltaX || event.deltaY) / width()) * 0.8);
    }
  };
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0 || event.offsetX < SIDE) return;
    drag = { x: event.clientX, at: timeAt(event.offsetX), moved: false, pan: event.shiftKey, from: shown() };
    canvas.setPointerCapture(event.pointerId);
  };
  const onMove = (event: PointerEvent) => {
    pointer = event.clientX - canvas.getBoundingClientRect().left;
    if (drag === null) {
      const span = spanUnder(event);
      setHover(span < 0 ? null : { span, x: event.clientX, y: event.clientY });
      return;
    }
    if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
    if (!drag.moved) return;
    setHover(null);
    if (drag.pan) {
      const by = ((drag.x - event.clientX) / width()) * (drag.from.to - drag.from.from);
      view.value = clamp({ from: drag.from.from + by, to: drag.from.to + by });
    } else {
      const at = Math.max(whole.from, Math.min(whole.to, timeAt(pointer)));
      selection.value = { from: Math.min(at, drag.at), to: Math.max(at, drag.at) + 1 };
    }
  };
  const onUp = (event: PointerEvent) => {
    if (drag !== null && !drag.moved) {
      selected.value = spanUnder(event);
      if (selected.value < 0) selection.value = null;
    }
    drag = null;
  };
  const stops = [
    view.subscribe(later),
    selection.subscribe(later),
    matching.subscribe(later),
    selected.subscribe((span) => {
      if (span >= 0 && span < data.count) reveal(span);
      later();
    }),
  ];
  const listen: [EventTarget, string, (event: any) => void, AddEventListenerOptions?][] = [
    [document, "keydown", onKey],
    [document, "keyup", onKeyUp],
    [window, "blur", () => held.clear()],
    [canvas, "wheel", onWheel, { passive: false }],
    [canvas, "pointerdown", onDown],
    [canvas, "pointermove", onMove],
    [canvas, "pointerup", onUp],
    [canvas, "pointerleave", () => setHover(null)],
    [box, "scroll", later],
    [window, "resize", later],
    [window, "xsp-theme", later],
  ];
  for (const [target, type, handler, options] of listen) target.addEventListener(type, handler, options);
  later();
  return () => {
    cancelAnimationFrame(frame);
    stops.forEach((stop) => stop());
    for (const [target, type, handler] of listen) target.removeEventListener(type, handler);
  };
}

function Tip({ data, names, span, x, y }: { data: Spans; names: string[]; span: number; x: number; y: number }) {
  const right = x > innerWidth - 380;
  return (
    <div
      class="tip"
      style={{
        left: right ? "" : `${x + 14}px`,
        right: right ? `${innerWidth - x + 14}px` : "",
        top: `${Math.min(y + 14, innerHeight - 90)}px`,
      }}
    >
      <strong>{names[data.name[span]]}</strong>
      <span>
        {LEVELS[levelOf(data, span)]}, {time(data.duration[span])}
      </span>
    </div>
  );
}

function SpanLink({ data, names, span }: { data: Spans; names: string[]; span: number }) {
  return (
    <button type="button" class="link" onClick={() => (selected.value = span)}>
      <i class={`dot level-${levelOf(data, span)}`} />
      {names[data.name[span]]}
    </button>
  );
}

function SpanFacts({ data, names, span }: { data: Spans; names: string[]; span: number }) {
  const above: number[] = [];
  for (let i = data.parent[span]; i >= 0 && above.length < 64; i = data.parent[i]) above.unshift(i);
  const executions: number[] = [];
  if (kindOf(data, span) === 1)
    for (let i = 0; i < data.count && executions.length < 8; i++) if (data.launch[i] === span) executions.push(i);
  const lane = data.facts.lanes[data.facts.rows[data.row[span]][0]];
  return (
    <section class="panel" aria-label="Selected span">
      <h3 class="wrap">{names[data.name[span]]}</h3>
      <dl class="facts">
        <div>
          <dt>duration</dt>
          <dd title={`${data.duration[span]} ns`}>{time(data.duration[span])}</dd>
        </div>
        <div>
          <dt>start</dt>
          <dd title={`${data.start[span]} ns`}>{time(data.start[span], 7)}</dd>
        </div>
        <div>
          <dt>level</dt>
          <dd>{LEVELS[levelOf(data, span)]}</dd>
        </div>
        <div>
          <dt>kind</dt>
          <dd>{KINDS[kindOf(data, span)]}</dd>
        </div>
        <div>
          <dt>track</dt>
          <dd>{lane.name}</dd>
        </div>
        <div>
          <dt>parent by</dt>
          <dd>{BASES[basisOf(data, span)]}</dd>
        </div>
        {data.launch[span] >= 0 && (
          <div>
            <dt>started after its launch returned</dt>
            <dd>{time(data.start[span] - data.start[data.launch[span]] - data.duration[data.launch[span]])}</dd>
          </div>
        )}
      </dl>
      {above.length > 0 && (
        <p class="chain">
          in{" "}
          {above.map((i, n) => (
            <span key={i}>
              {n > 0 && " › "}
              <SpanLink data={data} names={names} span={i} />
            </span>
          ))}
        </p>
      )}
      {data.launch[span] >= 0 && (
        <p class="chain">
          launched by <SpanLink data={data} names={names} span={data.launch[span]} />
        </p>
      )}
      {executions.length > 0 && (
        <p class="chain">
          executed as{" "}
          {executions.map((i) => (
            <SpanLink key={i} data={data} names={names} span={i} />
          ))}
        </p>
      )}
    </section>
  );
}

function Groups({ data, names }: { data: Spans; names: string[] }) {
  const range = selection.value,
    all = groups.value;
  const columns = useMemo(
    () => [
      {
        key: "name",
        label: "name",
        isText: true,
        value: (group: Group) => names[group.name],
        show: (group: Group) => (
          <>
            <i class={`dot level-${group.level}`} />
            {names[group.name]}
          </>
        ),
      },
      { key: "level", label: "level", isText: true, value: (group: Group) => LEVELS[group.level] },
      { key: "kind", label: "kind", isText: true, value: (group: Group) => KINDS[group.kind] },
      { key: "count", label: "count", value: (group: Group) => group.count },
      { key: "total_ns", label: range === null ? "total" : "total inside", value: (group: Group) => group.total },
      {
        key: "share_pct",
        label: "of the range",
        title: "share of the range's length; several tracks may run at once",
        value: (group: Group) => (100 * group.total) / (range === null ? data.end : range.to - range.from),
      },
      { key: "mean_ns", label: "mean", value: (group: Group) => group.total / group.count },
      { key: "least_ns", label: "min", value: (group: Group) => group.least },
      { key: "most_ns", label: "max", value: (group: Group) => group.most },
    ],
    [data, names, range],
  );
  const caption =
    range === null ? "Spans by name, whole run" : `Spans by name, ${time(range.to - range.from)} selected`;
  return (
    <DataTable
      id="groups"
      caption={caption}
      columns={columns}
      rows={all}
      height={360}
      onRow={(group) => {
        for (let i = 0; i < data.count; i++)
          if (
            data.name[i] === group.name &&
            (data.attributes[i] & 31) === (group.level | (group.kind << 3)) &&
            (range === null || (firstEndingAfter(data, i, i + 1, range.from) === i && data.start[i] < range.to))
          ) {
            selected.value = i;
            break;
          }
      }}
    />
  );
}
