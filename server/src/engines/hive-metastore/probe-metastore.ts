import { Secret } from "../../lib/secret.ts";
import { Connection } from "../hive-thrift/connection.ts";
import { SecretNotProven } from "../hive-thrift/shared-secret.ts";

/**
 * Liveness probe: whether a metastore on this machine answers and proves that it knows the secret. Another process on the
 * port learns nothing about the secret. Throws if the probe itself fails, for example by too many open files.
 */
export async function probeMetastore(port: number, secret: string, signal: AbortSignal): Promise<boolean> {
  const address = { host: "127.0.0.1", port, checkAddress: () => null };
  try {
    (await Connection.open(address, signal, new Secret(secret))).destroy();
    return true;
  } catch (error) {
    if (signal.aborted || error instanceof SecretNotProven || isRefused(error)) return false;
    throw error;
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ECONNREFUSED" || error.code === "ECONNRESET");
}
