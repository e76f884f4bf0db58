// SPDX-License-Identifier: Apache-2.0
// The roofline: intensity (flops a byte) against throughput (flops a second), both logarithmic.
import { BOTTOM, Frame, LEFT, RIGHT, scaleOf, TOP, useWidth, type Axis, type Point } from "./charts";

export interface Roof {
  name: string;
  peak: number;
  bandwidth: number;
}
// Intensity (flops a byte) against throughput (flops a second), both logarithmic; measured solid, analytic hollow.
export function Roofline({
  title,
  points,
  roofs,
  height = 420,
}: {
  title: string;
  points: Point[];
  roofs: Roof[];
  height?: number;
}) {
  const { box, width: WIDTH } = useWidth();
  if (points.length === 0) return null;
  const inner = height - TOP - BOTTOM,
    ideal = roofs.map((roof) => roof.peak / roof.bandwidth);
  const x: Axis = { label: "flops per byte", log: true },
    y: Axis = { label: "flop/s", log: true, format: (value) => `10^${Math.round(Math.log10(value))}` };
  const xs = scaleOf(x, [...points.map((point) => point.x), ...ideal], WIDTH - LEFT - RIGHT),
    ys = scaleOf(y, [...points.map((point) => point.y), ...roofs.map((roof) => roof.peak)], inner);
  const X = (value: number) => LEFT + xs.at(Math.min(Math.max(value, xs.low), xs.high)),
    Y = (value: number) => height - BOTTOM - ys.at(Math.min(Math.max(value, ys.low), ys.high));
  return (
    <div ref={box}>
      <Frame title={title} x={x} y={y} xs={xs} ys={ys} width={WIDTH} height={height}>
        {roofs.map((roof) => {
          const knee = roof.peak / roof.bandwidth,
            left = Math.max(xs.low, ys.low / roof.bandwidth);
          return (
            <g key={roof.name} class="roof">
              <polyline
                points={`${X(left)},${Y(left * roof.bandwidth)} ${X(knee)},${Y(roof.peak)} ${X(xs.high)},${Y(roof.peak)}`}
              />
              <text x={X(xs.high) - 4} y={Y(roof.peak) - 6} text-anchor="end">
                {roof.name}
              </text>
            </g>
          );
        })}
        {points.map((point, i) => (
          <circle
            key={i}
            class={`mark ${point.hollow ? "level-hollow" : "level-fill"}-${point.level ?? 4}`}
            cx={X(point.x)}
            cy={Y(point.y)}
            r={point.size ?? 4}
            onClick={point.onOpen}
          >
            <title>{point.title}</title>
          </circle>
        ))}
      </Frame>
    </div>
  );
}
