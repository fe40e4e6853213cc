import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Fault } from "./fault.ts";
import { KeyRing, type Key } from "./key-ring.ts";
import { writePrivateFile } from "./private-file.ts";

/**
 * The key file: one line `<id> <base64 of 32 bytes>` per key, the newest last, mode 0600, outside the database. It is
 * replaced as a whole (written, synced, renamed), so that readers never see a partial file.
 */
const LINE = /^(\d{1,9}) ([A-Za-z0-9+/]{43}=)$/;

export function parseKeys(text: string, file: string): Key[] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [, id, base64] = LINE.exec(line) ?? [];
    if (id === undefined || base64 === undefined) {
      throw new Fault("invalid", `${file} is not a key file: each line must be "<id> <base64 of 32 bytes>"`);
    }
    return { id: Number(id), bytes: Buffer.from(base64, "base64") };
  });
}

export function readKeys(file: string): Key[] {
  return parseKeys(readText(file), file);
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Fault("invalid", `the key file ${file} cannot be read (${why})`, { cause });
  }
}

export function writeKeys(file: string, keys: readonly Key[]): void {
  const text = `# Headgate key file: needed to read every stored secret. Keep a copy apart from the database.\n${keys
    .map(({ id, bytes }) => `${id} ${bytes.toString("base64")}\n`)
    .join("")}`;
  writePrivateFile(file, text);
}

export function newKey(after: readonly Key[]): Key {
  return { id: Math.max(0, ...after.map(({ id }) => id)) + 1, bytes: randomBytes(32) };
}

/** Opens the key ring of a key file. It reads the file again when a value was sealed with an unknown key. */
export function openKeyRing(file: string): KeyRing {
  return new KeyRing(readKeys(file), () => readKeys(file));
}
