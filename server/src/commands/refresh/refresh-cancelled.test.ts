import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { textStorage } from "../../../test/support/hive-writer.ts";
import { startSilentServer } from "../../../test/silent-server/silent-server.ts";
import { startThriftServer, type AnswerCall } from "../../../test/thrift/thrift-server.ts";
import { storageFolder } from "../../accounts/account-storage.ts";
import { renderReply } from "../../engines/hive-thrift/codec/message.ts";
import { addPartitions, getPartitionNames, getTable } from "../../engines/hive-thrift/hive-functions.ts";

const given = useServer();

const PATIENCE = { timeout: 45_000, interval: 20 };
/** Each limit is below the timeout of the request that the refresh waits for. */
const PROMPT_MS = { connecting: 8000, greetingTls: 4000, asking: 20_000 };

const PROTOCOLS = [
  ["http", PROMPT_MS.asking],
  ["https", PROMPT_MS.greetingTls],
] as const;

interface Silent {
  readonly port: number;
  /** The refresh waits for it. */
  readonly isAsked: () => boolean;
  readonly open: () => number;
}

async function startSilent(): Promise<Silent> {
  const server = await startSilentServer();
  return { ...server, isAsked: () => server.open() > 0 };
}

/** A metastore with one table that stops answering at that call. */
async function startMetastore(location: string, silentAt: string | null): Promise<Silent> {
  const answer: AnswerCall = (socket, { name, sequence }) => {
    if (name === silentAt) return;
    if (name === getTable.name) {
      const table = {
        dbName: "default",
        tableName: "orders",
        sd: { ...textStorage([{ name: "id", type: "bigint" }]), location },
        partitionKeys: [{ name: "n", type: "int" }],
        parameters: new Map<string, string>(),
        tableType: "EXTERNAL_TABLE",
      };
      socket.write(renderReply(getTable, sequence, { success: { table } }));
    } else if (name === getPartitionNames.name) {
      socket.write(renderReply(getPartitionNames, sequence, { success: [] }));
    }
  };
  const server = await startThriftServer(answer);
  onTestFinished(() => server.stop());
  return {
    port: server.port,
    isAsked: () => silentAt !== null && server.calls.includes(silentAt),
    open: () => server.connections().open,
  };
}

async function expectCancelledWithin(limitMs: number, account: AccountClient, silent: Silent): Promise<void> {
  const { id } = await account.post("/commands", { template: "s3import", db_name: "default", hive_table: "orders" });
  await vi.waitFor(() => expect(silent.isAsked()).toBe(true), PATIENCE);
  const asked = performance.now();
  await account.put(`/commands/${id}`, { status: "kill" });
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "cancelled" });
  expect(performance.now() - asked).toBeLessThan(limitMs);
  await expect.poll(silent.open, { timeout: limitMs }).toBe(0); // who comes next has all of them
}

async function bring(account: AccountClient, { port }: { port: number }): Promise<void> {
  await account.put("/api/v2/accounts", { account: { metastore_uri: `thrift://127.0.0.1:${port}` } });
}

test("a refresh is cancelled at once while its metastore accepts connections but never answers", async () => {
  const silent = await startSilent();
  const account = await given.account();
  await bring(account, silent);
  await expectCancelledWithin(PROMPT_MS.connecting, account, silent);
});

test.each([getTable.name, getPartitionNames.name, addPartitions.name])(
  "a refresh is cancelled at once while its metastore does not answer %s",
  async (call) => {
    const account = await given.account();
    const folder = join(storageFolder(given.dataDir, account.accountId), "orders");
    for (const n of [1, 2, 3]) mkdirSync(join(folder, `n=${n}`), { recursive: true });
    const metastore = await startMetastore(`file:${folder}`, call);
    await bring(account, metastore);
    await expectCancelledWithin(PROMPT_MS.asking, account, metastore);
  },
);

test.each(PROTOCOLS)(
  "a refresh is cancelled at once while the HDFS of its table does not answer %s",
  async (protocol, limitMs) => {
    const silent = await startSilent();
    const account = await given.account();
    await bring(account, await startMetastore("hdfs://far/orders", null));
    const hdfs_http_address = `${protocol}://127.0.0.1:${silent.port}`;
    await account.put("/api/v2/accounts", { account: { hdfs_http_address } });
    await expectCancelledWithin(limitMs, account, silent);
  },
);

test.each(PROTOCOLS)(
  "a refresh is cancelled at once while the S3 of its table does not answer %s",
  async (protocol, limitMs) => {
    const silent = await startSilent();
    const account = await given.account();
    await bring(account, await startMetastore("s3a://bucket/orders", null));
    await account.put("/api/v2/accounts", {
      account: {
        storage_access_key: "key",
        storage_secret_key: "secret",
        storage_endpoint: `${protocol}://127.0.0.1:${silent.port}`,
      },
    });
    await expectCancelledWithin(limitMs, account, silent);
  },
);
