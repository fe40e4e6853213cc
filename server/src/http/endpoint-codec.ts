import fastJson from "fast-json-stringify";
import type { TObject, TSchema } from "typebox";
import { inputReader, paramsReader, type InputReader } from "./input.ts";

/**
 * The compiled schemas of an endpoint. Most endpoints are not called for hours, so each is compiled once for all its
 * versions, on its first call. This saves half a second of startup and half of the memory.
 */
export interface EndpointCodec {
  readonly readParams: InputReader;
  readonly readQuery: InputReader;
  readonly readBody: InputReader;
  readonly writeReply: (reply: unknown) => string;
}

interface Schemas {
  params?: TObject;
  query?: TObject;
  body?: TObject;
  reply?: TSchema;
}

const codecs = new WeakMap<Schemas, EndpointCodec>();

export function codecOf(endpoint: Schemas): EndpointCodec {
  let codec = codecs.get(endpoint);
  if (codec === undefined) {
    codec = {
      readParams: paramsReader(endpoint.params),
      readQuery: inputReader(endpoint.query),
      readBody: inputReader(endpoint.body),
      // The library types schemas as JSON Schema draft 7; ours use the 2020 form of nullable types, which it reads.
      writeReply:
        endpoint.reply === undefined ? JSON.stringify : fastJson(endpoint.reply as Parameters<typeof fastJson>[0]),
    };
    codecs.set(endpoint, codec);
  }
  return codec;
}
