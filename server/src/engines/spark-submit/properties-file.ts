/**
 * The text of a Java properties file. Secrets stand in one and never on a command line, which every user of the machine
 * can read: write it with mode 0600.
 */
export function renderProperties(properties: Readonly<Record<string, string>>): string {
  const lines = Object.entries(properties).map(
    ([key, value]) => `${escape(key, /[\s=:#!\\]/g)}=${escape(value, /^\s|\\/g)}\n`,
  );
  return lines.join("");
}

/** Of a file as people write it: a setting on each line, the name ends at a space, `=` or `:`. */
export function parseProperties(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const settings = lines.filter((line) => line !== "" && !/^[#!]/.test(line));
  return Object.fromEntries(
    settings.map((line) => {
      const [, key = "", value = ""] = /^([^\s=:]+)\s*[=:]?\s*(.*)$/.exec(line) ?? [];
      return [key, value];
    }),
  );
}

const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f" };

function escape(text: string, special: RegExp): string {
  return text
    .replaceAll(special, (character) => named[character] ?? `\\${character}`)
    .replaceAll(/[\n\r\t\f]/g, (character) => named[character] ?? character)
    .replaceAll(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
