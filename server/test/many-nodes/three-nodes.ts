/** Three nodes on one database, and what the tests in this folder do with them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import type { Queryable } from "../../src/db/database.ts";
import { useSeaweedFs } from "../seaweedfs/seaweedfs.ts";
import { scriptConnect, type ScriptedConnect } from "../support/scripted-connect.ts";
import { copyEnd, printReport, submitCopy } from "../support/stub-copy.ts";
import { useNodes, type Nodes } from "../support/use-nodes.ts";

const NAMES = ["runner", "other", "third"] as const;
export type Name = (typeof NAMES)[number];

export const PATIENCE = { timeout: 45_000 };
/** Much less than the timeout of a statement that never ends. */
export const PROMPT_MS = 9000;
export const PROXY_SECRET = "p".repeat(32);

/** Before each test only the node `runner` takes commands. */
export interface ThreeNodes extends Pick<Nodes<Name>, "at" | "idOf"> {
  readonly nodes: Nodes<Name>;
  /** While this file exists, nodes without heartbeats become silent within seconds. */
  readonly silenceFile: () => string;
  readonly db: () => Queryable;
  /** A new location on S3. */
  readonly newS3Folder: () => Promise<string>;
  readonly setDefloc: (defloc: string) => Promise<void>;
  readonly setState: (name: Name, state: string) => Promise<void>;
  /** The final status of a command. */
  readonly ended: (id: number) => Promise<string>;
  readonly text: (through: Name, path: string) => Promise<string>;
  /** Makes the next attempts of these commands due. */
  readonly makeDue: (ids: readonly number[]) => Promise<void>;
  readonly createApp: () => Promise<number>;
  /** Starts a query that runs on that node until it is ended. */
  readonly queryOn: (name: Name, appId: number) => Promise<number>;
  readonly appStatuses: (appId: number, of?: readonly Name[]) => Promise<string[]>;
  /** Copies whose first attempt has failed on the node `runner`, and whose next one is not due yet. */
  readonly submitCopies: (count: number) => Promise<number[]>;
}

/** Hooks cannot use `expect.poll`. */
export const until = (check: () => Promise<void> | void): Promise<void> => vi.waitFor(check, PATIENCE);

/** The first attempt leaves a mark in the journal's folder and fails; the next one succeeds only where the mark is. */
const CONTINUES = `
  journal=$(sed -n 's/.*"journalFolder":"\\([^"]*\\)".*/\\1/p' "$REQUEST")
  if [ -e "$journal/mark" ]; then ${printReport(copyEnd())}; else touch "$journal/mark"; exit 1; fi`;

const silenceIn = (folder: string): string => join(folder, "silence");

function settingsIn(folder: string): Record<string, string> {
  const secretFile = join(folder, "proxy-secret");
  writeFileSync(secretFile, PROXY_SECRET, { mode: 0o600 });
  return {
    HEADGATE_TRUSTED_PROXIES: "127.0.0.1",
    HEADGATE_PROXY_SECRET_FILE: secretFile,
    HEADGATE_LEASE_SECONDS: "20", // each node checks the others once a second
    TEST_SILENCE: silenceIn(folder),
    TEST_STUB_COPIES: "1",
  };
}

export function useThreeNodes(): ThreeNodes {
  const seaweedFs = useSeaweedFs();
  const nodes = useNodes(NAMES, settingsIn);
  const { at, idOf } = nodes;
  const db = (): Queryable => nodes.db.system;

  let connect: ScriptedConnect;
  beforeAll(async () => {
    // Every statement runs for ever.
    connect = await scriptConnect(Array.from({ length: 100 }, () => ["stay"] as const));
    const engine = { type: "connect", url: `sc://127.0.0.1:${connect.port}` };
    await at("other").post("/api/v2/clusters", { labels: ["remote"], engine });
  });
  afterAll(() => connect.stop());

  beforeAll(() => nodes.onlyOn("runner"));
  afterEach(() => nodes.onlyOn("runner"));

  return {
    nodes,
    at,
    idOf,
    silenceFile: () => silenceIn(nodes.folder),
    db,
    newS3Folder: async () => `s3://${await seaweedFs.bucket()}/x`,
    async setDefloc(defloc) {
      const { endpoint, credentials } = seaweedFs;
      await at("other").put("/api/v2/accounts", {
        account: {
          defloc,
          storage_access_key: credentials.accessKeyId,
          storage_secret_key: credentials.secretAccessKey,
          storage_endpoint: endpoint,
        },
      });
    },
    async setState(name, state) {
      await db().query("update node set state = $2 where id = $1", [idOf(name), state]);
    },
    async ended(id) {
      return (await at("other").get(`/commands/${id}?wait_seconds=45`)).status;
    },
    async text(through, path) {
      const reply = await at(through).get(path).reply();
      expect(reply.status, reply.text).toBe(200);
      return reply.text;
    },
    async makeDue(ids) {
      await db().query("update command set due_at = now() where id = any ($1)", [ids]);
    },
    async createApp() {
      return (await at("other").post("/api/v2/apps", { name: "reports" })).id;
    },
    async queryOn(name, appId) {
      await nodes.onlyOn(name);
      const started = connect.starts.length;
      const { id } = await at("third").post("/commands", {
        command_type: "SparkCommand",
        sql: "select 1",
        label: "remote",
        app_id: appId,
      });
      await until(() => expect(connect.starts.length).toBeGreaterThan(started));
      expect(await db().query("select from command where id = $1 and node_id = $2", [id, idOf(name)])).toHaveLength(1);
      return id;
    },
    appStatuses: (appId, of = NAMES) =>
      Promise.all(of.map(async (name) => (await at(name).get(`/api/v2/apps/${appId}`)).status)),
    async submitCopies(count) {
      const ids: number[] = [];
      for (let each = 0; each < count; each += 1)
        ids.push(await submitCopy(at("other"), CONTINUES, { retry: 1, retry_delay: 5 }));
      const failed =
        "select id from command where id = any ($1) and attempt = 1 and status = 'running' and node_id is null";
      await until(async () => expect(await db().query(failed, [ids])).toHaveLength(count));
      return ids;
    },
  };
}
