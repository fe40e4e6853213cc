import "../run-folder.ts";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { seedHistory } from "../commands/seed-history.ts";
import { percentile } from "../measure.ts";
import { attacks, type Attack } from "./attacks.ts";
import { ClientProcess } from "./client-process.ts";
import { openInstallation, type Installation } from "./installation.ts";
import type { SteadyResult } from "./steady-requests.ts";

const HELP = `npm run bench:neighbours -- [--only WAY]… [--seconds 20] [--profile FOLDER]

Measures GET account of one tenant, first idle and then while another tenant of the same server attacks it. Each way of
attack runs on a fresh server. The limit of the p99 is the larger of three times idle and idle + 50 ms. Programs run in
the sandbox, so bubblewrap is needed.
With --profile, a CPU profile of the server during each attack is written to the folder.

Ways:
${Object.entries(attacks)
  .map(([way, { does }]) => `  ${way.padEnd(16)} ${does}`)
  .join("\n")}
`;

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    seconds: { type: "string", default: "20" },
    profile: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds);
const unknown = values.only.filter((way) => !(way in attacks));
if (unknown.length > 0)
  throw new Error(`unknown way: ${unknown.join(" ")}; use one of ${Object.keys(attacks).join(", ")}`);

/** The pause after the start of the server and after an attack. */
const CALM_SECONDS = 2;
const WARM_UP_SECONDS = 4;
/** If the p99 without an attack is above this, the machine is busy otherwise and the measurement is invalid. */
const QUIET_MS = 50;
/** The number of commands in the attacker's history, for listing. */
const HISTORY = 20_000;

let open: Installation | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void Promise.resolve(open?.close()).finally(() => process.exit(1)));
}

if (values.help) process.stdout.write(HELP);
else await measureAll();

async function measureAll(): Promise<void> {
  console.log(
    "way              p50     p99     max     failed  idle p99 before/after  ratio   limit   holds  loop lag p99/max",
  );
  let isWithin = true;
  for (const [way, attack] of Object.entries(attacks)) {
    if (values.only.length > 0 && !values.only.includes(way)) continue;
    isWithin = (await measure(way, attack)) && isWithin;
  }
  process.exitCode = isWithin ? 0 : 1;
}

async function measure(way: string, attack: Attack): Promise<boolean> {
  open = await openInstallation(values.profile);
  const clients = new ClientProcess();
  try {
    await clients.ready;
    await seedHistory({ sql: open.sql, account: open.attacker }, HISTORY);
    const { url, neighbour } = open;
    const steady = (): Promise<SteadyResult> =>
      clients.perform({ kind: "steady", url, token: neighbour.token, seconds });
    await warmUp(open);
    const run = await attack.prepare(open);
    const before = await steady();
    await readLag(open);
    toggleProfile(open);
    const [meanwhile, ended] = await Promise.all([steady(), run(seconds)]);
    const lag = await readLag(open);
    toggleProfile(open);
    await calmDown(open);
    const after = await steady();
    return report(way, { before, meanwhile, after, lag, ended });
  } finally {
    clients.close();
    await open.close();
    open = undefined;
  }
}

/** Lets the JIT compile the code of a new server. */
async function warmUp({ url, attacker }: Installation): Promise<void> {
  const clients = new ClientProcess();
  try {
    await clients.ready;
    await clients.perform({ kind: "mixed", url, tokens: [attacker.token], parallel: 4, seconds: WARM_UP_SECONDS });
  } finally {
    clients.close();
  }
  await delay(CALM_SECONDS * 1000);
}

function toggleProfile({ pid }: Installation): void {
  if (values.profile !== undefined) process.kill(pid, "SIGUSR2");
}

/** Cancels the attacker's waiting commands. */
async function calmDown({ sql, attacker }: Installation): Promise<void> {
  const waiting = "status = 'waiting' and account_id = $1";
  await sql.query(`update command set status = 'cancelled', end_time = now() where ${waiting}`, [attacker.accountId]);
  await delay(CALM_SECONDS * 1000);
}

interface Lag {
  readonly p99: number;
  readonly max: number;
}

/** The lag of the server's event loop since the last call, in milliseconds. */
async function readLag({ url }: Installation): Promise<Lag> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = (name: string): number =>
    1000 * Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, "m").exec(text)?.[1]);
  return { p99: value("p99"), max: value("max") };
}

interface Measured {
  readonly before: SteadyResult;
  readonly meanwhile: SteadyResult;
  readonly after: SteadyResult;
  readonly lag: Lag;
  readonly ended: string;
}

function report(way: string, { before, meanwhile, after, lag, ended }: Measured): boolean {
  const p99 = ({ milliseconds }: Pick<SteadyResult, "milliseconds">): number => percentile(milliseconds, 0.99);
  const idle = p99({ milliseconds: [...before.milliseconds, ...after.milliseconds] });
  const limit = Math.max(3 * idle, idle + 50);
  const failed = Object.values(meanwhile.failures).reduce((sum, count) => sum + count, 0);
  const isQuiet = idle <= QUIET_MS;
  const holds = isQuiet && p99(meanwhile) <= limit && failed === 0;
  const ms = (value: number): string => value.toFixed(value < 100 ? 1 : 0);
  const cells: [string, number][] = [
    [way, 17],
    [ms(percentile(meanwhile.milliseconds, 0.5)), 8],
    [ms(p99(meanwhile)), 8],
    [ms(Math.max(...meanwhile.milliseconds)), 8],
    [failed === 0 ? "0" : JSON.stringify(meanwhile.failures), 8],
    [`${ms(p99(before))} / ${ms(p99(after))}`, 23],
    [(p99(meanwhile) / idle).toFixed(1), 8],
    [ms(limit), 8],
    [isQuiet ? (holds ? "yes" : "NO") : "noise", 7],
    [`${ms(lag.p99)} / ${ms(lag.max)}`, 0],
  ];
  console.log(cells.map(([text, width]) => text.padEnd(width)).join(""));
  console.log(`                 it ended: ${ended}`);
  return holds;
}
