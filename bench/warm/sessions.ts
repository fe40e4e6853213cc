import type { BenchHeadgate } from "../headgate.ts";
import { SELECT_1, sqlCommand } from "./warm-server.ts";

const SESSIONS = 20;
const ROUNDS = 10;

/** Twenty clients at once, each with one query after the other. */
export async function benchSessions(headgate: BenchHeadgate): Promise<void> {
  await headgate.run(sqlCommand(SELECT_1));
  const began = performance.now();
  const client = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) await headgate.run(sqlCommand(SELECT_1));
  };
  await Promise.all(Array.from({ length: SESSIONS }, client));
  const seconds = (performance.now() - began) / 1000;
  console.log(`${SESSIONS} clients at once: ${((SESSIONS * ROUNDS) / seconds).toFixed(1)} queries/s`);
}
