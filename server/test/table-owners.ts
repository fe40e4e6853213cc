/**
 * The owner of each table. Only the owner, a folder of `server/src`, writes it; the folders in `readers` name it in their
 * SQL, for the reason given. Locking a row counts as reading it. Rows that a foreign key deletes together with another row
 * are not counted as written. Migrations may write everything. `table-owners.test.ts` compares this list with the SQL.
 */
export interface OwnedTable {
  readonly owner: string;
  readonly readers?: Readonly<Record<string, string>>;
}

/** All tables, with the views and the functions that read some. */
export const TABLES: Readonly<Record<string, OwnedTable>> = {
  access_group: {
    owner: "access",
    readers: {
      admin: "finds the system-admins of an account",
      users: "resolves the groups of invitations and token resets",
    },
  },
  access_group_member: {
    owner: "access",
    readers: {
      admin: "finds the system-admins of an account",
      users: "protects system-admins from other members",
    },
  },
  access_group_role: { owner: "access", readers: { users: "compares the privileges of members" } },
  access_role: { owner: "access", readers: { users: "compares the privileges of members" } },
  account: {
    owner: "accounts",
    readers: {
      access: "reads the features of the caller's account, and serialises changes to its whitelist and admins",
      admin: "shows accounts",
      catalog: "finds the metastores of deleted accounts",
      clusters: "reads the idle timeout, and whether there are other accounts",
      users: "checks the account of an invitation, and serialises invitations",
    },
  },
  api_token: { owner: "access" },
  app: { owner: "apps", readers: { commands: "runs commands in apps, and stops the servers of stopped apps" } },
  app_server: { owner: "commands" },
  app_user: {
    owner: "access",
    readers: {
      accounts: "counts the accounts that a user creates, one after the other",
      admin: "shows members by their e-mail address",
      commands: "gives programs the e-mail address of their user",
      folders: "names the home of a member",
      users: "shows members by their e-mail address",
    },
  },
  audit_event: { owner: "access", readers: { admin: "finds the last addresses of members, and counts events" } },
  cluster: {
    owner: "clusters",
    readers: {
      access: "finds out whether the caller owns one",
      commands: "claims commands within the caps of clusters that are up",
    },
  },
  cluster_label: { owner: "clusters", readers: { commands: "finds the cluster of a submission" } },
  command: {
    owner: "commands",
    readers: {
      apps: "keeps apps that commands use",
      clusters: "keeps clusters that commands use, and ends idle ones",
    },
  },
  command_attempt: { owner: "commands" },
  command_publishing: { owner: "commands" },
  command_source_text: { owner: "commands" },
  command_tag: { owner: "commands" },
  dashboard: {
    owner: "notebooks",
    readers: {
      access: "finds out whether the caller owns one",
      folders: "measures and protects the contents of a folder before its deletion",
    },
  },
  dashboard_content: { owner: "notebooks" },
  effective_group_member: { owner: "access", readers: { users: "finds the members of groups" } },
  folder: {
    owner: "folders",
    readers: {
      access: "finds the policies above an object, and whether the caller owns a folder",
      notebooks: "finds the readable folders of notebooks and dashboards",
    },
  },
  folder_chain: { owner: "folders" },
  idempotency: { owner: "access" },
  invitation: { owner: "users" },
  member_with_email: { owner: "access", readers: { folders: "finds the home of a member" } },
  membership: {
    owner: "access",
    readers: {
      accounts: "counts members, and the accounts that a user has created",
      admin: "shows members, operators and system-admins",
      folders: "names the home of a member",
      users: "shows members, and decides who may act on whom",
    },
  },
  metastore: { owner: "catalog" },
  node: { owner: "commands" },
  note: {
    owner: "notebooks",
    readers: {
      access: "finds out whether the caller owns one",
      folders: "measures and protects the contents of a folder before its deletion",
    },
  },
  note_content: { owner: "notebooks" },
  object_policy: { owner: "access" },
  policy_rule: { owner: "access" },
  schema_migration: { owner: "db", readers: { admin: "shows whether a database is empty" } },
  whitelisted_ip: {
    owner: "access",
    readers: {
      accounts: "shows whom enforcing the whitelist would lock out",
      admin: "shows whom enforcing the whitelist would lock out",
    },
  },
};

/** SQL with an interpolated table name: by file and expression, the tables that the expression can stand for. */
export const INTERPOLATED_TABLES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  // a part of the same statement
  "access/policy/row-access.ts": { "{verdicts}": [] },
  "access/policy/store.ts": { "{owned}": ["cluster", "dashboard", "folder", "note"] },
  // a table of a Hive metastore, which has a database of its own
  "catalog/refresh/store.ts": { "{table}": [] },
  // a part of the same statement
  "commands/store/queue.ts": { "{commands}": [] },
  // every table: an export has the whole database
  "db/export/load-export.ts": { "{client.escapeIdentifier()}": [] },
  "db/export/tables-and-sequences.ts": { "{client.escapeIdentifier()}": [] },
  "db/export/write-export.ts": { "{client.escapeIdentifier()}": [] },
  // every table with a sealed column; the test counts the declaration of the column as the writing
  "db/reseal.ts": { "{table}": [] },
  // tables of Spark
  "engines/table-formats/with-table-formats.ts": { "{format}": [], "{name}": [] },
  "folders/store/deletion.ts": { "{type}": ["dashboard", "note"] },
  "notebooks/store/contents.ts": { "{owner}_content": ["dashboard_content", "note_content"] },
  "notebooks/store/list-readable.ts": { "{table}": ["dashboard", "note"] },
};
