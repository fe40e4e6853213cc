/** The limits of a request's body. The gate sets them before any of it is read. */
export interface BodyTerms {
  readonly limitBytes: number;
  /** Appended to the error message: how to be allowed a larger body. */
  readonly hint?: string;
  /** The account whose memory for bodies it uses. */
  readonly owner: string;
}

/** Enough for the JSON of every ordinary operation. */
export const ORDINARY_BODY_BYTES = 1024 * 1024;
/** The body of a GET replaces its query string. It may be forwarded to another node. */
export const QUERY_BODY_BYTES = 64 * 1024;
/** Requests without a token: accepting an invitation, or the server's own pages. */
export const ANONYMOUS_BODY_BYTES = 16 * 1024;

export const ANONYMOUS_TERMS: BodyTerms = { limitBytes: ANONYMOUS_BODY_BYTES, owner: "anonymous" };
