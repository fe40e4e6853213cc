// The pattern matches control characters on purpose.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Makes any text safe for a log: it cannot start a new line or control a terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
