/**
 * Secrets at rest: AES-256-GCM under the newest key of the key file. A sealed value is `key id (4) | nonce (12) | tag
 * (16) | ciphertext`. The context (column and account) is authenticated with it, so a value that is moved to another
 * row cannot be opened. Older keys stay readable until all values are resealed.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Fault } from "./fault.ts";
import { writePrivateFile } from "./private-file.ts";

export interface Key {
  id: number;
  bytes: Buffer;
}

const ID_LENGTH = 4;
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;
const DERIVED_LENGTH = 32;
const HEADER_LENGTH = ID_LENGTH + NONCE_LENGTH + TAG_LENGTH;
const DERIVE_RELOAD_MS = 1000;

export class KeyRing {
  #keys: Map<number, Buffer>;
  #newestId: number;
  readonly #reload: () => readonly Key[];
  #nextDeriveReload = 0;

  /** `reload` reads the key file again: another process may have added a key since. */
  constructor(keys: readonly Key[], reload: () => readonly Key[]) {
    this.#reload = reload;
    this.#keys = new Map();
    this.#newestId = 0;
    this.replace(keys);
  }

  get newestId(): number {
    return this.#newestId;
  }

  replace(keys: readonly Key[]): void {
    const newest = keys.at(-1);
    if (newest === undefined) throw new Fault("invalid", "The key file contains no key.");
    this.#keys = new Map(keys.map(({ id, bytes }) => [id, bytes]));
    this.#newestId = newest.id;
  }

  /** Reads the key file again after another process rotated the key: new values are sealed with its newest key. */
  reload(): void {
    this.replace(this.#reload());
  }

  seal(plain: Buffer, context: string): Buffer {
    const nonce = randomBytes(NONCE_LENGTH);
    const cipher = createCipheriv("aes-256-gcm", this.#key(this.#newestId), nonce, { authTagLength: TAG_LENGTH });
    cipher.setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([keyPrefix(this.#newestId), nonce, cipher.getAuthTag(), body]);
  }

  open(sealed: Buffer, context: string): Buffer {
    const nonce = sealed.subarray(ID_LENGTH, ID_LENGTH + NONCE_LENGTH);
    const decipher = createDecipheriv("aes-256-gcm", this.#key(KeyRing.keyIdOf(sealed)), nonce, {
      authTagLength: TAG_LENGTH,
    });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(sealed.subarray(ID_LENGTH + NONCE_LENGTH, HEADER_LENGTH));
    return Buffer.concat([decipher.update(sealed.subarray(HEADER_LENGTH)), decipher.final()]);
  }

  /**
   * A secret for another purpose than sealing, derived from one of the keys; undefined if there is no such key. Clients
   * without a token choose the id, so unknown ids cause at most one reading of the key file in a second, and it may fail.
   */
  derive(purpose: string, keyId: number): Buffer | undefined {
    if (!this.#keys.has(keyId)) this.#reloadForDerive();
    const key = this.#keys.get(keyId);
    return key === undefined ? undefined : Buffer.from(hkdfSync("sha256", key, "", purpose, DERIVED_LENGTH));
  }

  static keyIdOf(sealed: Buffer): number {
    return sealed.readUInt32BE(0);
  }

  #reloadForDerive(): void {
    const now = performance.now();
    if (now < this.#nextDeriveReload) return;
    this.#nextDeriveReload = now + DERIVE_RELOAD_MS;
    try {
      this.reload();
    } catch {
      // The known keys stay.
    }
  }

  #key(id: number): Buffer {
    if (!this.#keys.has(id)) this.reload();
    const key = this.#keys.get(id);
    if (key === undefined)
      throw new Error(`the key file has no key ${id}: restore the key file that belongs to this database`);
    return key;
  }
}

/** The first bytes of every value that is sealed with this key. */
export function keyPrefix(keyId: number): Buffer {
  const prefix = Buffer.alloc(ID_LENGTH);
  prefix.writeUInt32BE(keyId);
  return prefix;
}

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
