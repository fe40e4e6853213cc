import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { newKey, KeyRing, type Key } from "../lib/key-ring.ts";
import { openDatabase, type Database, type Queryable } from "./database.ts";
import { countSealedBefore, reseal } from "./reseal.ts";
import { sealContext, type SealedColumn } from "./sealed-column.ts";

const first = newKey([]);
const second = newKey([first]);
const oldRing = ringOf(first);
const newRing = ringOf(first, second);
const column: SealedColumn = { table: "thing", column: "secret", accountColumn: "account_id" };
const columns = [column];

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.connection);
  await db.system.query("create table thing (id bigint primary key, account_id bigint not null, secret bytea)");
  await db.system.query("create index on thing (substring(secret from 1 for 4)) where secret is not null");
});
beforeEach(() => db.system.query("truncate thing"));
afterAll(async () => {
  await db.close();
  await database.drop();
});

function ringOf(...keys: Key[]): KeyRing {
  return new KeyRing(keys, () => keys);
}

/** Thing `id` belongs to account `id`. */
async function insert(ring: KeyRing, ...ids: number[]): Promise<void> {
  const sealed = ids.map((id) => ring.seal(Buffer.from(`secret of ${id}`), sealContext(column, id)));
  await db.system.query(
    "insert into thing select id, id, secret from unnest($1::bigint[], $2::bytea[]) n (id, secret)",
    [ids, sealed],
  );
}

async function secrets(ring: KeyRing): Promise<string[]> {
  const rows = await db.system.query<{ id: number; secret: Buffer }>(
    "select id, secret from thing where secret is not null order by id",
  );
  return rows.map(({ id, secret }) => ring.open(secret, sealContext(column, id)).toString());
}

/** Runs `work` between the statement that reads a batch and the one that replaces it. */
function beforeReplacing(work: () => Promise<unknown>): Queryable {
  return {
    query: async (text, values) => {
      if (text.includes("update thing")) await work();
      return db.system.query(text, values);
    },
  };
}

describe("reseal", () => {
  test("seals every value with the newest key in small batches, so that the old key can be removed", async () => {
    await insert(oldRing, 1, 2, 3, 4, 5);
    await insert(newRing, 6);
    await db.system.query("insert into thing values (7, 7, null)");
    expect(await countSealedBefore(db.system, columns, second.id)).toBe(5);

    expect(await reseal({ system: db.system, keys: newRing, columns, batch: 2 })).toEqual({ resealed: 5, left: 0 });

    expect(await countSealedBefore(db.system, columns, second.id)).toBe(0);
    expect(await secrets(ringOf(second))).toEqual([1, 2, 3, 4, 5, 6].map((id) => `secret of ${id}`));
    expect(await reseal({ system: db.system, keys: newRing, columns })).toEqual({ resealed: 0, left: 0 });
  });

  test("leaves the values of a newer key alone", async () => {
    await insert(newRing, 1);
    expect(await reseal({ system: db.system, keys: oldRing, columns })).toEqual({ resealed: 0, left: 0 });
    expect(await secrets(ringOf(second))).toEqual(["secret of 1"]);
  });

  test("does not wait for a row that another transaction has locked, and seals it the next time", async () => {
    await insert(oldRing, 1, 2, 3);
    await db.asSystem(async (tx) => {
      await tx.query("select from thing where id = 2 for update");
      expect(await reseal({ system: db.system, keys: newRing, columns, batch: 2 })).toEqual({ resealed: 2, left: 1 });
    });
    expect(await reseal({ system: db.system, keys: newRing, columns })).toEqual({ resealed: 1, left: 0 });
    expect(await secrets(ringOf(second))).toEqual(["secret of 1", "secret of 2", "secret of 3"]);
  });

  test("does not replace a value that was changed after it was read, nor bring back a deleted one", async () => {
    await insert(oldRing, 1, 2, 3);
    const changed = oldRing.seal(Buffer.from("changed"), sealContext(column, 1));
    const system = beforeReplacing(async () => {
      await db.system.query("update thing set secret = $1 where id = 1", [changed]);
      await db.system.query("delete from thing where id = 2");
    });
    expect(await reseal({ system, keys: newRing, columns })).toEqual({ resealed: 1, left: 2 });
    expect(await secrets(newRing)).toEqual(["changed", "secret of 3"]);
  });

  test("replaces each value once when two nodes run at the same time", async () => {
    await insert(oldRing, 1, 2, 3);
    const system = beforeReplacing(() => reseal({ system: db.system, keys: newRing, columns }));
    expect(await reseal({ system, keys: newRing, columns })).toEqual({ resealed: 0, left: 3 });
    expect(await secrets(ringOf(second))).toEqual(["secret of 1", "secret of 2", "secret of 3"]);
  });

  test("reports a value that cannot be decrypted after it has sealed the others", async () => {
    await insert(oldRing, 1, 2, 3);
    await db.system.query("update thing set secret = $1 where id = 1", [Buffer.alloc(48)]); // under a key 0
    await expect(reseal({ system: db.system, keys: newRing, columns, batch: 2 })).rejects.toThrow("no key 0");
    expect(await countSealedBefore(db.system, columns, second.id)).toBe(1);
  });

  test("skips values that cannot be decrypted or are locked, even if there are more than fit into a batch", async () => {
    await insert(oldRing, 1, 2, 3, 4, 5, 6, 7);
    await db.system.query("update thing set secret = $1 where id <= 3", [Buffer.alloc(48)]); // under a key 0
    await db.asSystem(async (tx) => {
      await tx.query("select from thing where id in (4, 5) for update");
      await expect(reseal({ system: db.system, keys: newRing, columns, batch: 2 })).rejects.toThrow("no key 0");
    });
    expect(await countSealedBefore(db.system, columns, second.id)).toBe(5);

    await db.system.query("delete from thing where id <= 3");
    expect(await reseal({ system: db.system, keys: newRing, columns, batch: 2 })).toEqual({ resealed: 2, left: 0 });
    expect(await secrets(ringOf(second))).toEqual([4, 5, 6, 7].map((id) => `secret of ${id}`));
  });

  test("ends between two batches when it is stopped, and the next run continues from there", async () => {
    await insert(oldRing, 1, 2, 3, 4, 5);
    const stop = new AbortController();
    const system = beforeReplacing(async () => stop.abort());
    expect(await reseal({ system, keys: newRing, columns, batch: 2 }, stop.signal)).toMatchObject({ resealed: 2 });
    expect(await reseal({ system: db.system, keys: newRing, columns, batch: 2 })).toEqual({ resealed: 3, left: 0 });
  });

  test("reads only the index, however many values are up to date", async () => {
    await insert(newRing, ...Array.from({ length: 2000 }, (_, id) => id));
    await insert(oldRing, 2000);
    const plans: string[] = [];
    const system: Queryable = {
      query: async (text, values) => {
        const rows = await db.system.query<{ "QUERY PLAN": string }>(`explain ${text}`, values);
        plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
        return db.system.query(text, values);
      },
    };
    await reseal({ system, keys: newRing, columns });
    expect(plans).toHaveLength(2);
    expect(plans[0]).toContain("Index Scan using thing_substring_idx");
    expect(plans[1]).toContain("Tid Scan on thing");
    expect(plans.join("\n")).not.toContain("Seq Scan");
  });
});
