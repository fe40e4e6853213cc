import { randomBytes } from "node:crypto";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { storageFolder } from "../../src/accounts/account-storage.ts";
import type { Client } from "./client.ts";
import { folderTree, plantTree, unescaped, type FolderTree, type TreeColumn } from "./folder-trees.ts";
import { partitionsOf, refresh, refreshed } from "./refresh.ts";
import { runSql, type Spark } from "./spark.ts";

/** For `trees` random folders: a table refreshed natively and one refreshed by Spark have the same partitions. */
export async function expectBothEnginesAgree(spark: Spark, trees: number, seed: number): Promise<void> {
  let partitions = 0;
  const agree = fc.asyncProperty(folderTree, fc.boolean(), async (tree, isHive) => {
    partitions += await expectToAgree(spark, tree, isHive);
  });
  await fc.assert(agree, { numRuns: trees, seed, endOnFailure: true });
  expect(partitions).toBeGreaterThan(trees / 4);
}

/** Returns the number of partitions, which is the same for both. */
export async function expectToAgree(
  { account, dataDir, accountId }: Spark,
  tree: FolderTree,
  isHive: boolean,
): Promise<number> {
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
  const theirs = await partitionsOf(account, sparks);
  const fitting = await ofTheirTypes(account, Object.keys(theirs), tree.columns);
  const expected = Object.entries(theirs).filter(([partition]) => fitting.has(partition));
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

/**
 * The only difference: we skip values that do not fit the type of their column, and log them. Spark decides which fit.
 */
async function ofTheirTypes(
  account: Client,
  partitions: readonly string[],
  columns: readonly TreeColumn[],
): Promise<ReadonlySet<string>> {
  if (partitions.length === 0) return new Set();
  const rows = partitions.map((partition, index) => {
    const values = partition.split("/").map((part) => unescaped(part.slice(part.indexOf("=") + 1)));
    const isValue = columns.map(({ type }, column) => castable(values[column] ?? "", type)).join(" and ");
    return `select ${index} as partition, ${isValue} as fits`;
  });
  const { id } = await runSql(account, rows.join(" union all "));
  const answers: { partition: number; fits: boolean }[] = await account.get(`/commands/${id}/results?format=json`);
  expect(answers).toHaveLength(partitions.length);
  return new Set(answers.filter(({ fits }) => fits).map(({ partition }) => partitions[partition] ?? ""));
}

function castable(value: string, type: string): string {
  if (value === "__HIVE_DEFAULT_PARTITION__") return "true";
  const text = `cast(unhex('${Buffer.from(value).toString("hex")}') as string)`;
  return `try_cast(${text} as ${type}) is not null`;
}
