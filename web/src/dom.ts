// Makes elements from data. Texts become text nodes and attributes are set as attributes: data of a run are never
// parsed as markup.

export type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | null | undefined>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child): child is Node | string => child !== null && child !== undefined));
  return made;
}

/** An element of a drawing. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child): child is Node | string => child !== null && child !== undefined));
  return made;
}

export function button(label: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

export interface Choice {
  value: string;
  label: string;
  group?: string;
}

/** A labelled list of choices. `show` selects a choice without calling `chosen`. */
export function selector(label: string, choices: Choice[], chosen: (value: string) => void) {
  const list = element("select", { "aria-label": label });
  const groups = new Map<string, HTMLElement>();
  for (const choice of choices) {
    const option = element("option", { value: choice.value }, choice.label);
    if (choice.group === undefined) {
      list.append(option);
      continue;
    }
    let group = groups.get(choice.group);
    if (!group) {
      group = element("optgroup", { label: choice.group });
      groups.set(choice.group, group);
      list.append(group);
    }
    group.append(option);
  }
  list.addEventListener("change", () => chosen(list.value));
  return {
    element: element("label", { class: "field" }, element("span", { "aria-hidden": "true" }, label), list),
    show(value: string) {
      list.value = value;
    },
  };
}

/** A row of buttons, of which one is pressed. */
export function segments(label: string, choices: Choice[], chosen: (value: string) => void) {
  const buttons = choices.map((choice) =>
    button(choice.label, () => chosen(choice.value), { "aria-pressed": "false" }),
  );
  return {
    element: element("div", { class: "segments", role: "group", "aria-label": label }, ...buttons),
    show(value: string) {
      choices.forEach((choice, i) => buttons[i].setAttribute("aria-pressed", String(choice.value === value)));
    },
    enable(value: string, on: boolean) {
      const at = choices.findIndex((choice) => choice.value === value);
      if (at >= 0) buttons[at].disabled = !on;
    },
  };
}
