// The scale of colours below a chart, with its meaning and values.

import type { Option } from "./chart_card.ts";
import { font, type Look } from "./look.ts";
import { brief, ticks } from "./numbers.ts";

export interface ColorScale {
  colors: string[];
  range: [number, number];
  meaning: string;
  exceeded?: [boolean, boolean]; // whether values lie below and above the range
  label?(value: number): string; // of a value; missing: about three digits
}

/** How ECharts colours the items of some series by one of their values. */
export function coloring({ colors, range }: ColorScale, more: Option): Option {
  return { type: "continuous", show: false, min: range[0], max: range[1], inRange: { color: colors }, ...more };
}

/** The space that a bar takes below a chart, in pixels. */
export const colorBarHeight = 48;

const size = { width: 210, height: 10 };

/** The bar, for the graphic component of a chart. */
export function colorBar(look: Look, scale: ColorScale): Option {
  const { colors, range, exceeded = [false, false], label = brief } = scale;
  const [low, high] = range;
  const stops = colors.map((color, i) => ({ offset: i / (colors.length - 1), color }));
  const text = (x: number, y: number, words: string, fontSize = 11, textAlign = "center"): Option => ({
    type: "text",
    x,
    y,
    silent: true,
    style: { text: words, fill: look.muted, font: `${fontSize}px ${font}`, textAlign },
  });
  // A long number at an end would leave a narrow chart.
  const sideOf = (words: string, x: number) =>
    words.length < 7 || (x > 0 && x < size.width) ? "center" : x === 0 ? "left" : "right";
  const marks = low < high ? (low === -high ? [low, 0, high] : ticks(low, high)) : [low];
  const values = marks.flatMap((value) => {
    const x = low < high ? ((value - low) / (high - low)) * size.width : size.width / 2;
    const sign = value === low && exceeded[0] ? "≤ " : value === high && exceeded[1] ? "≥ " : "";
    const line = { x1: x, y1: size.height, x2: x, y2: size.height + 4 };
    return [
      { type: "line", shape: line, silent: true, style: { stroke: look.faint, lineWidth: 1 } },
      text(x, size.height + 6, sign + label(value), 11, sideOf(sign + label(value), x)),
    ];
  });
  const bar = {
    type: "rect",
    silent: true,
    shape: { x: 0, y: 0, ...size },
    style: { fill: { type: "linear", x: 0, y: 0, x2: 1, y2: 0, colorStops: stops } },
  };
  return {
    type: "group",
    id: "color-bar",
    left: "center",
    bottom: 5,
    children: [bar, ...values, text(size.width / 2, size.height + 20, scale.meaning, 12)],
  };
}
