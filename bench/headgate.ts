import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProgram } from "./program.ts";

/** Headgate as `npm start` runs it, with Spark and its own data directory. */
export interface BenchHeadgate {
  readonly url: string;
  readonly pid: number;
  readonly folder: string;
  readonly dataDir: string;
  /** Uses the API version of the path, else v1.2. */
  readonly call: <Reply>(method: string, path: string, body?: object) => Promise<Reply>;
  /** Runs the command and returns its id; fails if it does not end as done. */
  readonly run: (command: object) => Promise<number>;
  stop(): Promise<void>;
}

export async function startHeadgate(settings: Record<string, string> = {}): Promise<BenchHeadgate> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
  chmodSync(folder, 0o755);
  const dataDir = join(folder, "data");
  const program = await startProgram("server/start.sh", [], /ready at (\S+)/, {
    HEADGATE_DATA_DIR: dataDir,
    HEADGATE_PORT: "0",
    HEADGATE_RATE_LIMIT: "0",
    ...settings,
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  const token = readFileSync(join(dataDir, "admin-token"), "utf8").trim();
  const call = async <Reply>(method: string, path: string, body?: object): Promise<Reply> => {
    const response = await fetch(`${program.url}${path.startsWith("/api/") ? "" : "/api/v1.2"}${path}`, {
      method,
      headers: { "X-AUTH-TOKEN": token, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Reply; // the caller knows the type of the reply
  };
  return {
    url: program.url,
    pid: program.pid,
    folder,
    dataDir,
    call,
    async run(command) {
      const { id } = await call<{ id: number }>("POST", "/commands", command);
      for (;;) {
        const { status } = await call<{ status: string }>("GET", `/commands/${id}?wait_seconds=60`);
        if (status === "done") return id;
        if (status !== "waiting" && status !== "running") throw new Error(`command ${id} ended as ${status}`);
      }
    },
    async stop() {
      await call("PUT", "/clusters/default/state", { state: "terminate", force: true });
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
