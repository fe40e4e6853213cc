import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startHeadgate, type BenchHeadgate } from "../headgate.ts";
import { median, timed } from "../measure.ts";
import { byHand, sparkHome } from "../spark-by-hand.ts";

const ROUNDS = 3;
export const PROGRAM = `from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.sql("select 1 as one").collect()[0].one)
spark.stop()
`;

/** Requires a driver of its own, so that no standby driver is used. */
const COLD = { arguments: "--conf spark.driver.extraJavaOptions=-Dcold=true" };

/**
 * A Python command from its submission until its client sees that it is done, alternating with spark-submit by hand.
 */
export async function benchColdStart(): Promise<void> {
  await comparePython("a cold Python command", COLD);
}

/** `beforeEach` is not part of the time. */
export async function comparePython(
  name: string,
  options: object,
  beforeEach?: (headgate: BenchHeadgate) => Promise<void>,
): Promise<void> {
  const home = await sparkHome();
  const headgate = await startHeadgate();
  try {
    const file = join(headgate.folder, "program.py");
    writeFileSync(file, PROGRAM);
    const command = { command_type: "SparkCommand", language: "python", program: PROGRAM, ...options };
    const times: [number[], number[]] = [[], []];
    // The first round is a warm-up, because its files are not cached yet.
    for (let round = -1; round < ROUNDS; round += 1) {
      if (round >= 0) await beforeEach?.(headgate);
      const ours = await timed(() => headgate.run(command));
      const floor = await timed(() => byHand(home, headgate.folder, "spark-submit", [file]));
      if (round < 0) continue;
      times[0].push(ours);
      times[1].push(floor);
    }
    const [ours, floor] = times.map(median) as [number, number]; // of two
    console.log(
      `${name}: ${(ours / 1000).toFixed(2)} s from submission to done, ` +
        `spark-submit by hand ${(floor / 1000).toFixed(2)} s, ratio ${(ours / floor).toFixed(2)}`,
    );
  } finally {
    await headgate.stop();
  }
}
