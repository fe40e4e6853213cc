import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FILES } from "../../test/support/file-calls.ts";
import { useServer } from "../../test/support/given.ts";

const given = useServer();

test("a folder with more files than one request deletes is deleted by the next one", async () => {
  const account = await given.account();
  const storage = join(given.dataDir, "accounts", String(account.accountId), "storage");
  mkdirSync(join(storage, "many/inner"), { recursive: true });
  execFileSync("bash", ["-c", "seq 6000 | xargs touch; cd inner; seq 6000 | xargs touch"], {
    cwd: join(storage, "many"),
  });
  let count = 0;
  for (let hasMore = true; hasMore;) {
    const deleted = await account.delete(`${FILES}/many?recursive=true`);
    expect(count > 0 || deleted.has_more).toBe(true);
    expect(deleted.count).toBeLessThanOrEqual(10_000);
    count += deleted.count;
    hasMore = deleted.has_more;
  }
  expect(count).toBe(12_000);
  expect(readdirSync(storage)).toEqual([]);
});
