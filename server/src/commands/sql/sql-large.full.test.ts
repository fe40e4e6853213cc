import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { runSql, submitSql, useSpark } from "../../../test/support/spark.ts";

const MIB = 1024 * 1024;
const ROWS = 11_000_000;

describe.skipIf(sparkIsMissing)("a result of more than 1 GiB", { timeout: 600_000 }, () => {
  const spark = useSpark();

  test("is complete although the heap of the Spark server is smaller, and is never held in memory as a whole", async () => {
    const { id } = await submitSql(spark.account, `select id, repeat('x', 100) as x from range(${ROWS})`);
    const before = residentBytes(spark.pid);
    let highest = before;
    const watch = setInterval(() => {
      highest = Math.max(highest, residentBytes(spark.pid));
    }, 50);
    let status = "waiting";
    while (status === "waiting" || status === "running") {
      ({ status } = await spark.account.get(`/commands/${id}?wait_seconds=60`));
    }
    expect(status).toBe("done");
    const { bytes, lines, tail } = await read(id);
    clearInterval(watch);
    expect(bytes).toBeGreaterThan(1024 * MIB);
    expect([lines, tail]).toEqual([ROWS + 1, `${ROWS - 1},${"x".repeat(100)}\r\n`]);
    expect(highest - before).toBeLessThan(250 * MIB);
  });

  async function read(id: number): Promise<{ bytes: number; lines: number; tail: string }> {
    const response = await fetch(`${spark.url}/api/v1.2/commands/${id}/results?format=csv&include_headers=true`, {
      headers: { "X-AUTH-TOKEN": spark.token },
    });
    let [bytes, lines, last] = [0, 0, ""];
    for await (const piece of response.body ?? []) {
      bytes += piece.length;
      for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines += 1;
      last = (last + Buffer.from(piece.slice(-200)).toString()).slice(-400);
    }
    const [, line = ""] = /\n([^\n]*\n)$/.exec(last) ?? [];
    return { bytes, lines, tail: line };
  }
});

// `query-results.test.ts` has the limit of 20 MiB for rows that no Spark has made.
describe.skipIf(sparkIsMissing)("a query on a warm server", () => {
  const spark = useSpark();

  test("with a result of 25 MB names its location in the storage, which has the same text", async () => {
    const { id } = await runSql(spark.account, "select id, repeat('x', 1000) from range(25000)");
    const { inline, result_location: location } = await spark.account.get(`/commands/${id}/results`);
    expect(inline).toBe(false);
    const text = readFileSync(new URL(location[0]), "utf8");
    const rows = Array.from({ length: 25_000 }, (_, n) => `${n}\t${"x".repeat(1000)}\r\n`);
    expect(text === rows.join("")).toBe(true);
    expect(await spark.account.get(`/commands/${id}/status_with_results`)).toMatchObject({ inline: false });
  });
});

function residentBytes(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}
