// Files that the page saves.

export function save(name: string, content: BlobPart, type: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A file name that every file system accepts. */
export function fileName(...parts: string[]): string {
  return parts
    .map((part) => part.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+|-+$/g, ""))
    .filter((part) => part !== "")
    .join("-");
}

/** CSV (RFC 4180, with LF). NaN is an empty field. */
export function csv(columns: string[], rows: (number | string)[][]): string {
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const field = (value: number | string) => (Number.isNaN(value) ? "" : quoted(String(value)));
  const lines = [columns.map(quoted).join(",")];
  for (const row of rows) lines.push(row.map(field).join(","));
  return lines.join("\n") + "\n";
}
