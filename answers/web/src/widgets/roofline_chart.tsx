// SPDX-License-Identifier: Apache-2.0
// The roofline: intensity (flops a byte) against throughput (flops a second). A roof per precision rises with memory's
// bandwidth up to its ridge and is flat from there on. Measured points are solid, analytic ones hollow.
import { digits, scaled } from "../format";
import { LogPlot, type PlotPoint } from "./log_plot";
import type { Scales } from "./log_scale";

export interface Roof {
  name: string; // the precision
  peak: number;
  bandwidth: number;
  source: string; // measured, recorded, or whose data sheet
}
const ridge = (roof: Roof) => roof.peak / roof.bandwidth;

function RoofLine({ roof, scales, isFirst }: { roof: Roof; scales: Scales; isFirst: boolean }) {
  const { from, to } = scales,
    knee = ridge(roof),
    low = Math.min(from[0], from[1] / roof.bandwidth, knee);
  const far = Math.max(to[0], knee * 10),
    right = scales.x(to[0]) - 6;
  const slopeAt = Math.sqrt(Math.max(from[0], from[1] / roof.bandwidth) * Math.min(knee, to[0]));
  const hasRoom = scales.x(slopeAt) - scales.x(from[0]) > 90;
  return (
    <g class="roof">
      <polyline
        points={[
          [low, low * roof.bandwidth],
          [knee, roof.peak],
          [far, roof.peak],
        ]
          .map(([x, y]) => `${scales.x(x)},${scales.y(y)}`)
          .join(" ")}
      />
      <circle cx={scales.x(knee)} cy={scales.y(roof.peak)} r={4}>
        <title>
          ridge: {digits(knee)} flops a byte; memory limits points to its left, arithmetic those to its right
        </title>
      </circle>
      <text x={right} y={scales.y(roof.peak) - 7} text-anchor="end">
        {roof.name} {scaled(roof.peak, "flop/s")}
      </text>
      {isFirst && slopeAt > 0 && (
        // below the slope where there is no room above it
        <text
          x={scales.x(slopeAt) + (hasRoom ? -8 : 10)}
          y={scales.y(slopeAt * roof.bandwidth) + (hasRoom ? -6 : 14)}
          text-anchor={hasRoom ? "end" : "start"}
        >
          {scaled(roof.bandwidth, "B/s")}
        </text>
      )}
    </g>
  );
}

export function RoofTable({ roofs }: { roofs: Roof[] }) {
  if (roofs.length === 0) return null;
  return (
    <div class="roof-scroll" tabIndex={0} role="region" aria-label="Roofs">
      <table class="roof-table">
        <thead>
          <tr>
            {["roof", "arithmetic", "memory", "ridge", "source"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {roofs.map((roof) => (
            <tr key={roof.name}>
              <td>{roof.name}</td>
              <td title={String(roof.peak)}>{scaled(roof.peak, "flop/s")}</td>
              <td title={String(roof.bandwidth)}>{scaled(roof.bandwidth, "B/s")}</td>
              <td title={String(ridge(roof))}>{digits(ridge(roof))} flop/B</td>
              <td>{roof.source}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function RooflineLegend({ points }: { points: PlotPoint[] }) {
  const entries: [boolean, string, preact.JSX.Element][] = [
    [
      points.some((point) => !point.isHollow),
      "solid: counted by hardware",
      <circle class={`level-fill-${points[0]?.level ?? 4}`} cx="7" cy="7" r="5" />,
    ],
    [
      points.some((point) => point.isHollow),
      "hollow: analytic, flops and bytes from shapes",
      <circle class={`level-hollow-${points[0]?.level ?? 4}`} cx="7" cy="7" r="5" />,
    ],
    [
      points.length > 1,
      "area: share of the time",
      <>
        <circle class="plot-size" cx="2" cy="9.5" r="2" />
        <circle class="plot-size" cx="9.5" cy="7" r="4.5" />
      </>,
    ],
    [
      points.some((point) => point.isSuspect),
      "above the roofs that are listed",
      <path class="plot-suspect" d="M2,11L7,3L12,11Z" />,
    ],
  ];
  return (
    <ul class="plot-legend">
      {entries
        .filter(([is]) => is)
        .map(([, name, mark]) => (
          <li key={name}>
            <svg viewBox="0 0 14 14" aria-hidden="true">
              {mark}
            </svg>
            {name}
          </li>
        ))}
    </ul>
  );
}

export function Roofline({
  title,
  points,
  roofs,
  isSweep = false,
  height = 440,
}: {
  title: string;
  points: PlotPoint[];
  roofs: Roof[];
  isSweep?: boolean; // points follow each other: the batch sizes
  height?: number;
}) {
  return (
    <LogPlot
      title={title}
      x={{ label: "intensity, flops per byte", format: (value) => digits(value, 2) }}
      y={{ label: "throughput", format: (value) => scaled(value, "flop/s") }}
      points={points}
      span={roofs.map((roof) => ({ x: ridge(roof), y: roof.peak * 1.6 }))}
      height={height}
      under={(scales) => (
        <>
          {roofs.map((roof, i) => (
            <RoofLine
              key={roof.name}
              roof={roof}
              scales={scales}
              isFirst={roofs.findIndex((one) => one.bandwidth === roof.bandwidth) === i}
            />
          ))}
          {isSweep && (
            <polyline
              class="sweep"
              points={points.map((point) => `${scales.x(point.x)},${scales.y(point.y)}`).join(" ")}
            />
          )}
        </>
      )}
    />
  );
}
