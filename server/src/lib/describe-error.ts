/**
 * What the log may say of an error. Errors of PostgreSQL carry the values of the statement in `detail`, `where` and
 * others, and those about a value (SQLSTATE 22…) quote it in their text: none of that is written down.
 */
export interface DescribedError {
  type: string;
  message: string;
  stack: string;
  code?: string;
  table?: string;
  constraint?: string;
  cause?: unknown;
}

const KEPT = ["code", "table", "constraint"] as const;
const DATA_EXCEPTION = /^22[0-9A-Z]{3}$/;

export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error;
  const fields = new Map<string, unknown>(Object.entries(error));
  const quotesValues = DATA_EXCEPTION.test(String(fields.get("code")));
  const described: DescribedError = {
    type: error.name,
    message: quotesValues ? error.message.replace(/".*"/s, "(a value)") : error.message,
    stack: framesOf(error),
  };
  for (const key of KEPT) {
    const value = fields.get(key);
    if (typeof value === "string") described[key] = value;
  }
  if (error.cause !== undefined) described.cause = describeError(error.cause);
  return described;
}

/** Without the message, which a stack repeats. */
function framesOf({ stack = "" }: Error): string {
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim())
    .join("\n");
}
