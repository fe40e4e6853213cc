import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openConnect, type ConnectChannel } from "../../server/src/engines/spark-connect/spark-connect.ts";
import { Secret } from "../../server/src/lib/secret.ts";
import type { BenchHeadgate } from "../headgate.ts";

export const SELECT_1 = "select 1 as one";

export const sqlCommand = (sql: string): object => ({ command_type: "SparkCommand", sql });

/**
 * The baseline: our client alone, on the same server that Headgate uses. With `storedResults` the server stores results
 * on disk, as for Headgate, because its heap cannot hold large ones.
 */
export function bareClient({ dataDir }: BenchHeadgate, storedResults = false): ConnectChannel {
  const [file] = globSync(join(dataDir, "accounts/*/spark/*/server.json"));
  if (file === undefined) throw new Error("there is no warm server");
  const { port, token } = JSON.parse(readFileSync(file, "utf8")) as { port: number; token: string }; // as the engine writes it
  return openConnect({ host: "127.0.0.1", port, token: new Secret(token), sessionUser: "bench", storedResults });
}

/** Runs a statement in its own session and returns the number of rows and bytes. */
export async function runBare(channel: ConnectChannel, sql: string): Promise<{ rows: number; bytes: number }> {
  const session = channel.session();
  let [rows, bytes] = [0, 0];
  try {
    for await (const event of session.execute(sql, { operationId: crypto.randomUUID() })) {
      if (event.kind !== "batch") continue;
      bytes += event.data.length;
      if (event.part === 0) rows += event.rowCount;
    }
  } finally {
    await session.release();
  }
  return { rows, bytes };
}
