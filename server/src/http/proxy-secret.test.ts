import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { readProxySecret } from "./proxy-secret.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-secret-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "secret");

function write(text: string, mode = 0o640): string {
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

const MISSING = /^HEADGATE_PROXY_SECRET_FILE: .* cannot be read \(ENOENT.*: create it with openssl rand -hex 32/;
const UNREADABLE = /^HEADGATE_PROXY_SECRET_FILE: .* cannot be read \(EISDIR/;

describe("the file with the secret of the proxies", () => {
  test("is read without the line end and cannot be printed", () => {
    const secret = readProxySecret(write(`${"s".repeat(32)}\n`));
    expect(secret?.reveal()).toBe("s".repeat(32));
    expect(inspect(secret)).not.toContain("sss");
  });

  test.each(["", "s".repeat(31), `${"s".repeat(32)} x`, `${"s".repeat(32)}\n${"t".repeat(32)}`, "ß".repeat(40)])(
    "is refused with the remedy, but not quoted, if its content is %j",
    (text) => {
      expect(() => readProxySecret(write(text))).toThrow(/^HEADGATE_PROXY_SECRET_FILE: .* run openssl rand -hex 32/);
      expect(() => readProxySecret(file)).not.toThrow(/sss/);
    },
  );

  test("is refused if other users can read it, or if it is missing", () => {
    expect(() => readProxySecret(write("s".repeat(32), 0o644))).toThrow(/other users can read .*: run chmod o= /);
    expect(() => readProxySecret(join(folder, "missing"))).toThrow(MISSING);
    expect(() => readProxySecret(folder)).toThrow(UNREADABLE);
    expect(readProxySecret(null)).toBeNull();
  });
});
