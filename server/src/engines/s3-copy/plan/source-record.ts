import type { SourceFile } from "./planned-output.ts";

/** Sorts before every other character, so that keys whose parts it separates sort by the first part. */
export const SEPARATOR = "\0";
/** Marks a URI that does not end with the name. */
const WHOLE_URI = "\x01";

/** The path comes first, so that records sort by it; then the rest of the URI. */
export function sourceKey({ name, uri }: SourceFile): string {
  return `${name}${SEPARATOR}${uri.endsWith(name) ? uri.slice(0, uri.length - name.length) : WHOLE_URI + uri}`;
}

/** The ETag comes last, because those of some stores contain spaces. */
export function sourceValue({ size, modifiedMs, etag, storageClass }: SourceFile): string {
  return `${size} ${modifiedMs} ${storageClass ?? ""} ${etag ?? ""}`;
}

/** `key` and `value` as the functions above return them. */
export function decodeSource(key: string, value: string): SourceFile {
  const separator = key.indexOf(SEPARATOR);
  const name = key.slice(0, separator);
  const base = key.slice(separator + 1);
  const [size, modifiedMs, storageClass = "", ...etagWords] = value.split(" ");
  const etag = etagWords.join(" ");
  return {
    uri: base.startsWith(WHOLE_URI) ? base.slice(1) : base + name,
    name,
    size: Number(size),
    modifiedMs: Number(modifiedMs),
    etag: etag === "" ? null : etag,
    storageClass: storageClass === "" ? null : storageClass,
  };
}

/** Objects that only stand for a folder, as S3 consoles and old Hadoop versions create them. */
export function isFolderMarker({ name, size }: SourceFile): boolean {
  return size === 0 && (name.endsWith("/") || name.endsWith("_$folder$"));
}
