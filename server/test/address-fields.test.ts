import { describe, expect, test } from "vitest";
import { useServer } from "./support/given.ts";

/** Every private network is allowed, so only the addresses that are never allowed are refused. */
const given = useServer({ settings: { HEADGATE_ALLOWED_NETWORKS: "0.0.0.0/0,::/0" } });

/** Spellings of 169.254.169.254 for the host of an address. */
const hosts = [
  "169.254.169.254",
  "169.254.169.254.",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "2852039166",
  "169.254.43518",
  "[::169.254.169.254]",
  "[::a9fe:a9fe]",
  "[0:0:0:0:0:0:a9fe:a9fe]",
  "[::ffff:169.254.169.254]",
  "[::ffff:0:169.254.169.254]",
  "[64:ff9b::169.254.169.254]",
  "[64:ff9b:1::a9fe:a9fe]",
  "[64:ff9b:1:a9fe:a9:fe00::]",
  "[2002:a9fe:a9fe::1]",
  "[2001:0:a9fe:a9fe::f7f7:f7f7]",
  "[2001:0:808:808::5601:5601]",
  "[2606:4700::5efe:169.254.169.254]",
];

/** Every field in which a user can name a host, with a valid form of its value. */
const accountFields: [field: string, value: (host: string) => string][] = [
  ["defloc", (host) => `hdfs://${host}:8020/x`],
  ["storage_endpoint", (host) => `http://${host}:9000`],
  ["hdfs_http_address", (host) => `http://${host}:9870`],
  ["metastore_uri", (host) => `thrift://good.example:9083,thrift://${host}:9083`],
];
const engines: [field: string, engine: (host: string) => object][] = [
  ["engine.master_url", (host) => ({ type: "standalone", master_url: `spark://good.example:7077,${host}:7077` })],
  ["engine.url", (host) => ({ type: "connect", url: `sc://${host}:15002` })],
  [
    "engine.api_server",
    (host) => ({ type: "kubernetes", api_server: `https://${host}:6443`, image: "i", namespace: "n" }),
  ],
];

describe("a metadata address is refused in all of its forms", () => {
  test.each(accountFields)("in %s", async (field, value) => {
    const account = await given.account();
    for (const host of hosts) {
      const reply = account.put("/api/v2/accounts", { [field]: value(host) });
      await reply.refused(422, new RegExp(`^${field} must not be a link-local, metadata`));
    }
    expect((await account.get("/api/v2/accounts")).id).toBe(account.accountId);
  });

  test.each(engines)("in %s", async (field, engine) => {
    const account = await given.account();
    for (const host of hosts) {
      const reply = account.post("/api/v2/clusters", { labels: ["there"], engine: engine(host) });
      await reply.refused(422, new RegExp(`^${field.replace(".", "\\.")} must not be a link-local, metadata`));
    }
  });

  test.each(["[fe80::1%eth0]", "[fe80::1%25eth0]"])("with the zone id of %s", async (host) => {
    const account = await given.account();
    for (const [field, value] of accountFields) {
      await account.put("/api/v2/accounts", { [field]: value(host) }).refused(422, new RegExp(`^${field} must`));
    }
    for (const [field, engine] of engines) {
      const reply = account.post("/api/v2/clusters", { labels: ["there"], engine: engine(host) });
      await reply.refused(422, new RegExp(`^${field.replace(".", "\\.")} must`));
    }
  });
});
