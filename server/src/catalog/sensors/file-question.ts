import { ObjectStoreError } from "../../object-store/object-store-error.ts";
import { parseObjectUri } from "../../object-store/object-uri.ts";
import { resolveStorageUri } from "../../object-store/storage-uri.ts";
import { Fault, invalid } from "../../lib/fault.ts";
import type { WaitedQuestion } from "./sensor-waits.ts";

const MAX_FILES = 1000;
const LONGEST_URI = 8192;
/** Stands for the account's location, which only the check knows. */
const ANY_LOCATION = "file:///";

export interface SensorFile {
  readonly field: string;
  readonly text: string;
}

export interface FileQuestion extends WaitedQuestion {
  readonly files: readonly SensorFile[];
  /** Index of the file that was missing in the last check. The next check starts there, so that it needs few calls. */
  startAt: number;
}

/** Parses and validates the files of a sensor as far as possible without the stores. Pure. */
export function fileQuestion(given: unknown): FileQuestion {
  if (!Array.isArray(given) || given.length === 0) {
    throw new Fault("invalid", "File list is missing or not in array format");
  }
  if (given.length > MAX_FILES) throw invalid("files", `must have at most ${MAX_FILES} entries`);
  const files = given.map((text: unknown, at) => sensorFile(`files[${at}]`, text));
  const texts = [...new Set(files.map(({ text }) => text))].toSorted();
  return { key: JSON.stringify(texts), size: texts.length, files, startAt: 0 };
}

function sensorFile(field: string, text: unknown): SensorFile {
  if (typeof text !== "string") throw invalid(field, "must be a string");
  if (text.length > LONGEST_URI) throw invalid(field, `must have at most ${LONGEST_URI} characters`);
  try {
    parseObjectUri(resolveStorageUri(text, ANY_LOCATION));
    return { field, text };
  } catch (error) {
    if (error instanceof ObjectStoreError) throw invalid(field, `cannot be checked: ${error.message}`);
    throw error;
  }
}
