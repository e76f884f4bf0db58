// SPDX-License-Identifier: Apache-2.0
// The rows of a long table in the document: those in view and some around them, all of one height.
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";
import type { RefObject } from "preact";

export const ROW_HEIGHT = 26;
export const HEAD_HEIGHT = 30; // it stays above the rows
const ROWS_PLAIN = 100; // up to here all rows are in the document
const OVERSCAN = 12;

export interface RowWindow {
  first: number;
  last: number; // one past
  toRow: (index: number) => void; // scrolls into view
}
export function useVirtualRows(count: number, box: RefObject<HTMLElement | null>, isAll: boolean): RowWindow {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const options: VirtualizerOptions<HTMLElement, HTMLElement> = {
    count,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    scrollPaddingEnd: HEAD_HEIGHT,
    overscan: OVERSCAN,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(0),
  };
  const [virtual] = useState(() => new Virtualizer(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  const toRow = (index: number) => virtual.scrollToIndex(index, { align: "auto" });
  if (isAll || count <= ROWS_PLAIN) return { first: 0, last: count, toRow };
  const items = virtual.getVirtualItems();
  return { first: items[0]?.index ?? 0, last: (items[items.length - 1]?.index ?? 40) + 1, toRow };
}
