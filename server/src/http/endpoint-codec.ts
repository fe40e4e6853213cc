import fastJson from "fast-json-stringify";
import type { TObject, TSchema } from "typebox";
import { inputReader, paramsReader, type InputReader } from "./input.ts";

/**
 * The compiled schemas of an endpoint. An endpoint answers under several versions and most are not called for hours, so
 * they are compiled once per endpoint, when first needed: that is half a second of a start and half of its memory.
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
