/**
 * Messages of a hostile Spark Connect server, as bytes. They are written by hand, because a library would need as long to
 * write them as it needs to read them.
 */
import type { Metadata } from "@grpc/grpc-js";
import { sparkError } from "./scripted-connect.ts";

const MIB = 1024 * 1024;
const MILLION = 1_000_000;
const LENGTH_DELIMITED = 2;

/** A field with a length, as protobuf writes it. */
export function field(number: number, body: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + LENGTH_DELIMITED), varint(body.length), body]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

/** That many empty messages in the field of that number. */
export function emptyMessages(number: number, count: number): Buffer {
  return Buffer.alloc(2 * count, Buffer.from([number * 8 + LENGTH_DELIMITED, 0]));
}

// The numbers of fields in Spark's definitions.
const RESPONSE_ID = 13;
const PROGRESS = 18;
const SCHEMA = 7;
const ARROW_BATCH = 2;

const STAGES = 1;
const STRUCT = 21;
const ARRAY = 20;
const LONG = field(7, Buffer.alloc(0));

/** Progress of that many stages, of which nothing is known. */
export function stages(count: number): Buffer {
  return field(PROGRESS, emptyMessages(STAGES, count));
}

/** A schema whose only column is an array of arrays, with that many levels. */
export function deepSchema(levels: number): Buffer {
  // From the inside, as bytes in reverse order, because each length is that of all inner levels.
  const reversed = [...LONG].toReversed();
  const close = (number: number): void => {
    const head = [...varint(number * 8 + LENGTH_DELIMITED), ...varint(reversed.length)];
    reversed.push(...head.toReversed());
  };
  for (let level = 1; level < levels; level += 1) {
    close(1);
    close(ARRAY);
  }
  return field(SCHEMA, field(STRUCT, field(1, field(2, Buffer.from(reversed.toReversed())))));
}

/** A schema with that many columns of that name. */
export function wideSchema(columns: number, name = "c"): Buffer {
  const one = field(1, Buffer.concat([field(1, Buffer.from(name)), field(2, LONG)]));
  return field(SCHEMA, field(STRUCT, Buffer.alloc(columns * one.length, one)));
}

/** Bytes that look like rows but are none. */
export function rows(bytes: number): Buffer {
  return field(ARROW_BATCH, field(2, Buffer.alloc(bytes)));
}

/** The messages that a query names; see `hostile-connect-main.ts`. */
export const hostileMessages: Readonly<Record<string, () => Buffer>> = {
  "4 million stages": () => stages(4 * MILLION),
  "9,999 stages": () => stages(9_999),
  "20,000 columns": () => wideSchema(20_000),
  "425,000 stages": () => stages(425_000),
  "4 million batches": () => emptyMessages(ARROW_BATCH, 4 * MILLION),
  "a long id": () => field(RESPONSE_ID, Buffer.alloc(300 * 1024, "x")),
  "200,000 levels": () => deepSchema(200_000),
  "200,000 columns": () => wideSchema(200_000),
  "a long column": () => wideSchema(1, "x".repeat(3 * MIB)),
  "7 MiB of rows": () => rows(7 * MIB),
  "70 MiB": () => rows(70 * MIB),
  progress: () => stages(1),
};

/** The trailer of an error that Spark would send. */
export function errorTrailers(errorClass: string): Record<string, string> {
  const { details, metadata } = sparkError(errorClass) as Error & { details: string; metadata: Metadata };
  const [bytes] = metadata.get("grpc-status-details-bin");
  return trailers(13, details, Buffer.from(bytes ?? ""));
}

export function trailers(
  status: number,
  message = "",
  statusDetails: Buffer = Buffer.alloc(0),
): Record<string, string> {
  return {
    "grpc-status": String(status),
    ...(message === "" ? {} : { "grpc-message": encodeURI(message) }),
    ...(statusDetails.length === 0 ? {} : { "grpc-status-details-bin": statusDetails.toString("base64") }),
  };
}
