import { integer, type Fields } from "./field-rules.ts";

/** The input of an operation, written by hand. Path parameters come from the document. */
export interface OperationRules {
  operationId: string;
  /** Names the form of body, if the operation has several. */
  form?: string;
  query?: Fields;
  body?: Fields;
  /** Sent with every body. */
  fixed?: Record<string, unknown>;
  /** The key under which the fields are nested. */
  inside?: string;
  /** The status of a request without defects: 200, unless the test's account lacks what the operation needs. */
  valid?: number;
  /** Two reads may differ: refusals reach the audit log with a delay. */
  changesByItself?: true;
}

export const paging: Fields = { page: integer(1, Infinity), per_page: integer(1, 100) };

/** Operations without fields. */
export const none = (...operationIds: string[]): OperationRules[] =>
  operationIds.map((operationId) => ({ operationId }));
/** Operations with the fields of pages only. */
export const paged = (...operationIds: string[]): OperationRules[] =>
  operationIds.map((operationId) => ({ operationId, query: paging }));
