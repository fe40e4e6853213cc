// The pattern matches control characters on purpose.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Makes any text safe for a log: it cannot start a new line or control a terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Marks that change the direction of the text after them: a name with one could make a line look like another. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Makes text from users safe for a terminal: it cannot move the cursor or start a new line. */
export function printable(text: string): string {
  return oneLine(text).replaceAll(DIRECTION_MARKS, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function shortened(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}
