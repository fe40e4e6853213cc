import type { ChaosWorld } from "./chaos-world.ts";

/** The deadline that the product promises, with some time for a machine that is busy with faults. */
const PROMISED_MS = 5000;
const SLACK_MS = 3000;
const GIVE_UP_MS = 30_000;

/** A node without its database says so soon. One that is down, or being started, promises nothing. */
export async function askWhileCutOff({ nodes, account, lateAnswers, outages }: ChaosWorld): Promise<void> {
  const url = nodes[1]?.url;
  if (url === undefined) return;
  const began = performance.now();
  const answer = await fetch(`${url}/api/v1.2/account`, {
    headers: { "X-AUTH-TOKEN": account.token },
    signal: AbortSignal.timeout(GIVE_UP_MS),
  }).then(
    ({ status }) => String(status),
    (error: unknown) => (error instanceof Error && error.name === "TimeoutError" ? "no answer" : undefined),
  );
  const tookMs = performance.now() - began;
  if (answer === undefined || nodes[1]?.url !== url || outages.isOverloaded) return;
  if (answer !== "503" || tookMs > PROMISED_MS + SLACK_MS)
    lateAnswers.push(`GET account of a node without its database: ${answer} after ${Math.round(tookMs)} ms`);
}
