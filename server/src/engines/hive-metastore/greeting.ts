import { Connection, ConnectionLost } from "../hive-thrift/connection.ts";
import { setUgi } from "../hive-thrift/hive-functions.ts";

const budgetBytes = 64 * 1024;

/**
 * Whether a metastore on this machine lives and knows the secret: it answers nobody's first words without it.
 * What fails on our side (such as too many open files) is thrown.
 */
export async function isGreeted(port: number, secret: string, signal: AbortSignal): Promise<boolean> {
  try {
    const connection = await Connection.open({ host: "127.0.0.1", port, checkAddress: () => null }, signal);
    try {
      await connection.call(setUgi, { userName: "headgate", groupNames: [secret] }, { signal, budgetBytes });
      return true;
    } finally {
      connection.destroy();
    }
  } catch (error) {
    if (signal.aborted || error instanceof ConnectionLost || isRefused(error)) return false;
    throw error;
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ECONNREFUSED" || error.code === "ECONNRESET");
}
