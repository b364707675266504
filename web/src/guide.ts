// How to read the report. docs/method.md of the project explains it in full.

import { columnChoices, meaning } from "./columns.ts";
import type { Dataset } from "./data.ts";
import { element } from "./dom.ts";

const entries: [string, string][] = [
  [
    "The question",
    "A head compares a query with keys. Does the query decide which of two keys wins, or is the winner fixed before " +
      "the query is known? If the first key wins with probability p over the head's queries, plasticity is " +
      "4p(1 − p): 1 when both keys are equally likely to win, 0 when the winner is fixed.",
  ],
  [
    "Which column to trust",
    "Trust ap_exact on every model with rotary embeddings (RoPE). Such a model rotates its queries by position. " +
      "ap_overall pools whole buckets of positions, mistakes the rotation for freedom of the query, and ranks heads " +
      "that look one token back above heads that retrieve. ap_exact follows the rotation. It is missing when the run " +
      "did not know the model's rotation.",
  ],
  [
    "High and low",
    "When plasticity is high, content decides, as in heads that copy or retrieve. When it is low, position decides, " +
      "as in heads that look back by a fixed distance. logit_fixed is the part of the logit difference of two keys " +
      "that is fixed beforehand; logit_spread is the part that the query adds. A head is plastic because the first " +
      "is small or because the second is large.",
  ],
  [
    "How sure",
    "± is one standard error: how far the value would move with other documents. A difference of less than about two " +
      "standard errors means nothing. ap_exact assumes that queries are normally distributed; ap_exact_empirical " +
      "counts queries instead. When the two are far apart, trust the count.",
  ],
  [
    "The charts",
    "Titles say what is position-exact and what is pooled. Pooled charts mislead in the same way as ap_overall. Means " +
      "over heads weigh each head by its pairs or triples. Values with little data are hatched or dotted, and set no " +
      "colour. The chart “Where position is written” is not about plasticity: it shows which components of the query follow " +
      "position on a line.",
  ],
  [
    "What it does not see",
    "Plasticity is about which key wins. It does not say how much attention the winner gets, nor what its value vector " +
      "then does. Two keys that both lose to a third count as much as two that lead.",
  ],
];

/** What every column of the run means, topic by topic: for those who cannot hover over its name. */
function glossary(data: Dataset): HTMLElement {
  const names = columnChoices(data, false).map(({ value }) => value);
  const entries = names.flatMap((name) => {
    const text = meaning(data, name);
    if (text === "") return [];
    return [element("div", {}, element("dt", {}, name), element("dd", {}, `${text}.`))];
  });
  return element(
    "details",
    { class: "glossary", id: "glossary" },
    element("summary", {}, "What the columns mean"),
    element("dl", {}, ...entries),
  );
}

export function guide(data: Dataset): HTMLElement {
  const parts = entries.map(([title, text]) => element("div", {}, element("h3", {}, title), element("p", {}, text)));
  return element(
    "section",
    { class: "guide", id: "guide", tabindex: -1, "aria-label": "How to read this" },
    element("h2", {}, "How to read this"),
    element("div", { class: "columns" }, ...parts),
    glossary(data),
  );
}
