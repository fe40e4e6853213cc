import { crc32 } from "node:zlib";
import type { ByteReader } from "./byte-reader.ts";
import { adler32 } from "../blocks/adler32.ts";

/** The container of the program lzop, version 1.x. Numbers are big-endian. */
const MAGIC = Buffer.from([0x89, 0x4c, 0x5a, 0x4f, 0x00, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Old versions, because readers refuse files of newer libraries although the format has not changed. */
const VERSION = 0x1010;
const LIBRARY_VERSION = 0x2000;
const VERSION_NEEDED = 0x0940;
const NEWEST_VERSION = 0x10ff;
/** Older files lack the fields `version needed`, `level` and the upper half of the time. */
const FIRST_VERSION_WITH_LEVEL = 0x0940;

/** 1, 2 and 3 are compressors of LZO1X, which have the same decompressor. */
const LZO1X_METHODS: readonly number[] = [1, 2, 3];
const LEVEL = 5;

export const lzopFlags = {
  adler32OfData: 0x1,
  adler32OfCompressed: 0x2,
  extraField: 0x40,
  crc32OfData: 0x100,
  crc32OfCompressed: 0x200,
  filter: 0x800,
  crc32OfHeader: 0x1000,
} as const;

const UNIX = 0x03000000;

/** A header without a name and a time, so that equal contents give equal files. */
export function lzopHeader(): Buffer {
  const fields = Buffer.alloc(25);
  fields.writeUInt16BE(VERSION, 0);
  fields.writeUInt16BE(LIBRARY_VERSION, 2);
  fields.writeUInt16BE(VERSION_NEEDED, 4);
  fields.writeUInt8(LZO1X_METHODS[0] ?? 1, 6);
  fields.writeUInt8(LEVEL, 7);
  fields.writeUInt32BE(UNIX | lzopFlags.adler32OfData, 8);
  fields.writeUInt32BE(0o100644, 12); // the mode; times and the length of the name follow as zeros
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(adler32(fields));
  return Buffer.concat([MAGIC, fields, checksum]);
}

/** Reads a header and returns its flags. */
export async function readLzopHeader(reader: ByteReader): Promise<number> {
  const isFirst = reader.position === 0;
  const magic = await reader.read(MAGIC.length);
  if (!magic.equals(MAGIC)) {
    throw reader.error(isFirst ? "not an lzop file" : "the data after an lzop file is not another lzop file");
  }
  const fields = new HeaderFields(reader);
  const version = await fields.number(2);
  await fields.number(2); // the version of the library
  const hasLevel = version >= FIRST_VERSION_WITH_LEVEL;
  const needed = hasLevel ? await fields.number(2) : version;
  if (needed > NEWEST_VERSION) throw reader.error(`lzop ${needed.toString(16)} is needed for this file`);
  const method = await fields.number(1);
  if (!LZO1X_METHODS.includes(method)) {
    throw reader.error(`lzop method ${method} is not supported: only LZO1X (1, 2 and 3) is`);
  }
  if (hasLevel) await fields.number(1);
  const flags = await fields.number(4);
  if ((flags & lzopFlags.filter) !== 0) throw reader.error("lzop filters are not supported");
  await fields.number(4); // the mode
  await fields.number(4); // the time
  if (hasLevel) await fields.number(4);
  await fields.skip(await fields.number(1)); // the name
  const sum = (flags & lzopFlags.crc32OfHeader) === 0 ? adler32 : crc32;
  await fields.verify("header", sum);
  if ((flags & lzopFlags.extraField) !== 0) {
    const extra = new HeaderFields(reader);
    await extra.skip(await extra.number(4));
    await extra.verify("extra field", sum);
  }
  return flags;
}

const MAX_HEADER_BYTES = 1024 * 1024;

/** Remembers the bytes that it has read, for the checksum. */
class HeaderFields {
  readonly #reader: ByteReader;
  readonly #read: Buffer[] = [];

  constructor(reader: ByteReader) {
    this.#reader = reader;
  }

  async number(bytes: number): Promise<number> {
    const field = await this.#reader.read(bytes);
    this.#read.push(field);
    return field.readUIntBE(0, bytes);
  }

  async skip(bytes: number): Promise<void> {
    if (bytes > MAX_HEADER_BYTES) throw this.#reader.error("the lzop header is longer than 1 MiB");
    this.#read.push(await this.#reader.read(bytes));
  }

  async verify(what: string, sum: (bytes: Uint8Array) => number): Promise<void> {
    const expected = await this.#reader.readUInt32();
    if (sum(Buffer.concat(this.#read)) !== expected) throw this.#reader.error(`lzop ${what} checksum differs`);
  }
}
