import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findJava } from "./find-java.ts";
import { trustSystemCertificates } from "./java-certificates.ts";

let home: string;
let store: string;
let bundle: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "headgate-java-"));
  mkdirSync(join(home, "lib/security"), { recursive: true });
  [store, bundle] = [join(home, "lib/security/cacerts"), join(home, "bundle.crt")];
  writeFileSync(store, "the runtime's own");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const java = await findJava(undefined);
const keytool = java === undefined ? "" : join(java.home, "bin/keytool");

it.skipIf(!existsSync(keytool))("a fetched Java trusts the certificates of the system", async () => {
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
  writeFileSync(bundle, [...rootCertificates.slice(0, 3), broken].join("\n"));
  await trustSystemCertificates(home, [join(home, "no-such"), bundle]);
  const list = spawnSync(keytool, ["-list", "-keystore", store, "-storepass", "changeit"], { encoding: "utf8" });
  expect(list.stdout).toContain("contains 3 entries");
  expect(list.stdout.match(/trustedCertEntry/g)).toHaveLength(3);
});

it("the list is written again only when the system's has changed", async () => {
  writeFileSync(bundle, rootCertificates.slice(0, 2).join("\n"));
  await trustSystemCertificates(home, [bundle]);
  const { ino, size } = statSync(store);
  await trustSystemCertificates(home, [bundle]);
  expect(statSync(store).ino).toBe(ino);
  writeFileSync(bundle, rootCertificates.slice(0, 4).join("\n"));
  await trustSystemCertificates(home, [bundle]);
  expect(statSync(store).size).toBeGreaterThan(size);
});

it("a system without such a list leaves Java its own", async () => {
  await trustSystemCertificates(home, [join(home, "no-such")]);
  expect(readFileSync(store, "utf8")).toBe("the runtime's own");
});
