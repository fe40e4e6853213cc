import { fileFailure } from "../../object-store/file/file-failure.ts";
import { ObjectStoreError } from "../../object-store/object-store-error.ts";
import { CopyError } from "./copy-error.ts";
import { ManifestError } from "./manifest/manifest-entry.ts";
import { CopyArgumentError } from "./options/copy-argument-error.ts";
import { CopyPlanError } from "./plan/copy-plan-error.ts";

/** Errors with messages for users. */
const KNOWN_ERRORS = [CopyError, CopyArgumentError, CopyPlanError, ManifestError, ObjectStoreError];

/** One line for the user. */
export function explainFailure(given: unknown): string {
  const error = fileFailure("the journal or a temporary file of the copy", given);
  if (KNOWN_ERRORS.some((known) => error instanceof known)) return (error as Error).message; // they are all errors
  return `the copy failed: ${error instanceof Error ? error.message : String(error)}`;
}
