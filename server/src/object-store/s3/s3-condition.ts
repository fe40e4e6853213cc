import { descriptions, ObjectStoreError } from "../object-store-error.ts";
import { quotedEtag, type Headers } from "./s3-headers.ts";

/** For a write that replaces only the object with this ETag. */
export function headersOfCondition(ifMatch: string | undefined): Headers {
  return ifMatch === undefined ? {} : { "if-match": quotedEtag(ifMatch) };
}

/** Codes of stores that do not know the condition. */
const UNKNOWN_CONDITION: ReadonlySet<string> = new Set(["NotImplemented", "InvalidArgument", "MethodNotAllowed"]);
const NOT_MET: ReadonlySet<string> = new Set(["PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"]);

/** Translates the refusal of a conditional write. A missing object does not meet the condition. */
export function refusedCondition(subject: string, ifMatch: string | undefined): (error: unknown) => never {
  return (cause) => {
    if (ifMatch === undefined || !(cause instanceof ObjectStoreError) || cause.code === undefined) throw cause;
    const { code } = cause;
    const kind = NOT_MET.has(code) ? "changed" : UNKNOWN_CONDITION.has(code) ? "unconditional" : undefined;
    throw kind === undefined ? cause : new ObjectStoreError(kind, `${subject}: ${descriptions[kind]}`, { code, cause });
  };
}
