import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";

const SECRET = "b".repeat(32);
const folder = mkdtempSync(join(tmpdir(), "headgate-proxy-"));
const secretFile = join(folder, "secret");
writeFileSync(secretFile, SECRET, { mode: 0o600 });
afterAll(() => rmSync(folder, { recursive: true }));
const given = useServer({
  settings: { HEADGATE_TRUSTED_PROXIES: "127.0.0.1", HEADGATE_PROXY_SECRET_FILE: secretFile },
});

const from = (address: string) => ({ headers: { "X-Forwarded-For": address, "X-Headgate-Proxy": SECRET } });

describe("an address that a trusted proxy forwards", () => {
  test("is used as the caller's address", async () => {
    const account = await given.account();
    for (const ip of ["203.0.113.0/24", "2001:db8::/32"]) await account.post("/whitelist_ip", { ip_cidr: ip });
    await given.app.services.db.asSystem((tx) =>
      tx.query("update account set features = '{ip_whitelisting}' where id = $1", [account.accountId]),
    );
    for (const address of ["203.0.113.7", "::ffff:203.0.113.7", "2001:db8::7"]) {
      await account.get("/whitelist_ip", from(address));
    }
    await account.get("/whitelist_ip", from("198.51.100.7")).refused(403, /not whitelisted/);
  });

  test.each(["unknown", "203.0.113.7:4711", "0x7f.1", "_hidden", "203.0.113"])(
    "is refused if it is not an address (%j), whatever the whitelist contains",
    async (address) => {
      const account = await given.account();
      await account.get("/account", from(address)).refused(403, /^Your address cannot be read/);
      await account.post("/whitelist_ip", { ip_cidr: "0.0.0.0/0" });
      await account.get("/account", from(address)).refused(403, /^Your address cannot be read/);
      await given.anonymous().get("/account", from(address)).refused(401);
      const invitation = { code: "x", name: "Ann" };
      await given.anonymous().post("/api/v2/invitations/accept", invitation, from(address)).refused(403);
      const { audit_events: events } = await account.get("/api/v2/audit_events");
      expect(events).toHaveLength(1);
    },
  );
});
