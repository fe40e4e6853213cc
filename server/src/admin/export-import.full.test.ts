import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adminCli, urlOf } from "../../test/support/admin-cli.ts";
import { Client } from "../../test/support/client.ts";
import { contentOf, NASTY, PASSPHRASE, useExportedInstallation } from "../../test/support/exported-installation.ts";
import { startHeadgate } from "../../test/support/headgate-process.ts";

const exported = useExportedInstallation();

test("moves a whole installation to the embedded PostgreSQL and on to another one", async () => {
  const { given, folder, file, account, cli } = exported;
  const dataDir = join(folder, "embedded");
  const embedded = adminCli({ HEADGATE_DATA_DIR: dataDir, HEADGATE_PASSPHRASE: PASSPHRASE });
  await embedded.run("import", file);
  expect(await embedded.json("status")).toMatchObject({ server: "stopped", store: "embedded", key_ids: [1] });
  expect(readFileSync(join(dataDir, "keys"))).toEqual(readFileSync(join(given.dataDir, "keys")));

  const second = join(folder, "second.age");
  const server = await startHeadgate(dataDir);
  try {
    expect(await new Client(server.url, account.token).get("/account")).toMatchObject({ name: NASTY });
    expect(await embedded.json("status")).toMatchObject({ server: "running", pid: server.pid });
    expect(await embedded.refused("import", file)).toMatch(new RegExp(`pid ${server.pid}.*stop it first`));
    await embedded.run("export", second);
  } finally {
    await server.stop();
  }
  const target = await exported.emptyDatabase();
  const lastDir = join(folder, "last");
  const last = cli.with({ DATABASE_URL: urlOf(target), HEADGATE_DATA_DIR: lastDir });
  await last.run("import", second);
  expect(await contentOf(target)).toEqual(await contentOf(given.database));
  await exported.inCatalog(target, async (client) => {
    const { rows } = await client.query(`select * from "DBS" join "ADDED" using ("DB_ID") order by "ID"`);
    expect(rows).toEqual(["1", "2"].map((ID) => ({ DB_ID: "1", NAME: NASTY, ID })));
  });
});
