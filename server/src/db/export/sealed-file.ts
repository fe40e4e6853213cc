import { createReadStream, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Decrypter, Encrypter } from "age-encryption";
import { Fault } from "../../lib/fault.ts";
import { syncFolder } from "../../lib/private-file.ts";
import type { Secret } from "../../lib/secret.ts";

/**
 * A file encrypted with a passphrase in the format of `age` (scrypt, then ChaCha20-Poly1305 in chunks of 64 KiB); the
 * `age` program can open it. Each chunk and the end are authenticated, so that a damaged or truncated file is always
 * detected.
 */
export async function writeSealedFile(file: string, passphrase: Secret, plain: AsyncIterable<Buffer>): Promise<void> {
  const part = `${file}.part`;
  rmSync(part, { force: true });
  const target = await open(part, "wx", 0o600);
  try {
    const encrypter = new Encrypter();
    encrypter.setPassphrase(passphrase.reveal());
    const sealed = await encrypter.encrypt(ReadableStream.from<Uint8Array>(plain));
    await pipeline(Readable.fromWeb(sealed), target.createWriteStream({ flush: true }));
    renameSync(part, file);
    syncFolder(dirname(file));
  } catch (error) {
    await target.close().catch(() => undefined); // the stream may have closed it
    rmSync(part, { force: true });
    throw error;
  }
}

/**
 * A sealed file with the key that was derived from the passphrase. Deriving takes a second, so it is done only once.
 */
export interface UnlockedFile {
  file: string;
  fileKey: Uint8Array;
}

/** Larger than any header of a file with one passphrase. */
const HEADER_BYTES = 4096;

export async function unlockSealedFile(file: string, passphrase: Secret): Promise<UnlockedFile> {
  const start = await readStart(file);
  if (!start.subarray(0, 22).equals(Buffer.from("age-encryption.org/v1\n"))) {
    throw new Fault("invalid", `${file} is not an export of Headgate.`);
  }
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase.reveal());
  try {
    return { file, fileKey: await decrypter.decryptHeader(start) };
  } catch (cause) {
    throw new Fault("invalid", `${file} cannot be decrypted: the passphrase is wrong, or the file is damaged.`, {
      cause,
    });
  }
}

export async function readSealedFile({ file, fileKey }: UnlockedFile): Promise<Readable> {
  const decrypter = new Decrypter();
  decrypter.addIdentity({ unwrapFileKey: () => fileKey });
  try {
    return Readable.fromWeb(await decrypter.decrypt(Readable.toWeb(createReadStream(file))));
  } catch (cause) {
    throw damaged(file, cause);
  }
}

export function damaged(file: string, cause: unknown): Fault {
  return new Fault("invalid", `${file} is damaged or truncated and cannot be used. Use another copy.`, {
    cause,
  });
}

async function readStart(file: string): Promise<Buffer> {
  try {
    const handle = await open(file, "r");
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw new Fault("invalid", `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
