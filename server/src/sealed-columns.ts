import { replyColumn } from "./access/idempotency.ts";
import { credentialColumns } from "./accounts/credentials.ts";
import { metastoreSecretColumns } from "./catalog/metastores/metastore-secrets.ts";
import { tokenColumn } from "./clusters/cluster-token.ts";
import { secretsColumn } from "./commands/credential-masking/command-secrets.ts";
import type { SealedColumn } from "./db/sealed-column.ts";

/** All columns with sealed values; a key rotation reseals them. */
export const sealedColumns: readonly SealedColumn[] = [
  ...credentialColumns,
  replyColumn,
  tokenColumn,
  secretsColumn,
  ...metastoreSecretColumns,
];
