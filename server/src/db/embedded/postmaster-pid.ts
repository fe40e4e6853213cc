/**
 * `postmaster.pid`, which a running server has in its data directory and a killed one leaves there. One line each: pid,
 * data directory, start time, port, socket folder, listen address, shared memory key and id, status. The server writes
 * it in steps, so later lines may be missing.
 */
export interface PostmasterPid {
  readonly pid: number;
  readonly dataDirectory: string;
  readonly port: number | undefined;
  readonly socketDir: string | undefined;
  readonly status: PostmasterStatus | undefined;
}

export type PostmasterStatus = "starting" | "stopping" | "ready" | "standby";

const statuses: readonly PostmasterStatus[] = ["starting", "stopping", "ready", "standby"];

export function parsePostmasterPid(text: string): PostmasterPid | undefined {
  const [pidLine, dataDirectory, , portLine, socketDir, , , statusLine] = text.split("\n").map((line) => line.trim());
  // A negative pid belongs to a single-user server, which accepts no connections.
  const pid = Math.abs(Number(pidLine));
  if (pidLine === "" || !Number.isSafeInteger(pid) || pid === 0) return undefined;
  const port = Number(portLine);
  return {
    pid,
    dataDirectory: dataDirectory ?? "",
    port: Number.isInteger(port) && port > 0 ? port : undefined,
    socketDir: socketDir === "" ? undefined : socketDir,
    status: statuses.find((status) => status === statusLine),
  };
}
