import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allFiles } from "../../../test/support/faulty-copies.ts";
import { useServer } from "../../../test/support/given.ts";
import { gzipBomb } from "../../../test/support/gzip-bomb.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";

const given = useServer({ settings: { HEADGATE_ACCOUNT_DISK: "64m" } });

test("a copy of a file that expands beyond the account's quota ends, and leaves nothing", async () => {
  const account = await given.account();
  const storage = join(given.dataDir, "accounts", String(account.accountId), "storage");
  mkdirSync(join(storage, "in"), { recursive: true });
  writeFileSync(join(storage, "in", "bomb.gz"), gzipBomb(10 * 1024));
  const { id } = await account.post("/commands", {
    command_type: "HadoopCommand",
    sub_command: "s3distcp",
    sub_command_args: `--src file://${storage}/in --dest file://${storage}/out --outputCodec none`,
  });
  expect((await waitForCommandEnd(account, id)).status).toBe("error");
  expect((await account.get(`/commands/${id}/logs`).reply()).text).toContain("the account is above its quota");
  expect(allFiles(storage)).toEqual(["in/bomb.gz"]);
});
