// SPDX-License-Identifier: Apache-2.0
// The charts of all pages; each has a table of its numbers.
import "./charts.css";

export { Bars, type Stages } from "./bars";
export { Lines, type Band, type Mark, type Series } from "./lines";

export interface Point {
  x: number; // of bars: their label; drawn in the order given
  y: number;
  low?: number; // spread
  high?: number;
  title: string;
  level?: number;
  hollow?: boolean;
  size?: number;
  isFocused?: boolean; // outlined and marked
  isDimmed?: boolean; // a filter leaves it out
  onOpen?: () => void;
}
// A share of a whole as one bar with its figure.
export function Meter({
  label,
  value,
  whole,
  level,
  text,
  title,
}: {
  label: string;
  value: number;
  whole: number;
  level: number;
  text: string;
  title?: string;
}) {
  const share = whole > 0 ? Math.min(1, value / whole) : 0;
  return (
    <div class="meter" title={title}>
      <span class="meter-label">{label}</span>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class="meter-back" width="100" height="10" />
        <rect class={`level-fill-${level}`} width={share * 100} height="10" />
      </svg>
      <span class="meter-text">{text}</span>
    </div>
  );
}
