import type { BenchHeadgate } from "../headgate.ts";
import { median, percentile, timed } from "../measure.ts";
import { bareClient, runBare, SELECT_1, sqlCommand } from "./warm-server.ts";

const WARM_UP = 50;
const ROUNDS = 200;

/**
 * `SELECT 1` from its submission until its client has the result, alternating with our bare client in a fresh session:
 * as any Spark Connect client sends it, which costs a Spark job, and as Headgate sends it, which does not.
 */
export async function benchSelect(headgate: BenchHeadgate): Promise<number> {
  await headgate.run(sqlCommand(SELECT_1));
  const [plain, same] = [bareClient(headgate), bareClient(headgate, true)];
  const times: [ours: number[], plain: number[], same: number[]] = [[], [], []];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const taken = [
      await timed(() => overHttp(headgate)),
      await timed(() => runBare(plain, SELECT_1)),
      await timed(() => runBare(same, SELECT_1)),
    ];
    if (round >= 0) times.forEach((each, way) => each.push(taken[way] ?? 0));
  }
  plain.close();
  same.close();
  const line = (values: readonly number[]): string =>
    `p50 ${median(values).toFixed(1)} ms, p99 ${percentile(values, 0.99).toFixed(1)} ms`;
  const ratio = (floor: readonly number[]): string => (median(times[0]) / median(floor)).toFixed(2);
  console.log(`SELECT 1 over HTTP, submission to result: ${line(times[0])}`);
  console.log(`… our bare client, fresh sessions: ${line(times[1])}; p50 ratio ${ratio(times[1])}`);
  console.log(`… the same without a job, as Headgate sends it: ${line(times[2])}; p50 ratio ${ratio(times[2])}`);
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
