import { fileFailure } from "../../object-store/file/file-failure.ts";
import { ObjectStoreError } from "../../object-store/object-store-error.ts";
import { CopyError } from "./copy-error.ts";

/** One line for the user. */
export function explainFailure(given: unknown): string {
  const error = fileFailure("the journal or a temporary file of the copy", given);
  if (error instanceof CopyError || error instanceof ObjectStoreError) return error.message;
  return `the copy failed: ${error instanceof Error ? error.message : String(error)}`;
}
