// Colours. Values are coloured by viridis and magma, which stay readable in grey and without colour vision.

export interface Look {
  dark: boolean;
  ink: string;
  muted: string;
  faint: string;
  line: string;
  surface: string;
  accent: string;
  accentName: string; // for captions
  kept: string[]; // colours of the heads that the chosen one is compared with, apart for eyes without full colour vision
  runs: [string, string]; // the first and the second of two runs
  diverging: string[]; // for differences: from blue over the colour of nothing to red
  points: string[]; // for thin lines and dots, from low to high: the part of viridis that contrasts with the surface
}

export const viridis = [
  "#440154",
  "#482878",
  "#3e4989",
  "#31688e",
  "#26828e",
  "#1f9e89",
  "#35b779",
  "#6ece58",
  "#b5de2b",
  "#fde725",
];
export const magma = [
  "#000004",
  "#180f3d",
  "#440f76",
  "#721f81",
  "#9e2f7f",
  "#cd4071",
  "#f1605d",
  "#fd9668",
  "#feca8d",
  "#fcfdbf",
];

export const light: Look = {
  dark: false,
  ink: "#1d2025",
  muted: "#666b74",
  faint: "#b4b7bd",
  line: "#e5e5e1",
  surface: "#ffffff",
  accent: "#c8350c",
  accentName: "red",
  kept: ["#0072b2", "#b25f00", "#00795a", "#a8457f", "#5b4bb5", "#6b6a00"],
  runs: ["#0072b2", "#b25f00"],
  diverging: ["#1d4e9c", "#5b8fcb", "#b3cfe9", "#f4f4f2", "#f1c4ad", "#d97c5c", "#a52a24"],
  points: viridis.slice(0, 9),
};

export const dark: Look = {
  dark: true,
  ink: "#e9e9e6",
  muted: "#a0a4ac",
  faint: "#5d626b",
  line: "#34373d",
  surface: "#1b1d21",
  accent: "#ff8a57",
  accentName: "orange",
  kept: ["#6cc4f5", "#f0e442", "#3fd0a5", "#e79ac6", "#b3a5ff", "#c9c96a"],
  runs: ["#6cc4f5", "#f0b442"],
  diverging: ["#8ab8f0", "#5486c4", "#3d5c88", "#3b3f47", "#86503f", "#c4674a", "#f59a7a"],
  points: viridis.slice(2),
};

/** The colour at a share from 0 to 1 of a scale. */
export function colorAt(colors: string[], share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (colors.length - 1);
  const below = Math.min(Math.floor(at), colors.length - 2);
  const parts = [1, 3, 5].map((i) => {
    const [from, to] = [colors[below], colors[below + 1]].map((color) => parseInt(color.slice(i, i + 2), 16));
    return Math.round(from + (to - from) * (at - below));
  });
  return `rgb(${parts.join(" ")})`;
}

/** Has no quotes, because ECharts copies it unescaped into attributes of a saved SVG. */
export const font = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Liberation Sans, Arial, sans-serif";
