// SPDX-License-Identifier: Apache-2.0
// Contexts as boxes, as wide as their value, children below parents. Boxes too narrow to see are drawn as one with
// their number. Mouse and keys move between boxes; the page decides what a click does.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { palette } from "../colors";
import { count, plural } from "../format";
import { keyOf, useKeysOfPage } from "../frame/key_of";
import { NO_MARKS, type Marks } from "../findings";
import { colorOf, onlyOf, pairOf } from "./difference";
import { childrenOf, type Shape } from "./shape";
import { fitted } from "./text";

export const ROW = 20;
const LEAST = 1.2; // pixels of a box that is drawn
const DEPTH_MOST = 200;
const DOUBLE_MOST_MS = 1000; // from a click to the second one
const MORE = -2; // node of boxes drawn together

interface Box {
  node: number; // MORE: several narrow ones
  parent: number;
  x: number;
  width: number;
  depth: number;
  count: number; // contexts in it
  total: number;
}
export interface Layout {
  boxes: Box[];
  rows: Box[][]; // by depth, from left to right
  hidden: number; // contexts without a box of their own
  cut: number; // contexts deeper than is drawn
}

export function layoutOf(shape: Shape, root: number, width: number): Layout {
  const boxes: Box[] = [],
    rows: Box[][] = [],
    stack: Box[] = [{ node: root, parent: -1, x: 0, width, depth: 0, count: 1, total: shape.total[root] }];
  let hidden = 0,
    cut = 0;
  while (stack.length > 0) {
    const box = stack.pop()!;
    boxes.push(box);
    (rows[box.depth] ??= []).push(box);
    if (box.node === MORE) continue;
    const of = shape.total[box.node],
      children = childrenOf(shape, box.node);
    if (of <= 0) {
      hidden += children.length;
      continue;
    }
    if (box.depth >= DEPTH_MOST) {
      cut += children.length;
      continue;
    }
    let x = box.x,
      narrow: Box | null = null;
    const flush = () => {
      if (narrow !== null && narrow.width >= 0.5) stack.push(narrow);
      narrow = null;
    };
    for (const child of children) {
      if (shape.otherSums !== null && shape.total[child] <= 0) continue; // the other run's only: has a line of its own
      const wide = (shape.total[child] / of) * box.width;
      const one: Box = {
        node: child,
        parent: box.node,
        x,
        width: wide,
        depth: box.depth + 1,
        count: 1,
        total: shape.total[child],
      };
      x += wide;
      if (wide >= LEAST) {
        flush();
        stack.push(one);
        continue;
      }
      hidden++;
      if (narrow === null) narrow = { ...one, node: MORE };
      else {
        const together: Box = narrow;
        together.width += wide;
        together.count++;
        together.total += one.total;
      }
    }
    flush();
  }
  for (const row of rows) row.sort((a, b) => a.x - b.x);
  return { boxes, rows, hidden, cut };
}

const css = (packed: number) => `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
const MARK = 16; // pixels at the end of contexts that have findings, for a dot
const MARK_RADIUS = 4;
const LEAST_TEXT = 27; // pixels of a box with a name

interface Look {
  marks: Marks;
  layout: Layout;
  shape: Shape;
  names: string[];
  hits: Uint8Array | null;
  isFlipped: boolean;
  cursor: number;
  hover: number;
}
// Stripes: only one of the runs compared has the context.
const STRIPE = 6;
function stripe(context: CanvasRenderingContext2D, x: number, y: number, wide: number) {
  context.save();
  context.beginPath();
  context.rect(x, y, wide, ROW - 1);
  context.clip();
  context.beginPath();
  for (let at = x - ROW; at < x + wide; at += STRIPE) {
    context.moveTo(at, y + ROW);
    context.lineTo(at + ROW, y);
  }
  context.strokeStyle = "rgb(255 255 255 / 45%)";
  context.lineWidth = 1.5;
  context.stroke();
  context.restore();
}
function mark(context: CanvasRenderingContext2D, x: number, y: number, wide: number) {
  context.beginPath();
  context.arc(x + wide - Math.min(MARK / 2, wide / 2), y + ROW / 2 - 0.5, Math.min(MARK_RADIUS, wide / 2), 0, 7);
  context.fill();
}
function paint(element: HTMLCanvasElement, { layout, marks, shape, names, hits, isFlipped, cursor, hover }: Look) {
  const ratio = devicePixelRatio || 1,
    context = element.getContext("2d")!,
    colors = palette(),
    style = getComputedStyle(element),
    depth = layout.rows.length;
  element.width = Math.round(element.clientWidth * ratio);
  element.height = Math.round(depth * ROW * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "11.5px system-ui, sans-serif";
  context.textBaseline = "middle";
  const colorAt = (node: number) =>
    shape.otherSums === null
      ? colors.of(shape.level[node], shape.name[node])
      : colors.difference(colorOf(pairOf(shape, node, "total")));
  const label = (node: number) => (shape.name[node] < 0 ? "all" : names[shape.name[node]]);
  for (const box of layout.boxes) {
    const y = (isFlipped ? depth - 1 - box.depth : box.depth) * ROW,
      wide = Math.max(0.5, box.width - (box.width > 3 ? 1 : 0.2));
    if (box.node === MORE) {
      context.fillStyle = css(colors.faded(0));
      context.fillRect(box.x, y + 2, wide, ROW - 5);
    } else {
      const isHit = hits === null || (shape.name[box.node] >= 0 && hits[shape.name[box.node]] === 1),
        isPlain = shape.name[box.node] < 0;
      context.fillStyle = css(
        isPlain ? colors.faded(0) : isHit ? colorAt(box.node) : colors.faded(shape.level[box.node]),
      );
      context.fillRect(box.x, y, wide, ROW - 1);
      if (shape.otherSums !== null && onlyOf(pairOf(shape, box.node, "total")) !== "") stripe(context, box.x, y, wide);
      if (box.node === cursor || box.node === hover) {
        context.strokeStyle = style.getPropertyValue(box.node === cursor ? "--accent" : "--text");
        context.lineWidth = box.node === cursor ? 2.5 : 1.5;
        context.strokeRect(box.x + 1, y + 1, Math.max(1, wide - 2), ROW - 3);
      }
      context.fillStyle = isPlain || !isHit ? colors.line : colors.text;
      if (marks.has(box.node)) mark(context, box.x, y, wide);
    }
    if (box.width < LEAST_TEXT) continue;
    if (box.node === MORE) context.fillStyle = colors.line;
    const text = box.node === MORE ? `… ${count(box.count)} more` : label(box.node);
    const room = box.width - 9 - (marks.has(box.node) ? MARK : 0);
    context.fillText(fitted(context, text, room), box.x + 5, y + ROW / 2);
  }
}

function useSize() {
  const box = useRef<HTMLDivElement>(null),
    [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  return { box, width };
}

// The box to go to by an arrow key: towards the root, to the widest child, to the neighbours of the same row.
function step(layout: Layout, from: Box, key: string, isFlipped: boolean): Box | undefined {
  const up = isFlipped ? "ArrowDown" : "ArrowUp",
    down = isFlipped ? "ArrowUp" : "ArrowDown";
  const row = layout.rows[from.depth].filter((box) => box.node !== MORE),
    at = row.indexOf(from);
  if (key === up) return layout.rows[from.depth - 1]?.find((box) => box.node === from.parent);
  if (key === down)
    return layout.rows[from.depth + 1]
      ?.filter((box) => box.node !== MORE && box.parent === from.node)
      .sort((a, b) => b.width - a.width)[0];
  return row[at + (key === "ArrowRight" ? 1 : -1)];
}

export interface Hovered {
  node: number; // -1: nothing
  more: number; // contexts drawn together, 0: none
  total: number;
  x: number; // of the pointer; -1: by keys
  y: number;
}
export const NOTHING: Hovered = { node: -1, more: 0, total: 0, x: -1, y: -1 };

export function FlameCanvas({
  shape,
  root,
  names,
  hits,
  label,
  marks = NO_MARKS,
  isFlipped = false,
  onHover,
  onOpen,
  onJump,
  onBack,
}: {
  shape: Shape;
  root: number;
  names: string[];
  hits: Uint8Array | null;
  label: string;
  marks?: Marks;
  isFlipped?: boolean; // the root at the bottom
  onHover: (hovered: Hovered) => void;
  onOpen: (node: number) => void;
  onJump?: (node: number) => void; // to the timeline
  onBack?: (isAll: boolean) => void;
}) {
  const { box: frame, width } = useSize(),
    canvas = useRef<HTMLCanvasElement>(null),
    clicked = useRef({ node: -1, at: 0 }),
    [cursor, setCursor] = useState(-1),
    [hover, setHover] = useState(-1),
    [theme, setTheme] = useState(0);
  const layout = useMemo(() => layoutOf(shape, root, Math.max(1, width)), [shape, root, width]);
  useEffect(() => setCursor(-1), [shape]);
  useEffect(() => {
    const again = () => setTheme((before) => before + 1);
    addEventListener("xsp-theme", again);
    return () => removeEventListener("xsp-theme", again);
  }, []);
  useLayoutEffect(() => {
    if (width > 0) paint(canvas.current!, { layout, marks, shape, names, hits, isFlipped, cursor, hover });
  }, [layout, marks, hits, cursor, hover, theme, width]);
  const under = (event: MouseEvent): Box | undefined => {
    const area = canvas.current!.getBoundingClientRect(),
      x = event.clientX - area.left,
      at = Math.floor((event.clientY - area.top) / ROW);
    return layout.rows[isFlipped ? layout.rows.length - 1 - at : at]?.find(
      (box) => x >= box.x && x < box.x + box.width,
    );
  };
  const report = (box: Box | undefined, x: number, y: number) =>
    onHover(
      box === undefined
        ? NOTHING
        : {
            node: box.node === MORE ? box.parent : box.node,
            more: box.node === MORE ? box.count : 0,
            total: box.total,
            x,
            y,
          },
    );
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = layout.boxes.find((box) => box.node === cursor) ?? layout.boxes[0];
    const key = keyOf(event),
      meant = cursor >= 0 ? cursor : hover;
    if (event.key.startsWith("Arrow")) {
      if (event.target === document.body && cursor < 0) return; // scrolls the page
      const next = cursor < 0 ? here : step(layout, here, event.key, isFlipped);
      if (next !== undefined) {
        setCursor(next.node);
        report(next, -1, -1);
      }
    } else if (key === "enter" && meant >= 0) onOpen(meant);
    else if ((key === "escape" || key === "backspace") && onBack !== undefined) onBack(false);
    else if ((key === "home" || key === "0") && onBack !== undefined) onBack(true);
    else if (key === "f" && meant >= 0 && onJump !== undefined) onJump(meant);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  // The first click has shown the context alone: another box may be at the place of the second.
  useEffect(() => {
    if (onJump === undefined) return;
    const onDouble = () => {
      const { node, at } = clicked.current;
      if (node >= 0 && performance.now() - at < DOUBLE_MOST_MS) onJump(node);
    };
    document.addEventListener("dblclick", onDouble);
    return () => document.removeEventListener("dblclick", onDouble);
  });
  useKeysOfPage(onBack === undefined ? null : onKey);
  return (
    <div
      class="flame-frame"
      ref={frame}
      tabIndex={0}
      role="application"
      aria-roledescription="flame graph"
      aria-label={`${label}. Arrow keys go from context to context, Enter shows one alone, Escape goes back`}
      data-contexts={shape.name.length - 1}
      data-drawn={layout.boxes.length}
      data-hidden={layout.hidden}
      data-cut={layout.cut}
      data-marked={marks.size}
      data-total={shape.total[root]}
      onKeyDown={onKey}
      onBlur={() => cursor >= 0 && setCursor(-1)}
    >
      <canvas
        class="flame-canvas"
        ref={canvas}
        role="img"
        aria-label={`${label}, ${count(shape.name.length - 1)} contexts; the table below has its numbers`}
        style={{ height: `${layout.rows.length * ROW}px` }}
        onMouseMove={(event) => {
          const box = under(event);
          setHover(box === undefined || box.node === MORE ? -1 : box.node);
          report(box, event.clientX, event.clientY);
        }}
        onMouseLeave={() => {
          setHover(-1);
          report(undefined, -1, -1);
        }}
        onClick={(event) => {
          const box = under(event);
          if (box === undefined || event.detail > 1) return;
          clicked.current = { node: box.node, at: performance.now() };
          onOpen(box.node === MORE ? box.parent : box.node);
        }}
      />
      {(layout.hidden > 0 || layout.cut > 0) && (
        <p class="quiet flame-hidden">
          {layout.hidden > 0 &&
            `${plural(layout.hidden, "context")} narrower than a pixel, drawn together: open a context around them, or see the table. `}
          {layout.cut > 0 && `${count(layout.cut)} contexts are deeper than ${DEPTH_MOST} and not drawn.`}
        </p>
      )}
    </div>
  );
}
