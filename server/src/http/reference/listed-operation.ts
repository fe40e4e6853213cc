import type { Operation } from "../openapi/document.ts";

/** An operation of the document, with its method and path. */
export interface ListedOperation {
  method: string;
  path: string;
  operation: Operation;
}
