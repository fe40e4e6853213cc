interface Readiness {
  readonly parts?: Readonly<Record<string, { readonly detail: string }>>;
}

const ANSWER_WITHIN_MS = 5_000;

/** What the running server says about one of its parts at `/readyz`; null: nothing. */
export async function askReadiness(url: string | undefined): Promise<(part: string) => string | null> {
  if (url === undefined) return () => null;
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const { parts = {} } = (await answer.json()) as Readiness; // the server is of this version
    return (part) => parts[part]?.detail ?? null;
  } catch {
    return () => null; // it has just ended
  }
}
