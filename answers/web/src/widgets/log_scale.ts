// SPDX-License-Identifier: Apache-2.0
// Two logarithmic axes as numbers: range, position of a value, ticks. Pure.
export interface Scales {
  x: (value: number) => number; // pixels
  y: (value: number) => number;
  from: [x: number, y: number]; // values at the edges
  to: [x: number, y: number];
}
export interface Domain {
  x: [number, number]; // powers of ten
  y: [number, number];
}
export interface Frame {
  width: number;
  height: number;
}
export const LEFT = 92,
  RIGHT = 16,
  TOP = 22,
  BOTTOM = 44;
const LEAST_DECADES = 0.05;

export function domainOf(points: { x: number; y: number }[]): Domain {
  const range = (values: number[]): [number, number] => {
    const logs = values.filter((value) => value > 0).map(Math.log10);
    const low = logs.reduce((least, value) => Math.min(least, value), Infinity),
      high = logs.reduce((most, value) => Math.max(most, value), -Infinity);
    if (!Number.isFinite(low)) return [0, 1];
    const room = Math.max(0.25, (high - low) * 0.06);
    return [low - room, high + room];
  };
  return { x: range(points.map((point) => point.x)), y: range(points.map((point) => point.y)) };
}
const TICK_ROOM = 34; // pixels from one tick to the next
export function ticksOf([low, high]: [number, number], room: number): number[] {
  const decades = high - low,
    every = Math.max(1, Math.ceil((decades * 52) / room));
  const fits = (closest: number) => (closest * room) / decades >= TICK_ROOM;
  const steps =
    decades < 1.2 && fits(Math.log10(7 / 5)) ? [1, 2, 3, 5, 7] : decades < 3 && fits(Math.log10(2)) ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++)
    for (const step of power % every === 0 || every === 1 ? steps : []) {
      const log = power + Math.log10(step);
      if (log >= low && log <= high) ticks.push(10 ** log);
    }
  return ticks;
}
export const zoomed = ([low, high]: [number, number], at: number, factor: number): [number, number] => {
  const next: [number, number] = [at - (at - low) * factor, at + (high - at) * factor];
  return next[1] - next[0] < LEAST_DECADES ? [low, high] : next;
};

export const roomOf = ({ width, height }: Frame): [number, number] => [width - LEFT - RIGHT, height - TOP - BOTTOM];
export function scalesOf(domain: Domain, frame: Frame): Scales {
  const [roomX, roomY] = roomOf(frame);
  return {
    x: (value) => LEFT + ((Math.log10(value) - domain.x[0]) / (domain.x[1] - domain.x[0])) * roomX,
    y: (value) => TOP + roomY - ((Math.log10(value) - domain.y[0]) / (domain.y[1] - domain.y[0])) * roomY,
    from: [10 ** domain.x[0], 10 ** domain.y[0]],
    to: [10 ** domain.x[1], 10 ** domain.y[1]],
  };
}
// Powers of ten at a pixel.
export const logAt = (domain: Domain, frame: Frame, px: number, py: number): [number, number] => {
  const [roomX, roomY] = roomOf(frame);
  return [
    domain.x[0] + ((px - LEFT) / roomX) * (domain.x[1] - domain.x[0]),
    domain.y[0] + ((TOP + roomY - py) / roomY) * (domain.y[1] - domain.y[0]),
  ];
};
export const isInFrame = (domain: Domain, x: number, y: number) =>
  Math.log10(x) >= domain.x[0] &&
  Math.log10(x) <= domain.x[1] &&
  Math.log10(y) >= domain.y[0] &&
  Math.log10(y) <= domain.y[1];
