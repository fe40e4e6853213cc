import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { commandFiles } from "../../src/commands/execution/command-files.ts";
import { listProcesses } from "../../src/lib/process-table.ts";
import { repositoryDir } from "./repository-dir.ts";
import type { Installation } from "./stub-installation.ts";

/**
 * An attack of `intruder.py` with its arguments. `<attempt>` and `<account>` are the intruder's own folders inside the
 * sandbox, `<outside>` is the real folder of its attempt.
 */
type Deed = readonly (string | number)[];

export interface IntrusionPlan {
  readonly attempts: readonly Deed[];
  readonly linkedFile: string;
  readonly linkedFolder: string;
}

export const databasePortOf = ({ dataDir }: Installation): number =>
  Number(readFileSync(join(dataDir, "postgres/port"), "utf8"));

/** Everything that the intruder could reach and that exists during the attack. The victim is a command of account 1. */
export async function planIntrusion(installation: Installation, victimId: number): Promise<IntrusionPlan> {
  const { base, dataDir } = installation;
  const theirs = [join(base, "headgate.env"), ...filesOfServer(dataDir), ...filesOfVictim(dataDir, victimId)];
  for (const path of theirs) expect(existsSync(path), path).toBe(true);
  const runners =
    "spec.json status.json taken cancel order.json output log runner.err environment.json descriptor3".split(" ");
  const ofOwnRunner = runners.flatMap((name) => [`<attempt>/${name}`, `<outside>/${name}`]);
  const readable = [...theirs, ...ofOwnRunner, "/etc/shadow", "/dev/mem", "/dev/tty", "/dev/kmsg"];
  const kernel = ["sys/kernel/core_pattern", "sys/kernel/msgmnb", "sysrq-trigger", "self/oom_score_adj"];
  const machine = ["/", "/etc", "/usr", "/var", ...kernel.map((name) => `/proc/${name}`)];
  const around = [
    // Files inside these folders, which may be below /tmp: the intruder has its own /tmp, where it can create any name.
    join(inject("postgres").cacheDir, "intruder-was-here"),
    join(repositoryDir, "intruder-was-here"),
    base,
    dataDir,
    "<account>",
    "<attempt>",
    "<attempt>/input",
  ];
  const writable = [...theirs, ...ofOwnRunner, ...machine, ...around, "<attempt>/input/program.sh"];
  const movable = ["<attempt>/work", "<attempt>/input/program.sh", "<account>/storage", join(dataDir, "keys")];
  return {
    attempts: [
      ...[dataDir, join(dataDir, "accounts"), "<account>"].map((path) => ["list", path]),
      ...readable.map((path) => ["read", path]),
      ...writable.map((path) => ["write", path]),
      ...movable.map((path) => ["remove", path]),
      ...(await deedsOnProcesses()),
      ...deedsOnPorts(installation, victimId),
    ],
    linkedFile: join(dataDir, "admin-token"),
    linkedFolder: dataDir,
  };
}

function filesOfServer(dataDir: string): string[] {
  const own = ["keys", "admin-token", "headgate.lock", "node-id", "node-lease"];
  const database = [
    "",
    "port",
    "data",
    "data/PG_VERSION",
    "secrets/passwords.json",
    "pg_hba.conf",
    "server.log",
    "run",
  ];
  return [...own, ...database.map((name) => join("postgres", name))].map((name) => join(dataDir, name));
}

function filesOfVictim(dataDir: string, commandId: number): string[] {
  const files = commandFiles(dataDir, 1, commandId);
  const { folder, spec, status, output, log, work } = files.attempt(1);
  const account = join(dataDir, "accounts/1");
  return [account, join(account, "storage"), join(account, "storage/private"), files.folder, folder].concat([
    spec,
    status,
    output,
    log,
    work,
    join(folder, "input/program.sh"),
  ]);
}

/** The pids in a sandbox begin with 1 too. */
async function deedsOnProcesses(): Promise<Deed[]> {
  const others = (await listProcesses()).map(({ pid }) => pid).filter((pid) => pid > 20);
  return others.flatMap((pid) => [
    ["signal", pid],
    ["look_into", pid],
  ]);
}

function deedsOnPorts(installation: Installation, victimId: number): Deed[] {
  const port = databasePortOf(installation);
  const apiPort = Number(new URL(installation.headgate.url).port);
  const users = ["headgate", "postgres", "nobody", "root"];
  const paths = ["/api/v1.2/commands", `/api/v1.2/commands/${victimId}`, "/api/v2/accounts", "/api/v2/nodes"];
  return [
    ["connect_to_file", join(installation.dataDir, `postgres/run/.s.PGSQL.${port}`)],
    ...users.flatMap((user) => ["headgate", "postgres"].map((database) => ["log_in", port, user, database])),
    ...paths.map((path) => ["call_api", apiPort, path]),
  ];
}
