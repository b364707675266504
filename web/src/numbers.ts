// Numbers as people read them.

const minus = "\u2212";

/** About four digits: 0.8356, 4.756, 131.1, 4,096, 2.1e−7. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  let text: string;
  if (value === 0) text = "0";
  else if (Number.isInteger(value)) text = size < 1e4 ? String(size) : size.toLocaleString("en-US");
  else if (size < 1e-4) text = size.toExponential(1).replace("-", minus);
  else if (size < 1) text = size.toFixed(4);
  else if (size < 10) text = size.toFixed(3);
  else if (size < 1000) text = size.toFixed(1);
  else text = Math.round(size).toLocaleString("en-US");
  return value < 0 ? minus + text : text;
}

/** With its sign, for differences: +0.0123, −0.4; with a number of decimals if it is given. */
export function signed(value: number, decimals?: number): string {
  const text = decimals === undefined || !Number.isFinite(value) ? shown(value) : value.toFixed(decimals).replace("-", minus);
  return value > 0 ? `+${text}` : text;
}

/** At most four digits and no more than it needs, for axes: 0.25, −3, 1,200, 2e−7. */
export function brief(value: number): string {
  const rounded = Number(value.toPrecision(4));
  const size = Math.abs(rounded);
  if (size > 0 && (size < 1e-3 || size >= 1e6)) {
    return rounded.toExponential().replace("e+", "e").replaceAll("-", minus);
  }
  return (rounded < 0 ? minus : "") + size.toLocaleString("en-US", { maximumFractionDigits: 10 });
}

/** Some round numbers strictly between two ends, with the ends; none is so near to an end that labels would touch. */
export function ticks(low: number, high: number): number[] {
  const width = high - low;
  const power = 10 ** Math.floor(Math.log10(width / 3));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((one) => width / one <= 4.01) ?? width;
  const inside: number[] = [];
  for (let at = Math.ceil(low / step); at * step < high; ++at) {
    const value = Number((at * step).toPrecision(12));
    if (value - low > width * 0.14 && high - value > width * 0.14) inside.push(value);
  }
  return [low, ...inside, high];
}

export function withError(value: number, error: number): string {
  return Number.isFinite(error) ? `${shown(value)} ± ${shown(error)}` : shown(value);
}

export function percent(share: number): string {
  return Number.isFinite(share) ? `${Math.round(share * 1000) / 10} %` : "–";
}

export function bytes(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} GB`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} MB`;
  return `${Math.round(count / 1e3)} kB`;
}

/** 0, 128, 1152, 8191, 16k, 128k: short enough for an axis. */
export function tokens(count: number): string {
  return count < 10_000 ? String(Math.round(count)) : `${Math.round(count / 1024)}k`;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? NaN : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The mean or median of values with weights above 0. Halfway between two values, the median is their mean. */
export function weighted(middle: "mean" | "median", values: readonly number[], weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) return NaN;
  if (middle === "mean") return values.reduce((sum, value, i) => sum + weights[i] * value, 0) / total;
  const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
  let below = 0;
  for (let at = 0; at < order.length; ++at) {
    below += weights[order[at]];
    if (2 * below < total) continue;
    const value = values[order[at]];
    return 2 * below > total || at + 1 === order.length ? value : (value + values[order[at + 1]]) / 2;
  }
  return NaN;
}

/** "35 to 11,918", or one number where all are the same; empty without numbers. */
export function span(counts: readonly number[]): string {
  const known = counts.filter((count) => !Number.isNaN(count));
  if (known.length === 0) return "";
  const text = (count: number) => Math.round(count).toLocaleString("en-US");
  const least = known.reduce((a, b) => Math.min(a, b));
  const most = known.reduce((a, b) => Math.max(a, b));
  return least === most ? text(least) : `${text(least)} to ${text(most)}`;
}

/** "1 head", "40 heads". */
export function counted(count: number, word: string): string {
  return `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;
}

/** Quantiles by linear interpolation between neighbouring values. */
export function quantiles(values: readonly number[], shares: readonly number[]): number[] {
  if (values.length === 0) return shares.map(() => NaN);
  const sorted = Float64Array.from(values).sort();
  return shares.map((share) => {
    const at = share * (sorted.length - 1);
    const below = Math.floor(at);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
  });
}

export function median(values: readonly number[]): number {
  return quantiles(values, [0.5])[0];
}
