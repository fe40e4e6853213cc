import { createHash } from "node:crypto";
import { parentPort } from "node:worker_threads";
import { Fault } from "../lib/fault.ts";
import { jsonBody } from "./json-body.ts";

/** The worker thread of `body-parser.ts`. */
export interface ParseRequest {
  readonly bytes: Uint8Array;
  readonly maxValues: number;
}

export type ParseReply =
  | { readonly kind: "parsed"; readonly value: unknown; readonly sha256: Uint8Array }
  | { readonly kind: "refused"; readonly message: string };

parentPort?.on("message", (request: ParseRequest) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(parse(request));
});

function parse({ bytes, maxValues }: ParseRequest): ParseReply {
  try {
    if (hasMoreValues(bytes, maxValues)) {
      throw new Fault("malformed", `The body has more than ${maxValues} values.`);
    }
    const value = jsonBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    return { kind: "parsed", value, sha256: createHash("sha256").update(bytes).digest() };
  } catch (error) {
    return { kind: "refused", message: error instanceof Fault ? error.publicMessage : "The body is not valid JSON." };
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** A value begins after each of `[`, `{`, `,` and `:`. */
const BEFORE_VALUES = new Set(["[", "{", ",", ":"].map((mark) => mark.charCodeAt(0)));

function hasMoreValues(bytes: Uint8Array, most: number): boolean {
  let found = 0;
  let isInText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (isInText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInText = false;
    } else if (byte === QUOTE) {
      isInText = true;
    } else if (BEFORE_VALUES.has(byte)) {
      found += 1;
      if (found > most) return true;
    }
  }
  return false;
}
