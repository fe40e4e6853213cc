/**
 * The compression of files, recognised by their extensions as in Hadoop (§4.4, `outputCodec`). Plans and streams use the
 * same table, so that every file that a plan allows can be decoded.
 *
 * | Codec | Extension | Decoded | Encoded |
 * |---|---|---|---|
 * | `gzip` | `.gz` | yes | yes |
 * | `lzo` | `.lzo` (lzop container) | yes | yes |
 * | `snappy` | `.snappy` (Hadoop's block format) | yes | yes |
 * | `deflate` | `.deflate` (zlib) | yes | no |
 * | `zstd` | `.zst` | yes | no |
 * | `bzip2`, `lz4`, `lzo-deflate`, `xz`, `zip`, `7z` | `.bz2`, `.lz4`, `.lzo_deflate`, `.xz`, `.zip`, `.7z` | no | no |
 */
export type Codec = "gzip" | "lzo" | "snappy";
export type DecodedCodec = Codec | "deflate" | "zstd";
export type KnownCodec = DecodedCodec | "bzip2" | "lz4" | "lzo-deflate" | "xz" | "zip" | "7z";

const decodedExtensions: Readonly<Record<DecodedCodec, string>> = {
  gzip: ".gz",
  lzo: ".lzo",
  snappy: ".snappy",
  deflate: ".deflate",
  zstd: ".zst",
};
const extensions: Readonly<Record<KnownCodec, string>> = {
  ...decodedExtensions,
  bzip2: ".bz2",
  lz4: ".lz4",
  "lzo-deflate": ".lzo_deflate",
  xz: ".xz",
  zip: ".zip",
  "7z": ".7z",
};
const byExtension: ReadonlyMap<string, KnownCodec> = new Map(
  Object.entries(extensions).map(([codec, extension]) => [extension, codec as KnownCodec]), // the keys of the table
);

/** The codec that belongs to the name's extension; null: none. A name that is only an extension (`a/.gz`) has none. */
export function codecOf(name: string): KnownCodec | null {
  const dot = name.lastIndexOf(".");
  if (dot <= name.lastIndexOf("/") + 1) return null;
  return byExtension.get(name.slice(dot)) ?? null;
}

/** With the dot. */
export function extensionOf(codec: KnownCodec): string {
  return extensions[codec];
}

export function isDecoded(codec: KnownCodec): codec is DecodedCodec {
  return codec in decodedExtensions;
}

/** Says why files of this codec cannot be decoded, and what to do; for a message that names the file first. */
export function notDecoded(codec: KnownCodec): string {
  const known = Object.values(decodedExtensions).join(", ");
  return (
    `${extensions[codec]} files cannot be decoded; those that can: ${known}. ` +
    "Copy it without --outputCodec, which leaves the contents unchanged"
  );
}
