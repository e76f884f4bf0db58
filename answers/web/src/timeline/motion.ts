// SPDX-License-Identifier: Apache-2.0
// Zooming and panning while keys are held, by elapsed time, so that fast and slow screens move alike. A held key
// accelerates.
import type { Range } from "../state";
import { panned, zoomed } from "./geometry";

const ZOOM_PER_S = 3.4, // e-folds
  PAN_PER_S = 1.1, // of the view
  TAP_MS = 90, // a key counts as held at least so long
  RISE_MS = 180,
  SLOWEST_MS = 100; // a frame that took longer does not jump

export class Motion {
  private held = new Map<string, { since: number; until: number }>();
  private last = 0;

  press(key: string, now: number) {
    const known = this.held.get(key);
    if (known !== undefined && known.until === Infinity) return;
    if (this.held.size === 0) this.last = now;
    this.held.set(key, { since: now, until: Infinity });
  }
  release(key: string, now: number) {
    const known = this.held.get(key);
    if (known !== undefined && known.until === Infinity) known.until = Math.max(now, known.since + TAP_MS);
  }
  releaseAll() {
    this.held.clear();
  }
  get isMoving() {
    return this.held.size > 0;
  }

  // The range after the time since the last step.
  step(range: Range, at: number, now: number): Range {
    const from = Math.max(this.last, now - SLOWEST_MS);
    this.last = now;
    for (const [key, { since, until }] of this.held) {
      const passed_s = Math.max(0, Math.min(now, until) - from) / 1000,
        speed = 0.5 + 0.5 * Math.min(1, (now - since) / RISE_MS);
      if (key === "w") range = zoomed(range, Math.exp(-ZOOM_PER_S * speed * passed_s), at);
      else if (key === "s") range = zoomed(range, Math.exp(ZOOM_PER_S * speed * passed_s), at);
      else range = panned(range, (key === "a" ? -1 : 1) * PAN_PER_S * speed * passed_s);
      if (now >= until) this.held.delete(key);
    }
    return range;
  }
}
