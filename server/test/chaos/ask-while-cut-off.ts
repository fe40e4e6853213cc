import { shortProgram } from "./chaos-client.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import type { CutOffAnswer } from "./cut-off-answers.ts";

const GIVE_UP_MS = 30_000;
/** The node learns of the outage from the requests of the first round and knows of it in the second one. */
const ROUNDS = 2;

/**
 * Asks the node that is cut off for its account and submits a command to it. The command may be stored nevertheless when
 * the cut is healed, so it has to be submitted again with the same key.
 */
export async function askWhileCutOff(world: ChaosWorld, connections: CutOffAnswer["connections"]): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const key = `cut-off-${world.keysToRepeat.length}`;
    world.keysToRepeat.push(key);
    const submission = { method: "POST", body: JSON.stringify(shortProgram), headers: { "Idempotency-Key": key } };
    const asked = [ask(world, "/account"), ask(world, "/commands", submission)];
    for (const [index, answer] of (await Promise.all(asked)).entries()) {
      const request = index === 0 ? "GET account" : "POST commands";
      if (answer !== undefined) world.cutOffAnswers.push({ request, connections, ...answer });
    }
  }
}

/** Undefined: the node is down, or went down meanwhile, and promises nothing. */
async function ask(
  { nodes, account }: ChaosWorld,
  path: string,
  request: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<Pick<CutOffAnswer, "status" | "seconds"> | undefined> {
  const url = nodes[1]?.url;
  if (url === undefined) return undefined;
  const began = performance.now();
  const headers = { "X-AUTH-TOKEN": account.token, "Content-Type": "application/json", ...request.headers };
  const signal = AbortSignal.timeout(GIVE_UP_MS);
  const status = await fetch(`${url}/api/v1.2${path}`, { ...request, headers, signal }).then(
    (response) => response.status,
    () => (signal.aborted ? null : undefined),
  );
  const seconds = (performance.now() - began) / 1000;
  return status === undefined || nodes[1]?.url !== url ? undefined : { status, seconds };
}
