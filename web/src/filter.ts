// The filter of heads: `ap_exact>0.5 and layer<10, induction>0.1`. A comma means or, as in `validate`; `and` binds
// more tightly.

export interface Comparison {
  column: string;
  sign: string;
  bound: number;
}

/** A head passes when all comparisons of any one list hold. Every head passes an empty filter. */
export type Filter = Comparison[][];

const signs: Record<string, (value: number, bound: number) => boolean> = {
  ">": (value, bound) => value > bound,
  ">=": (value, bound) => value >= bound,
  "<": (value, bound) => value < bound,
  "<=": (value, bound) => value <= bound,
  "=": (value, bound) => value === bound,
};

export function parseFilter(text: string, knows: (column: string) => boolean): { filter: Filter; problem: string } {
  if (text.trim() === "") return { filter: [], problem: "" };
  const filter: Filter = [];
  for (const part of text.split(",")) {
    const all: Comparison[] = [];
    for (const words of part.split(/\s+and\s+|&+/)) {
      const match = /^\s*(.*?)\s*(>=|<=|==?|>|<)\s*([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*$/i.exec(words);
      const bound = match ? Number(match[3]) : NaN;
      if (!match || Number.isNaN(bound)) {
        return { filter: [], problem: `“${words.trim()}” is not a condition such as ap_exact>0.5` };
      }
      const column = match[1] === "head" ? "q_head" : match[1];
      if (!knows(column)) return { filter: [], problem: `there is no column “${column}”` };
      all.push({ column, sign: match[2] === "==" ? "=" : match[2], bound });
    }
    filter.push(all);
  }
  return { filter, problem: "" };
}

/** A missing value (NaN) meets no condition. */
export function passes(filter: Filter, value: (column: string) => number): boolean {
  return filter.length === 0 || filter.some((all) => all.every((one) => signs[one.sign](value(one.column), one.bound)));
}
