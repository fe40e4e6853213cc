import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterEach, beforeEach, expect, it } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { findJava } from "./find-java.ts";
import { trustSystemCertificates } from "./java-certificates.ts";

let home: string;
let store: string;
let bundle: string;
let warnings: string[];
const warn = (message: string): void => void warnings.push(message);
beforeEach(() => {
  warnings = [];
  home = mkdtempSync(join(tmpdir(), "headgate-java-"));
  mkdirSync(join(home, "lib/security"), { recursive: true });
  [store, bundle] = [join(home, "lib/security/cacerts"), join(home, "bundle.crt")];
  writeFileSync(store, "the runtime's own");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const java = await findJava(undefined);
const keytool = java === undefined ? "" : join(java.home, "bin/keytool");

it.skipIf(!existsSync(keytool))(
  "a fetched Java trusts the certificates of the system",
  because("this Java has no keytool"),
  async () => {
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
    writeFileSync(bundle, [...rootCertificates.slice(0, 3), broken].join("\n"));
    await trustSystemCertificates(home, warn, [join(home, "no-such"), bundle]);
    const list = spawnSync(keytool, ["-list", "-keystore", store, "-storepass", "changeit"], { encoding: "utf8" });
    expect(list.stdout).toContain("contains 3 entries");
    expect(list.stdout.match(/trustedCertEntry/g)).toHaveLength(3);
  },
);

it("the list is readable by all users, and rewritten only when the system's list has changed", async () => {
  writeFileSync(bundle, rootCertificates.slice(0, 2).join("\n"));
  const umask = process.umask(0o077);
  await trustSystemCertificates(home, warn, [bundle]).finally(() => process.umask(umask));
  const { ino, size, mode } = statSync(store);
  expect(mode & 0o777).toBe(0o644);
  await trustSystemCertificates(home, warn, [bundle]);
  expect(statSync(store).ino).toBe(ino);
  writeFileSync(bundle, rootCertificates.slice(0, 4).join("\n"));
  await trustSystemCertificates(home, warn, [bundle]);
  expect(statSync(store).size).toBeGreaterThan(size);
});

it("Java keeps its own list on a system without one", async () => {
  await trustSystemCertificates(home, warn, [join(home, "no-such")]);
  expect(readFileSync(store, "utf8")).toBe("the runtime's own");
});

it("Java keeps its own list if the system's has no valid certificate", async () => {
  writeFileSync(bundle, "");
  await trustSystemCertificates(home, warn, [bundle]);
  expect(readFileSync(store, "utf8")).toBe("the runtime's own");
});

it("processes that share a cache may write the list at the same time", async () => {
  writeFileSync(bundle, rootCertificates.join("\n"));
  await Promise.all(Array.from({ length: 8 }, () => trustSystemCertificates(home, warn, [bundle])));
  expect(warnings).toEqual([]);
  expect(readdirSync(join(home, "lib/security"))).toEqual(["cacerts"]);
});

it("a list that cannot be written causes only a warning", async () => {
  writeFileSync(bundle, rootCertificates.slice(0, 1).join("\n"));
  rmSync(join(home, "lib"), { recursive: true });
  await trustSystemCertificates(home, warn, [bundle]);
  expect(warnings).toEqual([expect.stringContaining(`does not trust the certificates in ${bundle}: ENOENT`)]);
});
