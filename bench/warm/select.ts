import type { BenchHeadgate } from "../headgate.ts";
import { median, percentile, timed } from "../measure.ts";
import { bareClient, runBare, SELECT_1, sqlCommand } from "./warm-server.ts";

const WARM_UP = 50;
const ROUNDS = 200;

/** `SELECT 1` from its submission until its client has the result, and by our bare client in a fresh session, in turns. */
export async function benchSelect(headgate: BenchHeadgate): Promise<number> {
  await headgate.run(sqlCommand(SELECT_1));
  const bare = bareClient(headgate);
  const times: [number[], number[]] = [[], []];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const ours = await timed(() => overHttp(headgate));
    const floor = await timed(() => runBare(bare, SELECT_1));
    if (round < 0) continue;
    times[0].push(ours);
    times[1].push(floor);
  }
  bare.close();
  const line = (values: readonly number[]): string =>
    `p50 ${median(values).toFixed(1)} ms, p99 ${percentile(values, 0.99).toFixed(1)} ms`;
  const ratio = median(times[0]) / median(times[1]);
  console.log(
    `SELECT 1 over HTTP, submission to result: ${line(times[0])}; our bare client, fresh sessions: ${line(times[1])}; ` +
      `p50 ratio ${ratio.toFixed(2)}`,
  );
  return median(times[0]);
}

async function overHttp({ call }: BenchHeadgate): Promise<void> {
  const { id } = await call<{ id: number }>("POST", "/commands", sqlCommand(SELECT_1));
  const { status, results } = await call<{ status: string; results: string }>(
    "GET",
    `/commands/${id}/status_with_results?wait_seconds=60`,
  );
  if (status !== "done" || results.trim() !== "1") throw new Error(`SELECT 1 gave ${status} ${results}`);
}
