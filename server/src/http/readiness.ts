/** Checks whether the parts that this process needs are available, each within a time limit. */
export interface PartHealth {
  ok: boolean;
  /** For the operator. Every client that reaches the port can read it. */
  detail: string;
}

export type ReadinessParts = Readonly<Record<string, () => Promise<PartHealth>>>;

const ANSWER_WITHIN_MS = 2_000;

export async function checkParts(
  parts: ReadinessParts,
  answerWithinMs = ANSWER_WITHIN_MS,
): Promise<Record<string, PartHealth>> {
  const answers = await Promise.all(
    Object.entries(parts).map(async ([name, check]): Promise<[string, PartHealth]> => [
      name,
      await withinTime(check, answerWithinMs),
    ]),
  );
  return Object.fromEntries(answers);
}

async function withinTime(check: () => Promise<PartHealth>, answerWithinMs: number): Promise<PartHealth> {
  const { promise: late, resolve } = Promise.withResolvers<PartHealth>();
  const timer = setTimeout(() => resolve({ ok: false, detail: `no answer in ${answerWithinMs} ms` }), answerWithinMs);
  // The error may name hosts or users; it is in the log of the part itself.
  const answer = check().catch((): PartHealth => ({ ok: false, detail: "not reachable" }));
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
