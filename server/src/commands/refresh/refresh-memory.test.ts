import { afterAll, beforeAll, expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { startThriftServer, type ThriftServer } from "../../../test/thrift/thrift-server.ts";

const given = useServer({ settings: { HEADGATE_MEMORY_BUDGET: "150m" } });
let isSilent = true;
let silent: ThriftServer;
beforeAll(async () => {
  silent = await startThriftServer((socket) => void (isSilent || socket.destroy()));
});
afterAll(() => silent.stop());

test("refreshes count against the node's memory: as many run as fit, and the next one says why it waits", async () => {
  const account = await given.account();
  await account.put("/api/v2/accounts", { account: { metastore_uri: `thrift://127.0.0.1:${silent.port}` } });
  const submit = async (): Promise<number> =>
    (await account.post("/commands", { template: "s3import", db_name: "default", hive_table: "t" })).id;
  const running = [await submit(), await submit()];
  for (const id of running) {
    await expect.poll(() => account.get(`/commands/${id}`)).toMatchObject({ status: "running" });
  }
  const id = await submit();
  await expect
    .poll(() => account.get(`/commands/${id}`))
    .toMatchObject({ status: "waiting", waiting_reason: "the memory of the node is taken by other commands" });
  await account.put(`/commands/${running.shift()}`, { status: "kill" });
  await expect.poll(() => account.get(`/commands/${id}`)).toMatchObject({ status: "running" });
  isSilent = false;
  silent.cutAll();
  for (const each of [...running, id]) {
    await expect
      .poll(() => account.get(`/commands/${each}`))
      .toMatchObject({ status: "error", start_time: expect.any(String) });
  }
});
