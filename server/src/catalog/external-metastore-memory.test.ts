import { afterEach, expect, test, vi } from "vitest";
import type { Reply } from "../../test/support/client.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { startThriftServer, type AnswerCall, type ThriftServer } from "../../test/thrift/thrift-server.ts";
import { renderReply } from "../engines/hive-thrift/codec/message.ts";
import { getAllTables } from "../engines/hive-thrift/hive-functions.ts";

const given = useServer();
const started: ThriftServer[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
});

const NAME_BYTES = 64 * 1024;
const NAMES = 384;
const LIST_MIB = (NAMES * NAME_BYTES) / 1024 / 1024;
const NODE_MIB = 256;

/** Sends 24 MiB of names after announcing a list of `announced` names. */
function sendNames(announced: number): AnswerCall {
  const name = Buffer.alloc(4 + NAME_BYTES, "n");
  name.writeInt32BE(NAME_BYTES);
  const count = Buffer.alloc(4);
  count.writeInt32BE(announced);
  return (socket, { sequence }) => {
    const noNames = renderReply(getAllTables, sequence, { success: [] });
    socket.write(Buffer.concat([noNames.subarray(0, -5), count]));
    for (let sent = 0; sent < NAMES; sent += 1) socket.write(name);
    if (announced === NAMES) socket.write(noNames.subarray(-1));
  };
}

async function accountsWith(answer: AnswerCall, count: number): Promise<AccountClient[]> {
  const server = await startThriftServer(answer);
  started.push(server);
  const accounts: AccountClient[] = [];
  for (let made = 0; made < count; made += 1) {
    const account = await given.account();
    await account.put("/api/v2/accounts", { account: { metastore_uri: `thrift://127.0.0.1:${server.port}` } });
    accounts.push(account);
  }
  return accounts;
}

test("endless lists of many accounts stay within a memory limit and leave room for another account", async () => {
  const greedy = await accountsWith(sendNames(2 ** 24), 7);
  const [other] = await accountsWith(
    (socket, { sequence }) => socket.write(renderReply(getAllTables, sequence, { success: ["orders"] })),
    1,
  );
  const refused: Reply[] = [];
  const lists = [...greedy, ...greedy].map(async (account) => {
    refused.push(await account.get("/hive/default").reply());
  });
  // A list that is not refused keeps everything it has received in memory.
  const fewest = lists.length - Math.floor(NODE_MIB / LIST_MIB);
  await vi.waitFor(() => expect(refused.length).toBeGreaterThanOrEqual(fewest), 60_000);
  for (const reply of refused) {
    expect(reply.body.error.error_message).toMatch(/^Too much data is being read from external metastores/);
    expect(reply.status).toBe(503);
    expect(reply.headers.get("retry-after")).toBe("5");
  }
  expect(refused.length).toBeLessThan(lists.length);
  expect(await other?.get("/hive/default")).toEqual(["orders"]);
  for (const server of started) server.cutAll();
  await Promise.all(lists);
}, 90_000);

test("the memory of a list is released when its request ends", async () => {
  const [account] = await accountsWith(sendNames(NAMES), 1);
  // One account may use half of the node's memory for such lists.
  for (let listed = 0; listed * LIST_MIB <= NODE_MIB / 2; listed += 1) {
    expect(await account?.get("/hive/default?filter=^orders$")).toEqual([]);
  }
}, 40_000);
