import type { Operation } from "../openapi/document.ts";

/** An operation of the document, and where it stands there. */
export interface ListedOperation {
  method: string;
  path: string;
  operation: Operation;
}
