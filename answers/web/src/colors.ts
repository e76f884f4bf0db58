// SPDX-License-Identifier: Apache-2.0
// One hue per level on all pages: marks of charts (--level-0 …), letters in a level's colour (--level-0-text …) and
// spans on canvases. In OKLCH, so that equal lightness looks equally light in every hue.
import { LEVELS } from "./data";

const LEVEL_HUES: [hue: number, chroma: number][] = [
  [255, 0.02],
  [258, 0.15],
  [178, 0.11],
  [310, 0.15],
  [52, 0.15],
];
// Names of one level differ in lightness only. Letters on any of them are dark, in both themes: contrast 5:1 at least.
const SHADES = { light: [0.75, 0.79, 0.71, 0.83, 0.77, 0.68], dark: [0.67, 0.71, 0.63, 0.75, 0.69, 0.65] };
const MARK = { light: 0.62, dark: 0.72 };
const LETTERS = { light: 0.5, dark: 0.8 };
const FADED = { light: 0.9, dark: 0.33 };

type Rgb = [red: number, green: number, blue: number];
export type Theme = "light" | "dark";
export const themeShown = (): Theme => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
export const isDark = () => themeShown() === "dark";

export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180),
    b = chroma * Math.sin((hue * Math.PI) / 180);
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3,
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3,
    short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (linear: number) => {
    const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, value)));
  };
  return [
    channel(4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short),
    channel(-1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short),
    channel(-0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short),
  ];
}
const levelRgb = (level: number, lightness: number, chroma = 1): Rgb =>
  oklch(lightness, LEVEL_HUES[level][1] * chroma, LEVEL_HUES[level][0]);
const css = ([red, green, blue]: Rgb) => `rgb(${red} ${green} ${blue})`;
export const levelColor = (level: number, theme: Theme = themeShown()) => css(levelRgb(level, MARK[theme]));

// Of differences, from much faster (blue) to much slower (red): people who see red and green alike tell them apart.
export const DIFFERENCES = [-3, -2, -1, 0, 1, 2, 3] as const;
export type Difference = (typeof DIFFERENCES)[number];
const DIFFERENCE_LIGHTNESS = { light: [0.9, 0.87, 0.79, 0.7], dark: [0.66, 0.74, 0.7, 0.65] };
const DIFFERENCE_CHROMA = [0.005, 0.06, 0.12, 0.18];
const differenceRgb = (difference: Difference, theme: Theme): Rgb => {
  const size = Math.abs(difference);
  return oklch(DIFFERENCE_LIGHTNESS[theme][size], DIFFERENCE_CHROMA[size], difference < 0 ? 250 : 30);
};

// Colours as custom properties: style sheets have no table of their own.
export function putColors(root: HTMLElement, theme: Theme) {
  for (const difference of DIFFERENCES)
    root.style.setProperty(`--difference${difference}`, css(differenceRgb(difference, theme)));
  LEVELS.forEach((_, level) => {
    root.style.setProperty(`--level-${level}`, levelColor(level, theme));
    root.style.setProperty(`--level-${level}-text`, css(levelRgb(level, LETTERS[theme])));
  });
}

// Little-endian RGBA, as an image's bytes read as 32 bits.
const pack = ([red, green, blue]: Rgb) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
export interface Palette {
  of: (level: number, name: number) => number;
  faded: (level: number) => number;
  difference: (difference: Difference) => number;
  text: string; // on a span's colour
  line: string; // on the page and on faded spans
}
function build(theme: Theme): Palette {
  const shades = SHADES[theme].length,
    all = LEVELS.map((_, level) => SHADES[theme].map((lightness) => pack(levelRgb(level, lightness, 0.85)))),
    faded = LEVELS.map((_, level) => pack(levelRgb(level, FADED[theme], 0.12))),
    differences = DIFFERENCES.map((difference) => pack(differenceRgb(difference, theme)));
  return {
    of: (level, name) => all[level][(Math.imul(name, 2654435761) >>> 16) % shades],
    faded: (level) => faded[level],
    difference: (difference) => differences[difference + 3],
    text: "#10141a",
    line: theme === "dark" ? "#e8ebf0" : "#1a1f27",
  };
}
const built: Partial<Record<Theme, Palette>> = {};
export const palette = (): Palette => (built[themeShown()] ??= build(themeShown()));
