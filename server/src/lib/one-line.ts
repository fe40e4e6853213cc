// Control characters are the point of it.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** A text for a log, whoever has made it up: no line of its own comes out of it, and no terminal obeys it. */
export function oneLine(text: string): string {
  return text.replaceAll(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
