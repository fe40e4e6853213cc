/** Whether a client explicitly accepts HTML, as browsers do; programs send a wildcard, JSON or nothing. */
export function acceptsHtml(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((range) => /^\s*text\/html\s*(;(?!\s*q=0(\.0*)?\s*$)|$)/i.test(range));
}
