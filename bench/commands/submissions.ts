import { writeFileSync } from "node:fs";
import { join } from "node:path";
import autocannon from "autocannon";
import { recordAudit } from "../../server/src/access/audit/store.ts";
import { authenticate } from "../../server/src/access/store.ts";
import { insertCommand, reserveCommand, type NewCommand } from "../../server/src/commands/store/submission.ts";
import { openDatabase } from "../../server/src/db/database.ts";
import type { ScratchStore } from "../../server/test/support/scratch-store.ts";
import { recorded, RESERVED_ID, type BenchOperation } from "../http/record-statements.ts";
import { costOfOne, median } from "../measure.ts";
import { startProgram, type Program } from "../program.ts";
import { startBenchNode, type BenchNode } from "./bench-node.ts";

const CLIENTS = [1, 16, 64];
const ROUNDS = 15;
const COUNTED_REQUESTS = 200;
const PATH = "/api/v1.2/commands";
const PROGRAM = "sleep 3600";
const BODY = { command_type: "SparkCommand", language: "python", program: PROGRAM, name: "bench", tags: ["nightly"] };

/**
 * POST commands compared with a bare Fastify handler that sends the same SQL: rounds alternate, and the ratio is the
 * median of theirs. The queue runs meanwhile; its only slot is occupied, so submissions wait in it.
 */
export async function benchSubmissions(store: ScratchStore, seconds: number): Promise<void> {
  const node = await startBenchNode(store, "submissions", { HEADGATE_COMMANDS_PER_CLUSTER: "1" });
  let bare: Program | undefined;
  try {
    const holder = await node.submit(BODY);
    bare = await startBareServer(node, store.dataDir);
    const costs = await costOfOne(node.url, node.sql, COUNTED_REQUESTS, async () => void (await node.submit(BODY)));
    console.log(
      `a submission: ${costs.roundTrips.toFixed(2)} round trips and ${costs.walFlushes.toFixed(2)} WAL flushes, ` +
        "including those of the queue",
    );
    for (const clients of CLIENTS) {
      const { ours, floor, ratio } = await compare(node, bare, clients, seconds);
      console.log(
        `submissions by ${clients} clients: ${Math.round(ours)}/s, bare Fastify with the same SQL ${Math.round(floor)}/s, ` +
          `ratio ${ratio.toFixed(2)}`,
      );
    }
    await node.cancel(holder);
  } finally {
    await bare?.stop();
    await node.stop();
  }
}

interface Comparison {
  ours: number;
  floor: number;
  /** The median ratio of consecutive measurements, so that other load on the machine affects both. */
  ratio: number;
}

async function compare(node: BenchNode, bare: Program, clients: number, seconds: number): Promise<Comparison> {
  const rounds: [ours: number, floor: number][] = [];
  const { token } = node.account;
  for (let round = -1; round < ROUNDS; round += 1) {
    const ours = await load(node.url, token, clients, seconds);
    const floor = await load(bare.url, token, clients, seconds);
    if (round >= 0) rounds.push([ours, floor]);
  }
  return {
    ours: median(rounds.map(([ours]) => ours)),
    floor: median(rounds.map(([, floor]) => floor)),
    ratio: median(rounds.map(([ours, floor]) => ours / floor)),
  };
}

async function load(url: string, token: string, connections: number, duration: number): Promise<number> {
  const result = await autocannon({
    url: `${url}${PATH}`,
    method: "POST",
    headers: { "X-AUTH-TOKEN": token, "Content-Type": "application/json" },
    body: JSON.stringify(BODY),
    connections,
    duration,
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return result["2xx"] / result.duration;
}

async function startBareServer({ account, connection }: BenchNode, folder: string): Promise<Program> {
  const db = openDatabase({ ...connection, max: 1 });
  const command = storedCommand(account.userId);
  const known = await authenticate(db.system, account.token, { address: "127.0.0.1", requestId: "bench" }, ["cluster"]);
  const reserved = await reserveCommand(db.system, account.accountId, command);
  await db.close();
  if (known === undefined || reserved === undefined) throw new Error("the token or the cluster is unknown");
  const { caller } = known;
  const [identify] = await recorded((tx) =>
    authenticate(tx, account.token, { address: "127.0.0.1", requestId: "bench" }, ["cluster"]),
  );
  const [reserve] = await recorded((tx) => reserveCommand(tx, account.accountId, command));
  if (identify === undefined || reserve === undefined) throw new Error("a statement was not recorded");
  const submit: BenchOperation = {
    name: "POST commands",
    method: "POST",
    path: PATH,
    identify,
    reserve,
    begin: `begin; set local role headgate_account; set local headgate.account_id = ${account.accountId}`,
    statements: await recorded(async (tx) => {
      insertCommand(tx, command, { ...reserved, id: RESERVED_ID });
      recordAudit(tx, caller, "command_submit", "command/1");
    }),
  };
  const recordingFile = join(folder, "recording.json");
  writeFileSync(recordingFile, JSON.stringify({ connection, operations: { submit } }), { mode: 0o600 });
  return startProgram(process.execPath, ["bench/http/bare-server.ts", recordingFile], /ready at (\S+)/, {});
}

/** The command that the handler stores for `BODY`. */
function storedCommand(userId: number): NewCommand {
  return {
    userId,
    label: "default",
    kind: "program",
    commandType: "SparkCommand",
    command: {
      program: PROGRAM,
      sql: null,
      cmdline: null,
      script_location: null,
      language: "python",
      arguments: null,
      user_program_arguments: null,
      app_id: null,
      note_id: null,
      retry: null,
      retry_delay: null,
    },
    secrets: null,
    options: null,
    name: BODY.name,
    template: "generic",
    pool: null,
    appId: null,
    lane: "program",
    statedMemoryMiB: 0,
    timeoutSeconds: null,
    macros: null,
    resolvedMacros: null,
    canNotify: false,
    requestId: "00000000-0000-4000-8000-000000000000",
    retry: 0,
    retryDelayMinutes: 0,
    tags: BODY.tags,
    source: { original: null, resolved: PROGRAM },
  };
}
