/**
 * The text of a Java properties file. Secrets go into this file and never on a command line, which every user of the
 * machine can read. Write it with mode 0600.
 */
export function renderProperties(properties: Readonly<Record<string, string>>): string {
  const lines = Object.entries(properties).map(
    ([key, value]) => `${escape(key, /[\s=:#!\\]/g)}=${escape(value, /^\s|\\/g)}\n`,
  );
  return lines.join("");
}

/** Parses a hand-written file like Java and Spark: a backslash continues a line, and values are trimmed. */
export function parseProperties(text: string): Record<string, string> {
  return Object.fromEntries(
    wholeLines(text).map((line) => {
      const [, key = "", value = ""] = /^((?:\\.|[^\\\s=:])*)\s*[=:]?\s*(.*)$/s.exec(line) ?? [];
      return [unescape(key), unescape(value).trim()];
    }),
  );
}

function wholeLines(text: string): string[] {
  const lines: string[] = [];
  let begun: string | undefined;
  for (const part of text.split(/\r\n|\r|\n/).map((line) => line.trimStart())) {
    if (begun === undefined && (part === "" || /^[#!]/.test(part))) continue;
    const continues = /(?<!\\)(\\\\)*\\$/.test(part);
    const line: string = (begun ?? "") + (continues ? part.slice(0, -1) : part);
    if (!continues) lines.push(line);
    begun = continues ? line : undefined;
  }
  return begun === undefined ? lines : [...lines, begun];
}

const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f" };

function escape(text: string, special: RegExp): string {
  return text
    .replaceAll(special, (character) => named[character] ?? `\\${character}`)
    .replaceAll(/[\n\r\t\f]/g, (character) => named[character] ?? character)
    .replaceAll(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const meant: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", f: "\f" };

function unescape(text: string): string {
  return text.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_, code: string | undefined, character: string) =>
    code === undefined ? (meant[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
