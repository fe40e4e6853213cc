import { ObjectStoreError, type ObjectStoreErrorKind } from "../object-store-error.ts";

const meanings: ReadonlyMap<string, readonly [ObjectStoreErrorKind, string]> = new Map([
  ["ENOENT", ["missing", "not found"]],
  ["ENOTDIR", ["missing", "not found"]],
  ["ELOOP", ["denied", "symbolic links are not followed"]],
  ["EACCES", ["denied", "access denied"]],
  ["EPERM", ["denied", "access denied"]],
  ["EROFS", ["denied", "read-only"]],
  ["EISDIR", ["bad-request", "a folder, not a file"]],
  ["ENXIO", ["bad-request", "not a plain file"]],
  ["ENAMETOOLONG", ["bad-uri", "a name is too long"]],
  ["ENOSPC", ["no-space", "the disk is full"]],
  ["EDQUOT", ["no-space", "the disk quota is used up"]],
]);

/** What a system call says, in the words of `ObjectStoreError`; what is no system call's passes as it is. */
export function fileFailure(subject: string, cause: unknown): unknown {
  if (!(cause instanceof Error && "syscall" in cause && "code" in cause && typeof cause.code === "string"))
    return cause;
  const { code } = cause;
  const [kind, words] = meanings.get(code) ?? ["unreachable", "the disk fails"];
  return new ObjectStoreError(kind, `${subject}: ${words}`, { code, cause });
}
