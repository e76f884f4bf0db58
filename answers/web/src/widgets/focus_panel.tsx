// SPDX-License-Identifier: Apache-2.0
// The panel of Layers, Kernels and Roofline: figures of the selected layer, kernel or type, and links to its
// neighbours, kernels or layers, roofline point and spans.
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { findOccurrences, FocusLink, showOnTimeline, type Occurrences } from "../focus";
import { plural, time } from "../format";
import { documentData, focus, page, type Focus, type Page } from "../state";
import { number, text } from "./answers";
import { isLayer, KernelFacts, LayerFacts, rowsOf, TypeFacts } from "./focus_facts";
import { runLabel } from "./parts";
import "./focus_panel.css";

const LONG_NAME = 120; // letters: such a name scrolls

function OnTimeline({ target }: { target: Focus }) {
  const [found, setFound] = useState<Occurrences | null | undefined>(undefined);
  useEffect(() => {
    let isCurrent = true;
    setFound(undefined);
    findOccurrences(target).then(
      (result) => isCurrent && setFound(result),
      () => isCurrent && setFound(null),
    );
    return () => {
      isCurrent = false;
    };
  }, [target.kind, target.name, target.index]);
  if (found === undefined) return <p class="quiet">Looking for its spans…</p>;
  if (found === null) return <p class="quiet">None of its spans is in this report.</p>;
  return (
    <p>
      {plural(found.places.length, "span")} in {runLabel(found.facts)}.{" "}
      <button type="button" onClick={() => showOnTimeline(found, found.median)}>
        Show the median one ({time(found.data.duration[found.median])})
      </button>
    </p>
  );
}

// Of a layer: the ones before and after it in execution; of a kernel or type: by descending value, as in the tables.
function neighbours(target: Focus): [Focus | null, Focus | null] {
  const [id, key] = { layer: ["A2", "layer_name"], kernel: ["A10", "kernel_name"], type: ["A6", "layer_type"] }[
      target.kind
    ],
    rows = rowsOf(id),
    at = rows.findIndex((row) => (target.kind === "layer" ? isLayer(row, target) : text(row[key]) === target.name));
  const to = (place: number): Focus | null =>
    at < 0 || rows[place] === undefined
      ? null
      : {
          kind: target.kind,
          name: text(rows[place][key]),
          index: target.kind === "layer" ? number(rows[place].layer_index) : null,
        };
  return [to(at - 1), to(at + 1)];
}

const PLACES: [Page, string][] = [
  ["layers", "Layers"],
  ["kernels", "Kernels"],
  ["roofline", "Roofline"],
];
function FocusPanel({ target }: { target: Focus }) {
  const [before, after] = neighbours(target);
  const isLong = target.name.length > LONG_NAME;
  const kind = target.kind === "type" ? "layer type" : target.kind;
  const elsewhere = PLACES.filter(([id]) => id !== page.value && answerFor(id, target));
  return (
    <aside class="focus-panel" aria-label={`The ${kind} ${target.name}`} data-focus={target.kind}>
      <div class="focus-head">
        <span class="quiet">
          <i class={`dot level-${target.kind === "kernel" ? 4 : 2}`} aria-hidden="true" />
          {kind}
          {target.index !== null && ` ${target.index}`}
        </span>
        <span class="spacer-flex" />
        {before !== null ? (
          <FocusLink target={before} class="focus-step">
            ‹ previous
          </FocusLink>
        ) : (
          <span class="focus-step quiet">‹ previous</span>
        )}
        {after !== null ? (
          <FocusLink target={after} class="focus-step">
            next ›
          </FocusLink>
        ) : (
          <span class="focus-step quiet">next ›</span>
        )}
        <button type="button" aria-label={`Close the ${kind}`} onClick={() => (focus.value = null)}>
          ×
        </button>
      </div>
      <h2 class={`focus-title${isLong ? " is-long" : ""}`} tabIndex={isLong ? 0 : undefined}>
        {target.name}
      </h2>
      {target.kind === "layer" ? (
        <LayerFacts target={target} />
      ) : target.kind === "kernel" ? (
        <KernelFacts target={target} />
      ) : (
        <TypeFacts target={target} />
      )}
      {target.kind !== "type" && (
        <section>
          <h3>On the timeline</h3>
          <OnTimeline target={target} />
        </section>
      )}
      {elsewhere.length > 0 && (
        <p class="focus-places">
          See it on{" "}
          {elsewhere.map(([id, name]) => (
            <FocusLink key={id} target={target} on={id}>
              {name}
            </FocusLink>
          ))}
        </p>
      )}
    </aside>
  );
}
// Whether the page has a panel for it.
function answerFor(id: Page, target: Focus): boolean {
  if (id === "layers") return target.kind !== "kernel";
  if (id === "kernels")
    return target.kind === "kernel" || (target.kind === "layer" && rowsOf("A8").some((row) => isLayer(row, target)));
  const rows = target.kind === "kernel" ? rowsOf("A9") : target.kind === "layer" ? rowsOf("A14") : [];
  return rows.some(
    (row) =>
      (target.kind === "kernel" ? text(row.kernel_name) === target.name : isLayer(row, target)) &&
      (number(row.arithmetic_intensity) !== null || number(row.analytic_intensity) !== null),
  );
}

// The page, with the panel if there is a selection. Esc closes the panel.
export function WithFocus({ children }: { children: ComponentChildren }) {
  const target = focus.value;
  useEffect(() => {
    if (target === null) return;
    const close = (event: KeyboardEvent) => {
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName);
      if (event.key === "Escape" && !isTyping && !event.defaultPrevented) focus.value = null;
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [target]);
  return (
    <div class={target === null || documentData.value === null ? "focus-page" : "focus-page has-focus"}>
      <div class="focus-main">{children}</div>
      {target !== null && <FocusPanel target={target} />}
    </div>
  );
}
