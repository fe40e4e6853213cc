import { crc32 } from "node:zlib";

/**
 * A record of a spool's index. Records have a fixed size, so that each can be read directly. The first describes the
 * schema, each further one a batch as it was received. A record is written after the bytes that it describes.
 */
export interface SpoolRecord {
  /** Offset in the data file where its bytes end; they start where those of the previous record end. */
  readonly end: number;
  /** Rows of this and all previous records. */
  readonly rows: number;
  /** Checksum of its bytes in the data file. */
  readonly crc: number;
  /** Position in the Spark Connect stream; empty for the schema. */
  readonly position: string;
}

/*
 * | bytes | little-endian |
 * |---|---|
 * | 0–7 | end |
 * | 8–15 | rows |
 * | 16–19 | crc of the data |
 * | 20–59 | position, ASCII, padded with zeros |
 * | 60–63 | crc of bytes 0–59 |
 */
export const RECORD_BYTES = 64;
const POSITION_AT = 20;
const OWN_CRC_AT = 60;
const MAX_POSITION_BYTES = OWN_CRC_AT - POSITION_AT;

export function encodeRecord({ end, rows, crc, position }: SpoolRecord): Buffer {
  if (!/^[\x21-\x7e]*$/.test(position) || position.length > MAX_POSITION_BYTES) {
    throw new Error(
      `the stream position ${JSON.stringify(position.slice(0, 100))} is not printable ASCII of at most ${MAX_POSITION_BYTES} bytes`,
    );
  }
  const bytes = Buffer.alloc(RECORD_BYTES);
  bytes.writeBigUInt64LE(BigInt(end), 0);
  bytes.writeBigUInt64LE(BigInt(rows), 8);
  bytes.writeUInt32LE(crc, 16);
  bytes.write(position, POSITION_AT, "latin1");
  bytes.writeUInt32LE(crc32(bytes.subarray(0, OWN_CRC_AT)), OWN_CRC_AT);
  return bytes;
}

/** Undefined if the record is incomplete or damaged. */
export function decodeRecord(bytes: Buffer, at: number): SpoolRecord | undefined {
  const record = bytes.subarray(at, at + RECORD_BYTES);
  if (record.length < RECORD_BYTES) return undefined;
  if (crc32(record.subarray(0, OWN_CRC_AT)) !== record.readUInt32LE(OWN_CRC_AT)) return undefined;
  return {
    end: Number(record.readBigUInt64LE(0)),
    rows: Number(record.readBigUInt64LE(8)),
    crc: record.readUInt32LE(16),
    position: record.toString("latin1", POSITION_AT, OWN_CRC_AT).replace(/\0+$/, ""),
  };
}
