import { expect, test } from "vitest";
import { Client } from "../../test/support/client.ts";
import { useServer } from "../../test/support/given.ts";
import { addDefaultCluster as addDefaults } from "../clusters/default-cluster.ts";
import { ensureFirstAccount } from "./first-account.ts";

const given = useServer();

test("of several concurrent first starts one creates the operator's account, and the operator is not locked out", async () => {
  const { db } = given.app.services;
  const kept: string[] = [];
  const features = ["ip_whitelisting", "large_scripts"] as const;
  const starts = await Promise.all(
    Array.from({ length: 4 }, () =>
      ensureFirstAccount(db, "op@example.test", features, addDefaults, (token) => kept.push(token)),
    ),
  );
  const [first, ...others] = starts.filter((start) => start !== undefined);
  expect(others).toEqual([]);
  expect(first).toEqual({ email: "op@example.test", token: kept[0] });
  expect(kept).toHaveLength(1);

  const { accounts } = await new Client(given.base, kept[0]).get("/api/v2/accounts/all");
  expect(accounts).toMatchObject([{ users: 1, features: { ip_whitelisting: false, large_scripts: true } }]);
});

test("the first account is not created with an e-mail address that has a slash, and no token is written", async () => {
  const { db } = given.app.services;
  await db.system.query("delete from membership");
  await db.system.query("delete from account");
  const kept: string[] = [];
  const start = ensureFirstAccount(db, "ops/team@example.test", [], addDefaults, (token) => kept.push(token));
  await expect(start).rejects.toThrow(/^ops\/team@example.test cannot be .* contains a slash: .*HEADGATE_ADMIN_EMAIL/);
  expect(kept).toEqual([]);
  expect(await db.system.query("select id from account")).toEqual([]);
});

test("a user of an earlier version whose e-mail address has slashes can be the admin of a new account", async () => {
  const email = "ops/team@example.test";
  await given.member(await given.account(), { email });
  const account = await given.account({ email });
  expect((await account.get("/accounts/get_users")).users).toMatchObject([{ email }]);
});

test("no account is created if its token cannot be stored", async () => {
  const { db } = given.app.services;
  await db.system.query("delete from membership");
  await db.system.query("delete from account");
  const fail = (): never => {
    throw new Error("disk full");
  };
  await expect(ensureFirstAccount(db, "op@example.test", [], addDefaults, fail)).rejects.toThrow("disk full");
  expect(await db.system.query("select id from account")).toEqual([]);
});
