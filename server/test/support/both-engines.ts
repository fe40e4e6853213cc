import { randomBytes } from "node:crypto";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { storageFolder } from "../../src/accounts/account-storage.ts";
import { isValueOf } from "../../src/catalog/refresh/value-of-type.ts";
import { folderTree, plantTree, unescaped, type FolderTree, type TreeColumn } from "./folder-trees.ts";
import { partitionsOf, refresh, refreshed } from "./refresh.ts";
import { runSql, type Spark } from "./spark.ts";

/** Two tables over each of so many folders, one refreshed by us and one by Spark's statement, have the same partitions. */
export async function expectBothEnginesAgree(spark: Spark, trees: number, seed: number): Promise<void> {
  let partitions = 0;
  const agree = fc.asyncProperty(folderTree, fc.boolean(), async (tree, isHive) => {
    partitions += await compare(spark, tree, isHive);
  });
  await fc.assert(agree, { numRuns: trees, seed, endOnFailure: true });
  expect(partitions).toBeGreaterThan(trees);
}

async function compare({ account, dataDir, accountId }: Spark, tree: FolderTree, isHive: boolean): Promise<number> {
  const name = `twin_${randomBytes(4).toString("hex")}`;
  const [ours, sparks] = [`${name}_ours`, `${name}_sparks`];
  const folder = join(storageFolder(dataDir, accountId), name);
  plantTree(tree, folder);
  await runSql(account, [ours, sparks].map((table) => creation(table, tree.columns, folder, isHive)).join(";"));
  await refresh(account, ours);
  const { id } = await account.post("/commands", {
    command_type: "HiveCommand",
    query: `alter table \`default\`.\`${sparks}\` recover partitions`,
  });
  await refreshed(account, id);
  const theirs = Object.entries(await partitionsOf(account, sparks));
  const expected = theirs.filter(([partition]) => isOfTypes(partition, tree.columns));
  expect(await partitionsOf(account, ours)).toEqual(Object.fromEntries(expected));
  return expected.length;
}

function creation(table: string, columns: readonly TreeColumn[], folder: string, isHive: boolean): string {
  const typed = columns.map(({ name, type }) => `${name} ${type}`).join(", ");
  return isHive
    ? `create external table ${table} (v string) partitioned by (${typed}) stored as textfile location 'file:${folder}'`
    : `create table ${table} (v string, ${typed}) using csv partitioned by (${columns.map(({ name }) => name).join(", ")})
       location 'file:${folder}'`;
}

/** The one difference: what is no value of its column is told in our log and left alone. */
function isOfTypes(partition: string, columns: readonly TreeColumn[]): boolean {
  return partition.split("/").every((part, index) => {
    const value = unescaped(part.slice(part.indexOf("=") + 1));
    return value === "__HIVE_DEFAULT_PARTITION__" || isValueOf(columns[index]?.type ?? "", value);
  });
}
