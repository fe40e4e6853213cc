import { Type, type Static } from "typebox";
import { Nullable, Timestamp } from "../http/schema.ts";
import type { PermissionRow, RolePermission } from "../access/permission.ts";

/** System-users may read and change the files of the storage. */
export function mayUseFiles(role: Extract<RolePermission, `file:${string}`>): PermissionRow {
  return { groups: ["system-user", "system-admin"], role };
}

export const FileParams = Type.Object({
  path: Type.String({
    maxLength: 32_768,
    examples: ["orders.csv"],
    description:
      "The path in the account's storage: everything after `files/`, with slashes, percent-decoded once. Names are not empty, `.` or `..`, and have no control characters",
  }),
});

export const FileObject = Type.Object(
  {
    path: Type.String({ description: "In the account's storage" }),
    size: Type.Integer({ description: "In bytes" }),
    etag: Nullable(
      Type.String({
        description: "Changes with the contents; for If-Match. Null if the store of the account has none",
      }),
    ),
    updated_at: Timestamp,
  },
  { title: "File" },
);

interface FoundFile {
  readonly size: number;
  readonly etag: string | null;
  readonly modifiedAt: Date;
}

export function fileObject(path: string, { size, etag, modifiedAt }: FoundFile): Static<typeof FileObject> {
  return { path, size, etag, updated_at: modifiedAt.toISOString().replace(/\.\d{3}Z$/, "Z") };
}
