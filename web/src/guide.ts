// How to read the report. The long form is docs/method.md of the project.

import { element } from "./dom.ts";

const entries: [string, string][] = [
  [
    "The question",
    "A head compares a query with keys. Of two keys, is it the query that decides which one wins, or is the winner " +
      "settled before the query is known? If the first key wins with probability p over the head's queries, plasticity " +
      "is 4p(1 − p): 1 when either may win, 0 when the winner is fixed.",
  ],
  [
    "Which column to trust",
    "ap_exact, on every model with rotary embeddings. Such a model turns its queries with position; ap_overall pools " +
      "whole buckets of positions, takes the turning for freedom of the query, and puts heads that look one token back " +
      "above heads that retrieve. ap_exact follows the rotation. It is missing where the run did not know it.",
  ],
  [
    "High and low",
    "High: content decides, as in heads that copy or retrieve. Low: position decides, as in heads that look a fixed way " +
      "back. logit_fixed says how much of two keys' difference is settled beforehand, logit_spread how much the query " +
      "adds; a head is plastic because the first is small or because the second is large.",
  ],
  [
    "How sure",
    "± is one standard error: how far the figure would move with other documents. Differences of less than about two of " +
      "them say nothing. ap_exact takes queries to be normal; ap_exact_empirical counts instead. Where the two are far " +
      "apart, go by the count.",
  ],
  [
    "The charts",
    "By distance is position-exact: where the nearer and the farther key stand. Over position and by bucket are pooled, " +
      "and share what misleads in ap_overall. Where position is written is not about plasticity: it says which " +
      "components of the query follow position on a line.",
  ],
  [
    "What it does not see",
    "Who wins, not how much attention the winner takes, nor what its value vector then does. Two keys that both lose to " +
      "a third count as much as two that lead.",
  ],
];

export function guide(): HTMLElement {
  const parts = entries.map(([title, text]) => element("div", {}, element("h3", {}, title), element("p", {}, text)));
  return element(
    "section",
    { class: "guide", id: "guide" },
    element("h2", {}, "How to read this"),
    element("div", { class: "columns" }, ...parts),
  );
}
