import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";

const given = useSharedServer();

test("an Idempotency-Key works with a path of any length", async () => {
  const account = await given.account();
  const { id } = await account.get("/groups/everyone");
  const path = `/groups/${unpackableBlanks(4000)}${id}/duplicate`;
  const headers = { "Idempotency-Key": "k".repeat(255) };
  const first = await account.post(path, { name: "staff" }, { headers });
  expect(await account.post(path, { name: "staff" }, { headers })).toEqual(first);
  await account.post(`/groups/%20${id}/duplicate`, { name: "staff" }, { headers }).refused(409, /staff/);
});

/** White space around an id, in an order that the database cannot compress into an index row. */
function unpackableBlanks(count: number): string {
  const blanks = ["%20", "%09", "%0A", "%0a", "%0B", "%0b", "%0C", "%0c", "%0D", "%0d"];
  const bytes = createHash("shake256", { outputLength: count }).update("blanks").digest();
  return [...bytes].map((byte) => blanks[byte % blanks.length]).join("");
}
