import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Html } from "../html.ts";
import type { SearchEntry } from "./search-index.ts";

/** The search of the reference: its index as data, and the script that reads it. Both are part of the page. */
export function searchScript(index: readonly SearchEntry[]): { elements: Html; source: string } {
  const script = readFileSync(new URL("search.js", import.meta.url), "utf8");
  // Escaped so that no text of the index can end the element.
  const data = JSON.stringify(index).replaceAll("<", String.raw`\u003c`);
  return {
    elements: new Html(`<script type="application/json" id="index">${data}</script>\n<script>${script}</script>`),
    source: `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  };
}
