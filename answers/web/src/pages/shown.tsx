// SPDX-License-Identifier: Apache-2.0
// Shared by the pages of figures: links to observations, contents of the selected range, shares of a whole.
import { batch as together } from "@preact/signals";
import type { ComponentChildren } from "preact";
import "./figures.css";
import type { Cell, RunFacts } from "../data";
import { picked } from "../filter";
import { count, digits, plural, time } from "../format";
import { chooseBatch, chooseRun, page, run, selection, spans, view } from "../state";
import type { Observation } from "../noise";
import { isDrawable } from "../widgets/axis";
import { answer, runLabel, shownBatch } from "../widgets/parts";

export const positive = (value: Cell | undefined): number | null =>
  typeof value === "number" && isDrawable(value) && value > 0 ? value : null;
export const finite = (value: Cell | undefined): number | null =>
  typeof value === "number" && isDrawable(value) ? value : null;
export const percent = (part: number, whole: number) =>
  whole > 0 && isDrawable(part / whole) ? `${digits((100 * part) / whole, 3)} %` : "–";

export function openObservation({ facts, place }: Observation) {
  const [start, duration] = facts.observations[place],
    room = Math.max(duration * 0.05, 100);
  together(() => {
    if (run.value !== facts) chooseRun(facts.run);
    view.value = { from: Math.max(0, start - room), to: start + duration + room };
    page.value = "timeline";
  });
}
export const opens = (one: Observation) => (one.facts.detail === "none" ? undefined : () => openObservation(one));

const touches = ([start, duration]: RunFacts["observations"][number], from: number, to: number) =>
  start < to && start + duration > from;
// Null: no selection, or one in another run.
export function isInRange({ facts, place }: Observation): boolean | null {
  const range = selection.value;
  if (range === null || facts !== run.value) return null;
  return touches(facts.observations[place], range.from, range.to);
}

// A note on which parts of this page the selected range filters.
export function RangeNote({ filtered, whole }: { filtered: string; whole: string }) {
  const range = selection.value,
    facts = run.value;
  if (range === null || facts === undefined) return null;
  const inside = facts.observations.filter((one) => touches(one, range.from, range.to)),
    counted = inside.filter(([, , warmup]) => warmup === 0).length,
    warm = inside.length - counted,
    all = facts.observations.filter(([, , warmup]) => warmup === 0).length;
  return (
    <p class="note range-note" role="status">
      <span>
        {time(range.to - range.from)} are selected in {runLabel(facts)}: they touch {count(counted)} of{" "}
        {plural(all, "counted observation")}
        {warm > 0 && ` and ${plural(warm, "warm-up")}`}
        {picked.value !== null && `, ${plural(picked.value.spans, "span")}`}.{" "}
        {spans.value === null ? "The spans of this run are not in this report: nothing is filtered." : filtered} {whole}
      </span>
      <button type="button" onClick={() => (selection.value = null)}>
        Clear selection
      </button>
    </p>
  );
}

// If a batch size was recorded at fewer levels than another, tables are those of the other, with a note.
export function BatchNote({ of }: { of: [id: string, what: string][] }) {
  const size = shownBatch();
  const apart = of.flatMap(([id, what]) => {
    const other = answer(id)?.table.run_set.batch_size ?? null;
    return other === null || size === null || other === size ? [] : [{ what, other }];
  });
  if (apart.length === 0) return null;
  const { other } = apart[0];
  return (
    <p class="note range-note" role="status">
      <span>
        Batch {size} was recorded without {apart.map(({ what }) => what).join(" and ")}: all figures of them are of
        batch {other}.
      </span>
      <button type="button" onClick={() => chooseBatch(other)}>
        Show batch {other}
      </button>
    </p>
  );
}

export interface Part {
  label: string;
  value: number;
  text: string;
  look: string; // class of its piece of the bar
  title?: string;
}
// Shares of a whole as one bar, and a line of text for each.
export function Stack({ parts, title }: { parts: Part[]; title: string }) {
  const whole = parts.reduce((sum, part) => sum + part.value, 0);
  if (!(whole > 0)) return null;
  return (
    <div class="stack">
      <div class="stack-bar" role="img" aria-label={`${title}: ${parts.map((p) => `${p.label} ${p.text}`).join("; ")}`}>
        {parts.map((part) => (
          <span key={part.label} class={part.look} style={{ width: `${(100 * part.value) / whole}%` }} />
        ))}
      </div>
      <ul>
        {parts.map((part) => (
          <li key={part.label} title={part.title}>
            <span class={`dot ${part.look}`} aria-hidden="true" />
            <span class="stack-label">{part.label}</span>
            <span class="stack-text">{part.text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Panel({ title, aside, children }: { title: string; aside?: string; children: ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      <h3>
        {title}
        {aside !== undefined && aside !== "" && <span class="quiet panel-aside">{aside}</span>}
      </h3>
      {children}
    </section>
  );
}
