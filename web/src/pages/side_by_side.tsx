// SPDX-License-Identifier: Apache-2.0
// One prediction at each level set, on one time scale: what a level adds to the time of those above it is seen at once.
// Of each profile only its deepest level is to be trusted; the others are drawn faint.
import { useEffect, useRef } from "preact/hooks";
import { isDark, palette } from "../colors";
import { levelOf, LEVELS, loadRun, type RunFacts, type Spans } from "../data";
import { drawRow, firstEndingAfter, type Label } from "../timeline/lane_draw";
import { time } from "../format";
import { BatchChooser, shownBatch } from "../widgets/parts";
import { documentData } from "../state";

const ROW = 16,
  HEAD = 24,
  ROWS_MOST = 14;

// The counted observation of median duration: [start, duration].
function typical(facts: RunFacts): [number, number] | null {
  const counted = facts.observations.filter(([, , warmup]) => warmup === 0).sort((a, b) => a[1] - b[1]);
  const middle = counted[counted.length >> 1];
  return middle === undefined ? null : [middle[0], middle[1]];
}
const deepestLevel = (facts: RunFacts) =>
  facts.levels_counted.reduce((most, counted, level) => (counted > 0 ? level : most), 0);

function paint(
  canvas: HTMLCanvasElement,
  all: { facts: RunFacts; data: Spans; from: number; length: number }[],
  names: string[],
) {
  const longest = Math.max(...all.map((one) => one.length)) * 1.03,
    ratio = devicePixelRatio || 1,
    width = canvas.clientWidth;
  const rowsOf = ({ facts, data, from, length }: (typeof all)[number]) =>
    facts.rows
      .filter(([, , first, count]) => {
        const i = firstEndingAfter(data, first, first + count, from);
        return i < first + count && data.start[i] < from + length * 1.5;
      })
      .slice(0, ROWS_MOST);
  const shown = all.map((one) => ({ ...one, rows: rowsOf(one) })),
    height = shown.reduce((sum, one) => sum + HEAD + one.rows.length * ROW + 8, 0);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!,
    style = getComputedStyle(canvas),
    colors = palette(),
    wide = Math.round(width * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.textBaseline = "middle";
  let top = 0;
  for (const { facts, data, from, length, rows } of shown) {
    const trusted = deepestLevel(facts),
      labels: Label[] = [],
      tops: number[] = [];
    context.font = "600 12px system-ui, sans-serif";
    context.fillStyle = style.getPropertyValue("--text");
    context.fillText(`${facts.levels}: ${time(length)}`, 0, top + HEAD / 2);
    const left = context.measureText(`${facts.levels}: ${time(length)}`).width + 12;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = style.getPropertyValue("--quiet");
    context.fillText(`trust the ${LEVELS[trusted]} level`, left, top + HEAD / 2);
    const pixels = new Uint32Array(wide * Math.max(1, rows.length));
    rows.forEach(([, , first, count], line) => {
      const before = labels.length;
      drawRow(
        data,
        first,
        first + count,
        from,
        from + longest,
        wide,
        (i) =>
          data.start[i] >= from + length
            ? 0
            : levelOf(data, i) === trusted
              ? colors.of(trusted, data.name[i])
              : colors.faded(levelOf(data, i)),
        pixels,
        line * wide,
        40 * ratio,
        labels,
      );
      for (let i = before; i < labels.length; i++) tops.push(top + HEAD + line * ROW);
    });
    const image = document.createElement("canvas");
    image.width = wide;
    image.height = Math.max(1, rows.length);
    image
      .getContext("2d")!
      .putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), wide, image.height), 0, 0);
    context.imageSmoothingEnabled = false;
    rows.forEach((_, line) => context.drawImage(image, 0, line, wide, 1, 0, top + HEAD + line * ROW, width, ROW - 2));
    context.font = "11px system-ui, sans-serif";
    labels.forEach((label, i) => {
      const fits = Math.floor(((label.x1 - label.x0) / ratio - 8) / 6.1),
        name = names[data.name[label.span]];
      if (fits < 4) return;
      context.fillStyle =
        levelOf(data, label.span) === trusted || isDark()
          ? levelOf(data, label.span) === trusted
            ? colors.text
            : "#e8ebf0"
          : "#1a1f27";
      context.fillText(
        name.length > fits ? `${name.slice(0, fits - 1)}…` : name,
        label.x0 / ratio + 4,
        tops[i] + ROW / 2 - 1,
      );
    });
    top += HEAD + rows.length * ROW + 8;
  }
}

export function SideBySide() {
  const canvas = useRef<HTMLCanvasElement>(null),
    size = shownBatch(),
    document_ = documentData.value!;
  const runs = document_.runs.filter(
    (facts) =>
      facts.detail === "spans" &&
      facts.batch_size === size &&
      typical(facts) !== null &&
      !facts.levels.includes("metrics"),
  );
  const bySet = [...new Map(runs.map((facts) => [facts.levels, facts])).values()].sort(
    (a, b) => deepestLevel(a) - deepestLevel(b),
  );
  useEffect(() => {
    if (bySet.length < 2) return;
    let all: Parameters<typeof paint>[1] = [],
      isOver = false;
    const repaint = () => {
      if (canvas.current !== null && all.length > 0) paint(canvas.current, all, document_.names);
    };
    Promise.all(bySet.map(loadRun)).then((loaded) => {
      all = loaded.map((data, i) => ({
        facts: bySet[i],
        data,
        from: typical(bySet[i])![0],
        length: typical(bySet[i])![1],
      }));
      if (!isOver) repaint();
    });
    addEventListener("resize", repaint);
    addEventListener("xsp-theme", repaint);
    return () => {
      isOver = true;
      removeEventListener("resize", repaint);
      removeEventListener("xsp-theme", repaint);
    };
  }, [size]);
  if (bySet.length < 2) return null;
  return (
    <section class="panel">
      <div class="tools">
        <h3>One prediction at each level set</h3>
        <BatchChooser />
      </div>
      <p class="quiet">
        The observation of median duration of each set, from its start, on one scale. Full colour: the level that this
        set is to be trusted for.
      </p>
      <canvas
        class="flame"
        ref={canvas}
        role="img"
        aria-label={`One prediction at ${bySet.map((facts) => facts.levels).join(", ")}; table L0 has the figures`}
      />
    </section>
  );
}
