/** PostgreSQL alone has a full disk: it refuses changes, or crashes and cannot start again until there is space. */
import { afterAll, expect, inject, test } from "vitest";
import { migrate } from "../src/db/migrate.ts";
import type { Reply } from "./support/client.ts";
import { useServer } from "./support/given.ts";
import { DATABASES_FOLDER } from "./support/run-folders.ts";
import { makeScratchCluster, type ScratchCluster } from "./support/scratch-cluster.ts";
import { mountSmallDisk } from "./support/small-disk.ts";
import { stubDriver } from "./support/stub-driver.ts";

const disk = mountSmallDisk(192);
let cluster: ScratchCluster | undefined;
const given = useServer({
  driver: stubDriver,
  settings: { HEADGATE_LEASE_SECONDS: "60" },
  async reach(connection) {
    if (!disk.isMounted) return connection;
    const { [DATABASES_FOLDER]: usual } = process.env;
    process.env[DATABASES_FOLDER] = disk.dataDir;
    cluster = makeScratchCluster(inject("postgres").cacheDir);
    if (usual === undefined) delete process.env[DATABASES_FOLDER];
    else process.env[DATABASES_FOLDER] = usual;
    const { socketDir, port, user, password, database } = await cluster.start();
    const own = { host: socketDir, port, user, password, database };
    await migrate(own);
    return own;
  },
});
afterAll(async () => {
  disk.clear();
  await cluster?.dispose();
  disk.unmount();
});

const PATIENCE = { timeout: 120_000, interval: 500 };
const AFTER_FIRST = 30;

test.skipIf(!disk.isMounted)(
  "PostgreSQL's full disk is an outage, and no acknowledged command is lost or runs twice",
  async () => {
    const account = await given.account();
    // Text that does not compress, so that the rows need space.
    const text = (index: number): string =>
      `# ${Array.from({ length: 3000 }, (_, at) => ((at * 7919 + index * 104_729) % 65_521).toString(36)).join("")}`;
    const submit = (index: number): Promise<Reply> =>
      account
        .post("/commands", {
          command_type: "SparkCommand",
          language: "python",
          program: `echo "$COMMAND" >> $JOURNAL; echo "$COMMAND"\n${text(index)}`,
        })
        .reply();
    const acknowledged: number[] = [(await submit(0)).body.id];
    disk.fill();
    const refused: Reply[] = [];
    for (let index = 1; index < 2000 && refused.length < AFTER_FIRST; index += 1) {
      const reply = await submit(index);
      if (reply.status === 200) acknowledged.push(reply.body.id);
      else refused.push(reply);
    }
    expect(refused).toHaveLength(AFTER_FIRST);
    for (const { status, headers, text: said } of refused) {
      expect(status, said).toBe(503);
      expect(headers.get("retry-after"), said).toBe("2");
    }
    disk.clear();
    let again = await submit(2000);
    await expect.poll(async () => (again = await submit(2001)).status, PATIENCE).toBe(200);
    for (const id of [...acknowledged, again.body.id]) {
      await expect
        .poll(async () => (await account.get(`/commands/${id}?wait_seconds=20`).reply()).body?.status, PATIENCE)
        .toBe("done");
    }
    const last = await account.post("/commands", {
      command_type: "SparkCommand",
      language: "python",
      program: "sort $JOURNAL | uniq -d; wc -l < $JOURNAL",
    });
    await account.get(`/commands/${last.id}?wait_seconds=45`);
    const { results } = await account.get(`/commands/${last.id}/results`);
    expect(Number(results)).toBeGreaterThanOrEqual(acknowledged.length + 1); // one line: no command ran twice
  },
);
