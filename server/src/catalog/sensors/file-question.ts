import { ObjectStoreError } from "../../engines/object-store/object-store-error.ts";
import { parseObjectUri, type ObjectUri } from "../../engines/object-store/object-uri.ts";
import { Fault, invalid } from "../../lib/fault.ts";
import type { WaitedQuestion } from "./sensor-waits.ts";

const MOST_FILES = 1000;
const LONGEST_URI = 8192;

export interface AskedFile {
  readonly field: string;
  readonly text: string;
  readonly uri: ObjectUri;
}

export interface FileQuestion extends WaitedQuestion {
  readonly files: readonly AskedFile[];
  /** What was missing in the last look: the next one begins there, so that one who waits costs a call, not a thousand. */
  startAt: number;
}

/** What a file sensor is asked, judged as far as it can be without the stores. Pure. */
export function fileQuestion(given: unknown): FileQuestion {
  if (!Array.isArray(given) || given.length === 0) {
    throw new Fault("invalid", "File list is missing or not in array format");
  }
  if (given.length > MOST_FILES) throw invalid("files", `must have at most ${MOST_FILES} entries`);
  const files = given.map((text: unknown, at) => askedFile(`files[${at}]`, text));
  const texts = [...new Set(files.map(({ text }) => text))].toSorted();
  return { key: JSON.stringify(texts), size: texts.length, files, startAt: 0 };
}

function askedFile(field: string, text: unknown): AskedFile {
  if (typeof text !== "string") throw invalid(field, "must be a text");
  if (text.length > LONGEST_URI) throw invalid(field, `must have at most ${LONGEST_URI} characters`);
  try {
    return { field, text, uri: parseObjectUri(text) };
  } catch (error) {
    if (error instanceof ObjectStoreError) throw invalid(field, `cannot be looked for: ${error.message}`);
    throw error;
  }
}
