import { ObjectStoreError, type ObjectStoreErrorKind } from "../object-store-error.ts";

const meanings: ReadonlyMap<string, readonly [ObjectStoreErrorKind, string]> = new Map([
  ["ENOENT", ["missing", "not found"]],
  ["ENOTDIR", ["missing", "not found"]],
  ["ELOOP", ["denied", "symbolic links are not followed"]],
  ["EACCES", ["denied", "access denied"]],
  ["EPERM", ["denied", "access denied"]],
  ["EROFS", ["denied", "read-only"]],
  ["EISDIR", ["bad-request", "a folder, not a file"]],
  ["ENXIO", ["bad-request", "not a regular file"]],
  ["ENAMETOOLONG", ["bad-uri", "a name is too long"]],
  ["ENOSPC", ["no-space", "the disk is full"]],
  ["EDQUOT", ["no-space", "the disk quota is exhausted"]],
]);

/** Translates the error of a system call; other errors are returned unchanged. */
export function fileFailure(subject: string, cause: unknown): unknown {
  if (!(cause instanceof Error && "syscall" in cause && "code" in cause && typeof cause.code === "string"))
    return cause;
  const { code } = cause;
  const [kind, description] = meanings.get(code) ?? ["unreachable", "the disk or file system fails"];
  return new ObjectStoreError(kind, `${subject}: ${description}`, { code, cause });
}
