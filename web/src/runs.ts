// The runs of the page, and which of them, or the difference of which two, is shown.

import { comparisonOf } from "./comparison.ts";
import { type ComparisonHead, type Dataset, datasetOf, integers, type ReportData, unpack } from "./data.ts";
import type { Choice } from "./dom.ts";

/** The differences of one column between two runs, by matched head. */
export interface Differences {
  level: number;
  difference: Float64Array;
  se: Float64Array | null; // null: the column has no errors
  q: Float64Array | null;
  /** The place of a head; -1: not in both runs. */
  placeOf(layer: number, qHead: number): number;
}

export class Runs {
  readonly report: ReportData;
  readonly names: string[];
  private readonly made = new Map<string, Dataset>();
  private readonly found = new Map<string, Differences | null>();

  constructor(report: ReportData) {
    this.report = report;
    this.names = report.head.runs.map((run) => run.name);
  }

  get count(): number {
    return this.names.length;
  }

  get series() {
    return this.report.head.series;
  }

  /** The comparison of two runs; null where there is none. */
  comparison(a: number, b: number): ComparisonHead | null {
    const found = this.report.head.comparisons.find((one) => one.a === a && one.b === b);
    return found && found.problem === null ? found : null;
  }

  /** The differences of one column, without the whole comparison; null where there are none. */
  differences(a: number, b: number, column: string): Differences | null {
    const key = `${a}-${b} ${column}`;
    const known = this.found.get(key);
    if (known !== undefined) return known;
    const comparison = this.comparison(a, b);
    const compared = comparison?.columns.find(({ name }) => name === column);
    let made: Differences | null = null;
    if (comparison && compared) {
      const { bytes } = this.report;
      const [layers, heads] = (["layer", "q_head"] as const).map((name) => integers(comparison.heads[name], bytes));
      const places = new Map(Array.from(layers, (layer, i) => [`${layer}.${heads[i]}`, i]));
      made = {
        level: comparison.level,
        difference: unpack(compared.difference, bytes),
        se: compared.se ? unpack(compared.se, bytes) : null,
        q: compared.q ? unpack(compared.q, bytes) : null,
        placeOf: (layer, qHead) => places.get(`${layer}.${qHead}`) ?? -1,
      };
    }
    this.found.set(key, made);
    return made;
  }

  /** Why runs of the page cannot be compared, each reason once. */
  problems(): string[] {
    return [...new Set(this.report.head.comparisons.flatMap(({ problem }) => (problem === null ? [] : [problem])))];
  }

  /** What is shown at first: the difference of the last run and the first, where they can be compared. */
  initial(): string {
    return this.comparison(0, this.count - 1) ? `0-${this.count - 1}` : "0";
  }

  /** "1": that run; "0-1": the difference of run 1 and run 0. */
  has(show: string): boolean {
    const [a, b] = show.split("-").map(Number);
    return b === undefined ? show !== "" && a in this.names : this.comparison(a, b) !== null;
  }

  /** A run, made when it is asked for and then kept. */
  run(place: number): Dataset {
    return this.kept(String(place), () => datasetOf(this.report, place));
  }

  shown(show: string): Dataset {
    const [a, b] = show.split("-").map(Number);
    const comparison = b === undefined ? null : this.comparison(a, b);
    if (!comparison) return this.run(a);
    return this.kept(show, () => comparisonOf(this.report, comparison, this.run(a), this.run(b)));
  }

  choices(): Choice[] {
    const runs = this.names.map((name, i) => ({ value: String(i), label: name, group: "One run" }));
    const differences = this.report.head.comparisons
      .filter(({ problem }) => problem === null)
      .map(({ a, b }) => ({ value: `${a}-${b}`, label: `${this.names[b]} − ${this.names[a]}`, group: "Difference" }));
    return [...runs, ...differences];
  }

  private kept(name: string, make: () => Dataset): Dataset {
    let found = this.made.get(name);
    if (!found) {
      found = make();
      this.made.set(name, found);
    }
    return found;
  }
}
