import { crc32 } from "node:zlib";

/**
 * The index of a spool: records of one size, so that the n-th is found without the others. The first tells of the
 * schema, each further one of one batch, as it was received. A record is written only after the bytes it tells of are on
 * the disk.
 */
export interface SpoolRecord {
  /** Where its bytes end in the data file; they begin where those of the record before end. */
  readonly end: number;
  /** Rows up to here. */
  readonly rows: number;
  /** Of its bytes. */
  readonly crc: number;
  /** In the stream it came from; empty for the schema. */
  readonly position: string;
}

/*
 * | bytes | little-endian |
 * |---|---|
 * | 0–7 | end |
 * | 8–15 | rows |
 * | 16–19 | crc of the data |
 * | 20–59 | position, ASCII, filled up with zeros |
 * | 60–63 | crc of bytes 0–59 |
 */
export const RECORD_BYTES = 64;
const POSITION_AT = 20;
const OWN_CRC_AT = 60;
const LONGEST_POSITION = OWN_CRC_AT - POSITION_AT;

export function encodeRecord({ end, rows, crc, position }: SpoolRecord): Buffer {
  if (!/^[\x21-\x7e]*$/.test(position) || position.length > LONGEST_POSITION) {
    throw new Error(`a position of an unexpected form: ${JSON.stringify(position.slice(0, 100))}`);
  }
  const bytes = Buffer.alloc(RECORD_BYTES);
  bytes.writeBigUInt64LE(BigInt(end), 0);
  bytes.writeBigUInt64LE(BigInt(rows), 8);
  bytes.writeUInt32LE(crc, 16);
  bytes.write(position, POSITION_AT, "latin1");
  bytes.writeUInt32LE(crc32(bytes.subarray(0, OWN_CRC_AT)), OWN_CRC_AT);
  return bytes;
}

/** Undefined: not a whole record. */
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
