// Light or dark colours: those of the system, until the user chooses.

import { segments } from "./dom.ts";
import { dark, light, type Look } from "./look.ts";

type Theme = "auto" | "light" | "dark";
const place = "attention-plasticity-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

// Pages opened from disk may have no storage; the choice then lasts while the page is open.
function remembered(): Theme {
  try {
    const theme = localStorage.getItem(place);
    return theme === "light" || theme === "dark" ? theme : "auto";
  } catch {
    return "auto";
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(place, theme);
  } catch {
    return;
  }
}

export function themeSwitch(changed: (look: Look) => void) {
  let theme = remembered();
  const look = () => ((theme === "auto" ? system.matches : theme === "dark") ? dark : light);
  const apply = () => {
    document.documentElement.dataset.theme = look().dark ? "dark" : "light";
    control.show(theme);
  };
  const choices = [
    { value: "auto", label: "Auto" },
    { value: "light", label: "Light" },
    { value: "dark", label: "Dark" },
  ];
  const control = segments("Colours of the page", choices, (value) => {
    theme = value as Theme;
    remember(theme);
    apply();
    changed(look());
  });
  system.addEventListener("change", () => {
    apply();
    changed(look());
  });
  apply();
  return { element: control.element, look };
}
