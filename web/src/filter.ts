// The filter of heads: `0.2<ap_exact<0.5 and not (layer<10 or induction>0.1)`. A comma means or, as in `validate`; `not`
// binds more tightly than `and`, and `and` more tightly than `or`.

/** A column or a number of a comparison. */
type Operand = { column: string } | { number: number };

type Node =
  | { kind: "all" | "any"; parts: Node[] }
  | { kind: "not"; part: Node }
  | { kind: "compare"; left: Operand; sign: string; right: Operand };

/** Null: an empty filter, which every head passes. */
export type Filter = Node | null;

/** What is wrong, and the characters of the text that are at fault. */
export interface FilterProblem {
  message: string;
  at: number;
  length: number;
}

const signs: Record<string, (left: number, right: number) => boolean> = {
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  "=": (left, right) => left === right,
  "!=": (left, right) => left !== right,
};
const spellings: Record<string, string> = { "==": "=", "≥": ">=", "≤": "<=", "≠": "!=" };
const signPattern = /(?:>=|<=|==|!=|[<>=≥≤≠])/y;
const numberPattern = /[-+−]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\p{L}\p{N}_])/iuy;
const wordPattern = /[^\s<>=!≥≤≠,&|()]+/y;
const patterns = { and: /and(?![\p{L}\p{N}_])|&+/iuy, or: /or(?![\p{L}\p{N}_])|,|\|+/iuy, not: /not(?![\p{L}\p{N}_])|!(?!=)/iuy };

class Trouble extends Error {
  readonly at: number;
  readonly length: number;
  constructor(message: string, at: number, length: number) {
    super(message);
    this.at = at;
    this.length = length;
  }
}

/** The number of letters to add, drop or replace to get from one word to another. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; ++i) {
    const next = [i];
    for (let j = 1; j <= to.length; ++j) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + Number(from[i - 1] !== to[j - 1])));
    }
    row = next;
  }
  return row[to.length];
}

/** The name that was probably meant; empty when none is near. */
function nearest(word: string, names: readonly string[]): string {
  let [best, least] = ["", Math.max(1, Math.floor(word.length * 0.4)) + 1];
  for (const name of names) {
    const distance = edits(word.toLowerCase(), name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

class Parser {
  private at = 0;
  private readonly text: string;
  private readonly columns: readonly string[]; // the longest name first: a name may begin with another name

  constructor(text: string, columns: readonly string[]) {
    this.text = text;
    this.columns = [...columns].sort((a, b) => b.length - a.length);
  }

  whole(): Node {
    const all = this.any();
    this.skip();
    if (this.at < this.text.length) {
      const word = this.peek();
      throw this.trouble(word === ")" ? "this bracket was never opened" : `expected “and” or “or” before “${word}”`);
    }
    return all;
  }

  private any(): Node {
    const parts = [this.all()];
    while (this.take(patterns.or)) parts.push(this.all());
    return parts.length === 1 ? parts[0] : { kind: "any", parts };
  }

  private all(): Node {
    const parts = [this.one()];
    while (this.take(patterns.and)) parts.push(this.one());
    return parts.length === 1 ? parts[0] : { kind: "all", parts };
  }

  private one(): Node {
    this.skip();
    if (this.column() === "" && this.take(patterns.not)) return { kind: "not", part: this.one() };
    const open = this.at;
    if (this.text[this.at] === "(" && this.column() === "") {
      ++this.at;
      const inner = this.any();
      this.skip();
      if (this.at >= this.text.length) throw new Trouble("this bracket is never closed", open, 1);
      if (this.text[this.at] !== ")") throw this.trouble(`expected “)” before “${this.peek()}”`);
      ++this.at;
      return inner;
    }
    return this.chain();
  }

  /** One comparison, or several in a row: 0.2<ap_exact<0.5. */
  private chain(): Node {
    const begin = this.at;
    const comparisons: Node[] = [];
    let left = this.operand();
    let sign = this.sign();
    if (sign === "") {
      this.skip();
      const what = this.text.slice(begin, this.at).trim();
      throw new Trouble(`“${what}” needs a comparison, such as ${what}>0.5`, begin, Math.max(1, what.length));
    }
    while (sign !== "") {
      const right = this.operand();
      if (!("column" in left) && !("column" in right)) {
        throw new Trouble("a comparison needs a column", begin, this.at - begin);
      }
      comparisons.push({ kind: "compare", left, sign, right });
      left = right;
      sign = this.sign();
    }
    return comparisons.length === 1 ? comparisons[0] : { kind: "all", parts: comparisons };
  }

  private sign(): string {
    const found = this.take(signPattern);
    return spellings[found] ?? found;
  }

  private operand(): Operand {
    this.skip();
    const name = this.column();
    if (name !== "") {
      this.at += name.length;
      return { column: name };
    }
    const number = this.take(numberPattern);
    if (number !== "") return { number: Number(number.replace("−", "-")) };
    if (/^head(?![\p{L}\p{N}_])/u.test(this.text.slice(this.at))) {
      this.at += "head".length;
      return { column: "q_head" };
    }
    const begin = this.at;
    const word = this.take(wordPattern);
    if (word === "") {
      const found = this.peek();
      if (found !== "") throw this.trouble(`expected a column or a number before “${found}”`);
      throw new Trouble("expected a column or a number here", this.text.length, 1);
    }
    const meant = nearest(word, this.columns);
    throw new Trouble(
      `there is no column “${word}”${meant === "" ? "" : `; did you mean ${meant}?`}`,
      begin,
      word.length,
    );
  }

  /** The column whose name stands here; empty: none. Names of labels may hold any character. */
  private column(): string {
    const rest = this.text.slice(this.at);
    const isWord = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
    return (
      this.columns.find(
        (name) =>
          name !== "" && rest.startsWith(name) && !(isWord(name.at(-1)) && isWord(rest[name.length])),
      ) ?? ""
    );
  }

  private skip(): void {
    while (/\s/.test(this.text[this.at] ?? "")) ++this.at;
  }

  private take(pattern: RegExp): string {
    this.skip();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  /** The next word or sign, for messages. */
  private peek(): string {
    this.skip();
    return /^(?:[^\s<>=!≥≤≠,&|()]+|[<>=!≥≤≠]+|.)/u.exec(this.text.slice(this.at))?.[0] ?? "";
  }

  private trouble(message: string): Trouble {
    return new Trouble(message, this.at, Math.max(1, this.peek().length));
  }
}

export function parseFilter(
  text: string,
  columns: readonly string[],
): { filter: Filter; problem: FilterProblem | null } {
  if (text.trim() === "") return { filter: null, problem: null };
  try {
    return { filter: new Parser(text, columns).whole(), problem: null };
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    const { message, at, length } = error;
    return { filter: null, problem: { message, at, length } };
  }
}

/** Whether a condition holds; null: a value that decides it is missing. */
function holds(node: Node, value: (column: string) => number): boolean | null {
  if (node.kind === "compare") {
    const of = (operand: Operand) => ("column" in operand ? value(operand.column) : operand.number);
    const [left, right] = [of(node.left), of(node.right)];
    return Number.isNaN(left) || Number.isNaN(right) ? null : signs[node.sign](left, right);
  }
  if (node.kind === "not") {
    const part = holds(node.part, value);
    return part === null ? null : !part;
  }
  const decisive = node.kind === "any";
  let unknown = false;
  for (const part of node.parts) {
    const one = holds(part, value);
    if (one === decisive) return decisive;
    unknown ||= one === null;
  }
  return unknown ? null : !decisive;
}

/** A missing value (NaN) meets no condition, negated or not. */
export function passes(filter: Filter, value: (column: string) => number): boolean {
  return filter === null || holds(filter, value) === true;
}
