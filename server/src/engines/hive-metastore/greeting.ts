import { Secret } from "../../lib/secret.ts";
import { Connection } from "../hive-thrift/connection.ts";
import { Unproven } from "../hive-thrift/shared-secret.ts";

/**
 * Whether the metastore on this machine lives and knows the secret. Whatever else listens on the port learns nothing by
 * the question. What fails on our side (such as too many open files) is thrown.
 */
export async function isGreeted(port: number, secret: string, signal: AbortSignal): Promise<boolean> {
  const address = { host: "127.0.0.1", port, checkAddress: () => null };
  try {
    (await Connection.open(address, signal, new Secret(secret))).destroy();
    return true;
  } catch (error) {
    if (signal.aborted || error instanceof Unproven || isRefused(error)) return false;
    throw error;
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ECONNREFUSED" || error.code === "ECONNRESET");
}
