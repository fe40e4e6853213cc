/** How a request's body may be sent, as the gate decides before any of it is read. */
export interface BodyTerms {
  readonly limitBytes: number;
  /** What would allow a larger one, for the refusal. */
  readonly hint?: string;
  /** Whose share of the memory for bodies it takes. */
  readonly owner: string;
}

/** JSON of every ordinary operation fits. */
export const ORDINARY_BODY_BYTES = 1024 * 1024;
/** Of a GET, whose body stands for a query; it may be passed on to another node. */
export const QUERY_BODY_BYTES = 64 * 1024;
/** Without a token: an invitation, or a question to the server itself. */
export const ANONYMOUS_BODY_BYTES = 16 * 1024;

export const ANONYMOUS_TERMS: BodyTerms = { limitBytes: ANONYMOUS_BODY_BYTES, owner: "anonymous" };
