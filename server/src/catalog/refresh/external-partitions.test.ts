import { afterEach, expect, test } from "vitest";
import { startThriftServer, type ThriftServer } from "../../../test/thrift/thrift-server.ts";
import { renderReply } from "../../engines/hive-thrift/codec/message.ts";
import { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { getPartitionNames } from "../../engines/hive-thrift/hive-functions.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { ExternalPartitions } from "./external-partitions.ts";

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

/** A metastore that returns these partition names for any table. */
async function metastoreWith(success: readonly string[]): Promise<{ server: ThriftServer; client: HiveClient }> {
  const server = await startThriftServer((socket, call) => {
    socket.write(renderReply(getPartitionNames, call.sequence, { success }));
  });
  const client = new HiveClient({ host: "127.0.0.1", port: server.port, checkAddress: () => null, user: "us" });
  opened.push(client, { close: () => server.stop() });
  return { server, client };
}

const TABLE: Pick<CatalogTable, "schema" | "name" | "partitionKeys"> = {
  schema: "default",
  name: "t",
  partitionKeys: [{ name: "n", type: "string", comment: null }],
};
// The other fields are not used.
const partitionsIn = (client: HiveClient) => new ExternalPartitions(client, TABLE as CatalogTable);
const found = (value: string) => ({ values: [value], location: `s3a://bucket/t/n=${value}` });
const soon = (): AbortSignal => AbortSignal.timeout(30_000);

test("the partition names of an external metastore are read once", async () => {
  const { server, client } = await metastoreWith(Array.from({ length: 1000 }, (_, n) => `n=${n}`));
  const partitions = partitionsIn(client);
  expect(await partitions.missing([found("999"), found("1000")], soon())).toEqual([found("1000")]);
  expect(await partitions.missing([found("0"), found("new")], soon())).toEqual([found("new")]);
  expect(server.calls).toEqual([getPartitionNames.name]);
});

test("more names than a refresh may hold are refused without a retry, with a remedy", async () => {
  const names = Array.from({ length: 150_000 }, (_, n) => `n=${String(n).padStart(200, "0")}`);
  const { server, client } = await metastoreWith(names);
  await expect(partitionsIn(client).missing([found("1")], soon())).rejects.toMatchObject({
    code: "invalid",
    publicMessage: expect.stringMatching(
      /^The table default\.t has more partitions .* more than 32 MB.*refresh_engine/,
    ),
  });
  expect(server.calls, "no retry: the answer would be as long").toHaveLength(1);
});
