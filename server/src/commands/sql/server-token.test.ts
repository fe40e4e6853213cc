import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { openConnect } from "../../engines/spark-connect/spark-connect.ts";
import { Secret } from "../../lib/secret.ts";

interface ServerFile {
  readonly token: string;
  readonly port: number;
}

describe.skipIf(sparkIsMissing)("the token of a warm server", () => {
  const spark = useSpark();
  const serversFolder = (): string => join(spark.dataDir, "accounts", String(spark.accountId), "spark");
  let servers: ServerFile[];

  beforeAll(() => {
    const files = globSync(join(serversFolder(), "*", "server.json"));
    servers = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
    expect(servers).not.toHaveLength(0);
  });

  test.each([
    ["in its environment", "select java_method('java.lang.System', 'getenv')", "PATH="],
    ["among its properties", "select java_method('java.lang.System', 'getProperties')", "java.version"],
    ["among its settings", "set", "spark.headgate.tokenFile"],
    ["among its settings with descriptions", "set -v", "spark.sql"],
    ["in its settings file", "select value from text.`../input/spark.properties`", "spark.headgate.tokenFile"],
  ])("is not found %s", async (_, sql, instead) => {
    const { id } = await runSql(spark.account, sql);
    const { results } = await spark.account.get(`/commands/${id}/results`);
    expect(results).toContain(instead);
    for (const { token } of servers) expect(results).not.toContain(token);
  });

  test("is not found among its files", () => {
    const folders = globSync(join(serversFolder(), "*", "work"));
    expect(folders).not.toHaveLength(0);
    expect(globSync(join(serversFolder(), "*", "{work,input,tmp}", "*token*"))).toEqual([]);
  });

  test("is required by its port", async () => {
    const ping = async ({ port }: ServerFile, token: string | undefined): Promise<unknown> => {
      const secret = token === undefined ? undefined : new Secret(token);
      const channel = openConnect({ host: "127.0.0.1", port, token: secret, sessionUser: "thief" });
      try {
        return await channel.ping().catch((error: unknown) => error);
      } finally {
        channel.close();
      }
    };
    for (const server of servers) {
      expect(await ping(server, undefined)).toMatchObject({ kind: "refused" });
      expect(await ping(server, "0".repeat(64))).toMatchObject({ kind: "refused" });
      expect(await ping(server, server.token)).toBeUndefined();
    }
  });
});
