import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { call } from "./call-as-attacker.ts";
import { ClientProcess } from "./client-process.ts";
import { byConnectServer } from "./connect-attack.ts";
import { programsFolder, type Installation } from "./installation.ts";
import type { MixedTask } from "./mixed-work.ts";
import type { Counts, RequestAttack } from "./request-attacks.ts";
import { send } from "./send-request.ts";

/** One way in which a tenant tries to disturb others. */
export interface Attack {
  readonly does: string;
  /** Creates the processes and accounts that the attack needs. */
  readonly prepare: (installation: Installation) => Promise<RunAttack>;
}

/** Settles when the attack is over, with a description of its end. */
export type RunAttack = (seconds: number) => Promise<string>;

/** Limits of the attacks, to protect the machine. */
const MAX = {
  processes: 1500,
  sessions: 30,
  memoryMiB: 2048,
  diskMB: 3000,
  files: 200_000,
  sockets: 10_000,
  waits: 4000,
};
const OTHER_ACCOUNTS = 12;
/** Longer than all measurements of one attack; the end of the benchmark ends the program. */
const COMMAND_SECONDS = 3600;
const END_PATIENCE_MS = 30_000;
/** Begins the lines in which programs report their progress. */
const REPORT_PREFIX = "attack: ";

const single: Readonly<Record<string, Attack>> = {
  mixed: { does: "8 clients of ordinary work", prepare: byRequests("mixed", 8) },
  fork: { does: `${MAX.processes} processes that compute`, prepare: byProgram("fork.py", [MAX.processes]) },
  sessions: { does: `${MAX.sessions} sessions that compute`, prepare: byProgram("fork.py", [MAX.sessions, 1]) },
  memory: { does: `${MAX.memoryMiB} MiB of memory`, prepare: byProgram("memory.py", [MAX.memoryMiB]) },
  disk: { does: `${MAX.diskMB} MB of output and files`, prepare: byProgram("disk.py", [MAX.diskMB]) },
  leftovers: { does: `${MAX.files} files left behind`, prepare: byProgram("leftovers.py", [MAX.files]) },
  "event-log": { does: "an event log that is costly to read", prepare: byProgram("event-log.py", [100_000, 15_000]) },
  bodies: { does: "20 submissions of 30 MB at the same time", prepare: byRequests("bodies", 20) },
  sockets: { does: `${MAX.sockets} idle connections`, prepare: byRequests("sockets", MAX.sockets) },
  waits: { does: `${MAX.waits} connections with wait_seconds=60`, prepare: byWaits(MAX.waits) },
  submissions: { does: "32 clients that submit", prepare: byRequests("submissions", 32) },
  listing: { does: "32 clients that list, in 13 accounts", prepare: byRequests("listing", 32) },
  "connect-messages": { does: "messages of a hostile Spark Connect server", prepare: byConnectServer(4) },
};

const together: readonly Attack["prepare"][] = [
  byProgram("fork.py", [MAX.processes / 3]),
  byProgram("memory.py", [MAX.memoryMiB / 2]),
  byProgram("disk.py", [MAX.diskMB / 3]),
  byProgram("leftovers.py", [MAX.files / 4]),
  byProgram("event-log.py", [100_000, 5000]),
  byRequests("bodies", 6),
  byRequests("sockets", MAX.sockets / 3),
  byWaits(Math.ceil(MAX.waits / 3)),
  byRequests("submissions", 8),
  byRequests("listing", 8),
  byConnectServer(2),
];

export const attacks: Readonly<Record<string, Attack>> = {
  ...single,
  everything: {
    does: "all of these together, a third of each",
    prepare: async (installation) => {
      const runs = await Promise.all(together.map((prepare) => prepare(installation)));
      return async (seconds) => (await Promise.all(runs.map((run) => run(seconds)))).join("; ");
    },
  },
};

/** An attack by a command that runs one of `programs/`. */
function byProgram(file: string, args: readonly number[]): Attack["prepare"] {
  const code = readFileSync(join(programsFolder, file), "utf8");
  return async (installation) => async (seconds) => {
    const words = [seconds, ...args].join(" ");
    const program = `exec python3 - ${words} <<'END'\n${code}END\n`;
    const body = JSON.stringify({ command_type: "SparkCommand", language: "python", program });
    const { id, status } = await call(installation, "POST", "/commands", body);
    if (id === undefined) return `not submitted: ${status}`;
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      await call(installation, "GET", `/commands/${id}/jobs`);
      await delay(500);
    }
    return describeEnd(installation, id);
  };
}

async function describeEnd(installation: Installation, id: number): Promise<string> {
  const end = performance.now() + END_PATIENCE_MS;
  for (;;) {
    const { status = "", text } = await call(installation, "GET", `/commands/${id}`);
    if (/^(done|error|cancelled)$/.test(status)) break;
    if (performance.now() > end) {
      await call(installation, "PUT", `/commands/${id}`, "{}");
      return `still ${status === "" ? text : status} after its time: cancelled`;
    }
    await delay(200);
  }
  const { status = "" } = await call(installation, "GET", `/commands/${id}`);
  const { text: attempts } = await call(installation, "GET", `/commands/${id}/attempts`);
  const { text: log } = await call(installation, "GET", `/commands/${id}/logs`);
  const report = log.split("\n").findLast((line) => line.startsWith(REPORT_PREFIX));
  const cause = /"cause":"([^"]*)"/.exec(attempts)?.[1];
  return [status, cause, report?.slice(REPORT_PREFIX.length)].filter(Boolean).join(", ");
}

/** An attack by clients in a separate process. */
function byRequests(
  kind: RequestAttack["kind"] | MixedTask["kind"],
  parallel: number,
  more: Pick<RequestAttack, "commandId"> = {},
): Attack["prepare"] {
  return async (installation) => {
    const { url } = installation;
    const tokens = [installation.attacker.token, ...(kind === "listing" ? await makeAccounts(installation) : [])];
    const clients = new ClientProcess();
    await clients.ready;
    return async (seconds) => {
      try {
        return render(await clients.perform({ kind, url, tokens, parallel, seconds, ...more }));
      } finally {
        clients.close();
      }
    };
  };
}

/** An attack by requests that wait for the end of a command, which starts before the measurement. */
function byWaits(parallel: number): Attack["prepare"] {
  return async (installation) => {
    const program = `exec sleep ${COMMAND_SECONDS}`;
    const body = JSON.stringify({ command_type: "SparkCommand", language: "python", program });
    const { id: commandId, text } = await call(installation, "POST", "/commands", body);
    if (commandId === undefined) throw new Error(`the command was not submitted: ${text}`);
    return byRequests("waits", parallel, { commandId })(installation);
  };
}

/** Creates as many accounts as the server allows one user. */
async function makeAccounts({ url, attacker }: Installation): Promise<string[]> {
  const tokens: string[] = [];
  for (let index = 0; index < OTHER_ACCOUNTS; index += 1) {
    const body = JSON.stringify({ account: { name: `Attacker ${index}` } });
    const { status, text } = await send(url, { method: "POST", path: "/account", token: attacker.token, body });
    if (status !== "200") break;
    tokens.push((JSON.parse(text) as { authentication_token: string }).authentication_token);
  }
  return tokens;
}

function render(counts: Counts): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} × ${what}`)
    .join(", ");
}
