// SPDX-License-Identifier: Apache-2.0
// Keys of the timeline, as in Perfetto where possible. They act with any focus except in fields and tables.
import { keyOf } from "../frame/key_of";
import { details, helpIsOpen, opening, search, selected, selection, setDetail, view } from "../state";
import { clamp, ROW, widened } from "./geometry";
import { backwards, children, executions, forwardOf, sameCollective } from "./links";
import { rangeOf, toObservation, zoomTo } from "./pointer";
import type { Stage } from "./stage";

function neighbour(stage: Stage, by: 1 | -1) {
  const next = selected.value + by,
    { data } = stage;
  if (next >= 0 && next < data.count && data.row[next] === data.row[selected.value]) selected.value = next;
}

// To the middle of the view; if it is there already, or as near as possible, fitted.
function fit(stage: Stage) {
  const span = selected.value,
    { from, to } = stage.shown,
    range = rangeOf(stage, span),
    middle = (range.from + range.to) / 2,
    half = (to - from) / 2,
    centred = clamp({ from: middle - half, to: middle + half }, stage.whole);
  const isThere = Math.abs(centred.from - from) < half * 0.04,
    isLarge = range.to - range.from > half;
  if (isThere || isLarge) zoomTo(stage, span);
  else stage.show(centred);
}

function clear() {
  if (selected.value >= 0) selected.value = -1;
  else if (selection.value !== null) selection.value = null;
  else if ((details.value["timeline.mark"] ?? "") !== "") setDetail("timeline.mark", "");
  else search.value = "";
}

function arrowKey(stage: Stage, key: string): boolean {
  const span = selected.value,
    { data, box } = stage;
  if (span < 0) {
    if (key === "arrowup" || key === "arrowdown") box.scrollTop += key === "arrowup" ? -2 * ROW : 2 * ROW;
    else stage.pan(key === "arrowleft" ? -0.1 : 0.1);
    return true;
  }
  if (key === "arrowleft" || key === "arrowright") neighbour(stage, key === "arrowleft" ? -1 : 1);
  else {
    const next = key === "arrowup" ? data.parent[span] : (children(data).of(span)[0] ?? -1);
    if (next >= 0) selected.value = next;
  }
  return true;
}

function follow(stage: Stage) {
  const { data } = stage,
    span = selected.value,
    same = sameCollective(data, span),
    back = Math.max(data.launch[span], forwardOf(data, span), same[(same.indexOf(span) + 1) % same.length] ?? -1),
    next = back >= 0 ? back : (executions(data).of(span)[0] ?? backwards(data).of(span)[0] ?? -1);
  if (next >= 0) selected.value = next;
}

const ONCE = /^[mlrgf]$/; // held down, these would flicker
// Whether the key was one of the timeline's.
function act(stage: Stage, key: string): boolean {
  const isSelected = selected.value >= 0 && selected.value < stage.data.count;
  switch (key) {
    case "w":
    case "a":
    case "s":
    case "d":
      stage.motion.press(key, performance.now());
      stage.later();
      return true;
    case "f":
      if (isSelected) fit(stage);
      else if (selection.value !== null) stage.show(widened(selection.value, 0.05));
      return true;
    case "r":
      if (isSelected) selection.value = rangeOf(stage, selected.value);
      return true;
    case "g":
      if (isSelected) follow(stage);
      return true;
    case "m":
      setDetail("timeline.mark", details.value["timeline.mark"] ? "" : String(Math.round(stage.focusTime)));
      return true;
    case "l":
      setDetail("timeline.arrows", details.value["timeline.arrows"] === "all" ? "" : "all");
      return true;
    case ".":
    case ",":
      if (isSelected) neighbour(stage, key === "." ? 1 : -1);
      return true;
    case "[":
    case "]":
      toObservation(stage, key === "]" ? 1 : -1);
      return true;
    case "0":
      view.value = view.value === null ? opening.value : null;
      return true;
    case "escape":
      clear();
      return true;
    case "arrowup":
    case "arrowdown":
    case "arrowleft":
    case "arrowright":
      return arrowKey(stage, key);
  }
  return false;
}

export function keysOn(stage: Stage): () => void {
  const onKey = (event: KeyboardEvent) => {
    const target = event.target as Element;
    if (event.ctrlKey || event.metaKey || event.altKey || helpIsOpen.value) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
    if (event.key.startsWith("Arrow") && target !== document.body && !stage.box.contains(target)) return;
    const key = keyOf(event);
    if ((event.repeat && ONCE.test(key)) || act(stage, key)) event.preventDefault();
  };
  const onKeyUp = (event: KeyboardEvent) => stage.motion.release(keyOf(event), performance.now());
  const onBlur = () => stage.motion.releaseAll();
  document.addEventListener("keydown", onKey);
  document.addEventListener("keyup", onKeyUp);
  addEventListener("blur", onBlur);
  return () => {
    document.removeEventListener("keydown", onKey);
    document.removeEventListener("keyup", onKeyUp);
    removeEventListener("blur", onBlur);
  };
}
