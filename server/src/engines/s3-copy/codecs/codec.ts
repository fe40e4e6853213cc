import { CodecError } from "./blocks/codec-error.ts";
import { isDecoded, notDecoded, type Codec, type DecodedCodec, type KnownCodec } from "./codec-table.ts";
import { decodeLzop, encodeLzop } from "./streams/lzop-stream.ts";
import { decodeSnappy, encodeSnappy } from "./streams/hadoop-snappy.ts";
import { abortable } from "./streams/stream-blocks.ts";
import { encodeGzip } from "./streams/gzip-encode.ts";
import { decodeZlib } from "./streams/zlib-decode.ts";

/*
 * Decodes and encodes the contents of files (`codec-table.ts`). Every stream needs a few MiB whatever its contents; zlib
 * works in libuv's threads, LZO and snappy in threads of their own.
 */
const decoders: Record<DecodedCodec, (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>> = {
  gzip: (source) => decodeZlib("gzip", source),
  lzo: decodeLzop,
  snappy: decodeSnappy,
  deflate: (source) => decodeZlib("deflate", source),
  zstd: (source) => decodeZlib("zstd", source),
};

/**
 * The decoded contents. Chunks come as they are read; a consumer that stops reading stops the source. Fails with
 * CodecError if the data is not what the codec says, with the source's own error, or with the signal's reason.
 */
export async function* decodeStream(
  codec: KnownCodec,
  source: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  if (!isDecoded(codec)) throw new CodecError(notDecoded(codec));
  yield* abortable(decoders[codec](abortable(source, signal)), signal);
}

const encoders: Record<Codec, (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>> = {
  gzip: encodeGzip,
  lzo: encodeLzop,
  snappy: encodeSnappy,
};

/** The encoded contents, read and stopped as those of `decodeStream`. Equal contents give equal bytes. */
export async function* encodeStream(
  codec: Codec,
  source: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  yield* abortable(encoders[codec](abortable(source, signal)), signal);
}
