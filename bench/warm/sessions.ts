import type { BenchHeadgate } from "../headgate.ts";
import { bareClient, runBare, SELECT_1, sqlCommand } from "./warm-server.ts";

const SESSIONS = 20;
const ROUNDS = 10;

/** Twenty concurrent clients with sequential queries, compared with as many fresh sessions of our bare client. */
export async function benchSessions(headgate: BenchHeadgate): Promise<void> {
  await headgate.run(sqlCommand(SELECT_1));
  const bare = bareClient(headgate);
  const ours = await perSecond(() => headgate.run(sqlCommand(SELECT_1)));
  const floor = await perSecond(() => runBare(bare, SELECT_1));
  bare.close();
  const ratio = (ours / floor).toFixed(2);
  console.log(
    `${SESSIONS} sessions at once: ${ours.toFixed(1)} queries/s, our bare client ${floor.toFixed(1)}/s, ratio ${ratio}`,
  );
}

async function perSecond(query: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const client = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) await query();
  };
  await Promise.all(Array.from({ length: SESSIONS }, client));
  return (SESSIONS * ROUNDS) / ((performance.now() - began) / 1000);
}
