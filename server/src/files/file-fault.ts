import { Fault, invalid } from "../lib/fault.ts";
import { ObjectStoreError, transientKinds } from "../object-store/object-store-error.ts";
import { MAX_PAGE_ENTRIES, TOO_MANY_ENTRIES } from "../object-store/page-tree.ts";

const RETRY_AFTER_SECONDS = 10;

/** Translates the error of a store; the handler knows the path of a missing file, and the size for a missing range. */
export function fileFault(error: unknown): unknown {
  if (!(error instanceof ObjectStoreError)) return error;
  const { kind, message, code } = error;
  if (transientKinds.has(kind)) {
    const text = `The storage of the account cannot be used now: ${message}. Try again later.`;
    return new Fault("unavailable", text, { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
  switch (kind) {
    case "changed":
      return new Fault("precondition-failed", "The file does not exist, or its ETag is not that in If-Match.");
    case "unconditional":
      return invalid("If-Match", "cannot be used: the storage of the account has no conditional writes");
    case "too-large":
      if (code === TOO_MANY_ENTRIES) return tooManyEntries();
      return new Fault("too-large", `The file is larger than the storage of the account takes: ${message}`);
    case "bad-uri":
      return invalid("path", `cannot be used: ${message}`);
    case "missing":
      return code === "ENOTDIR"
        ? invalid("path", "cannot be used: the name of one of its folders is that of a file")
        : invalid("path", `cannot be used: ${message}`);
    case "bad-request":
      return code === "EISDIR"
        ? invalid("path", "names a folder, not a file")
        : new Fault("invalid", `The storage refuses the file: ${message}`);
    case "denied":
      return code === "ELOOP" || code === undefined
        ? invalid("path", `cannot be used: ${message}`)
        : new Fault("invalid", `The storage of the account cannot be used: ${message}`);
    default:
      return new Fault("invalid", `The storage of the account cannot be used: ${message}`);
  }
}

function tooManyEntries(): Fault {
  return invalid(
    "prefix",
    `has more than ${MAX_PAGE_ENTRIES.toLocaleString("en")} files and folders to sort: use a longer one, or delimiter=/`,
  );
}

/** The path is that of a link, a pipe or the like. */
export function isNoFile(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.kind === "denied" && error.code === undefined;
}

export function isMissing(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.kind === "missing" && error.code !== "NoSuchBucket";
}
