/**
 * `node bench/start/run.ts`: seconds from `npm start` to ready, for the first and second start with a data directory,
 * and the resident memory of the whole idle process tree: npm, the server and PostgreSQL.
 */
import "../run-folder.ts";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProgram } from "../program.ts";

const IDLE_SECONDS = 20;
const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
chmodSync(folder, 0o755);
const dataDir = join(folder, "data");

try {
  for (const run of ["first", "second"]) {
    const headgate = await startProgram("npm", ["start"], /ready at (\S+)/, {
      HEADGATE_DATA_DIR: dataDir,
      HEADGATE_PORT: "0",
    });
    console.log(`${run} start to ready: ${(headgate.millisecondsToReady / 1000).toFixed(2)} s`);
    if (run === "second") {
      await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1000));
      report([...descendants(headgate.pid), ...ofDatabase(dataDir)]);
    }
    await headgate.stop();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function report(pids: readonly number[]): void {
  let [resident, proportional] = [0, 0];
  for (const pid of new Set(pids)) {
    const memory = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    const megabytes = (field: string): number =>
      Number(new RegExp(`^${field}: +(\\d+)`, "m").exec(memory)?.[1] ?? 0) / 1024;
    resident += megabytes("Rss");
    proportional += megabytes("Pss");
    console.log(
      `  ${megabytes("Rss").toFixed(0).padStart(4)} MB resident, ${megabytes("Pss").toFixed(0).padStart(4)} MB its share: ${commandOf(pid)}`,
    );
  }
  console.log(
    `idle process tree: ${resident.toFixed(0)} MB resident, ${proportional.toFixed(0)} MB counting shared pages once`,
  );
}

function processes(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function descendants(root: number): number[] {
  const children = processes().filter((pid) => parentOf(pid) === root);
  return [root, ...children.flatMap(descendants)];
}

/** PostgreSQL has its own session, so its processes are found by the pid file in the data directory. */
function ofDatabase(directory: string): number[] {
  const [pid] = readFileSync(join(directory, "postgres/data/postmaster.pid"), "utf8").split("\n");
  return descendants(Number(pid));
}

function parentOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0; // ended since it was listed
  }
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 70);
}
