import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mintToken } from "../access/token.ts";
import { Client } from "../../test/support/client.ts";
import { FILES, upload } from "../../test/support/file-calls.ts";
import { useServer } from "../../test/support/given.ts";

const given = useServer({
  settings: { HEADGATE_RATE_LIMIT: "0", HEADGATE_BAD_TOKEN_LIMIT: "0", HEADGATE_LOW_DISK: "99" },
  clock: { now: () => new Date(0) },
});

describe("limits of 0", () => {
  test("disable the limits", async () => {
    const account = await given.account();
    const replies = await Promise.all([
      ...Array.from({ length: 1100 }, () => account.get("/whitelist_ip").reply()),
      ...Array.from({ length: 150 }, () => new Client(given.base, mintToken()).get("/whitelist_ip").reply()),
    ]);
    const counts = Object.groupBy(replies, ({ status }) => String(status));
    expect(Object.keys(counts).toSorted()).toEqual(["200", "401"]);
  });
});

describe("a disk that is nearly full", () => {
  test("makes writes fail with 503 and Retry-After, does not affect reads and deletions of files, and shows in /readyz", async () => {
    const account = await given.account();
    const refused = await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }).refused(503, /disk/);
    expect(refused.headers.get("retry-after")).toBe("60");
    await account.delete("/whitelist_ip/1").refused(503);
    expect(await account.get("/whitelist_ip")).toEqual({ account_whitelisted_ips: [] });
    await given.anonymous().post("/whitelist_ip", {}).refused(401);

    const storage = join(given.dataDir, "accounts", String(account.accountId), "storage");
    mkdirSync(storage, { recursive: true });
    writeFileSync(join(storage, "file"), "x");
    const uploaded = await upload(account, "file", "y");
    expect([uploaded.status, uploaded.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(await account.delete(`${FILES}/file`)).toEqual({ status: "deleted", count: 1 });

    const ready = await fetch(`${given.base}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      error: { error_code: 503, error_message: "Not ready: disk." },
      status: "unavailable",
      parts: { store: { ok: true }, disk: { ok: false } },
    });
    expect((await fetch(`${given.base}/healthz`)).status).toBe(200);
  });
});
