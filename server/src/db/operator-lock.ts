import { Client, type ClientConfig } from "pg";
import { Fault } from "../lib/fault.ts";
import { KEEP_ALIVE } from "./work-limits.ts";

const LOCK_KEY = 0x68656165; // one more than the key of migrate.ts

/**
 * Allows one export, import or key rotation at a time, so that an export contains exactly the keys that its data is
 * sealed with. The lock ends with the connection, which `work` may use.
 */
export async function withOperatorLock<T>(connection: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ ...KEEP_ALIVE, ...connection, application_name: "headgate-admin" });
  client.on("error", () => undefined); // a lost connection fails the next statement
  await client.connect();
  try {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [LOCK_KEY]);
    if (rows[0]?.taken !== true) {
      throw new Fault("conflict", "Another export, import or key-rotate is running: try again when it has ended.");
    }
    return await work(client);
  } finally {
    await client.end();
  }
}
