const MAX_LENGTH = 200;

/**
 * The form in which an error message repeats a value of the request: at most 200 characters, without control and format
 * characters, which could change how a terminal or a log shows the rest of the message.
 */
export function shownValue(value: string | number): string {
  const [...characters] = String(value)
    .slice(0, 4 * MAX_LENGTH)
    .replaceAll(UNPRINTABLE, "");
  if (characters.length === 0) return '""';
  return characters.length <= MAX_LENGTH ? characters.join("") : `${characters.slice(0, MAX_LENGTH).join("")}…`;
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
