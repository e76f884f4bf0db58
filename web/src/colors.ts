// SPDX-License-Identifier: Apache-2.0
// One hue a level, kept everywhere; names of a level differ in lightness only.
import { LEVELS } from "./data";

const HUES = [
  [220, 8],
  [212, 72],
  [168, 62],
  [276, 48],
  [24, 82],
]; // hue and saturation by level
export const isDark = () =>
  document.documentElement.dataset.theme === "dark" ||
  (document.documentElement.dataset.theme === undefined && matchMedia("(prefers-color-scheme: dark)").matches);

function rgb(hue: number, saturation: number, lightness: number): [number, number, number] {
  const s = saturation / 100,
    l = lightness / 100,
    a = s * Math.min(l, 1 - l);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}
const SHADES = [46, 52, 42, 57, 49, 38];
const DARK_SHADES = [58, 64, 52, 69, 61, 48];
const pack = ([r, g, b]: [number, number, number], alpha = 255) => ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;

// Little-endian RGBA, as an image's bytes read as 32 bits.
export function palette(): {
  of: (level: number, name: number) => number;
  faded: (level: number) => number;
  text: string;
  line: string;
} {
  const dark = isDark(),
    shades = dark ? DARK_SHADES : SHADES;
  const all = LEVELS.map((_, level) => shades.map((lightness) => pack(rgb(HUES[level][0], HUES[level][1], lightness))));
  const fadedOnes = LEVELS.map((_, level) => pack(rgb(HUES[level][0], dark ? 8 : 14, dark ? 30 : 82)));
  return {
    of: (level, name) => all[level][(Math.imul(name, 2654435761) >>> 16) % shades.length],
    faded: (level) => fadedOnes[level],
    text: dark ? "#10141a" : "#ffffff",
    line: dark ? "#e8ebf0" : "#1a1f27",
  };
}
