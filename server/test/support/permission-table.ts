/**
 * The permission table, written by hand from the specification (§5) and the decisions that complete it. It deliberately
 * repeats what the endpoints say: a test compares the two, so a slip in one place is not enough to open an operation.
 * Do not fill in a row by copying it from the endpoint.
 */
export interface TableRow {
  groups: readonly string[];
  role: string;
  /** The action of the object's policy that the row belongs to, if not that of the operation. */
  action?: string;
}

/** `member`: every active member. `operator`: operators; 404 for others. `public`: no token. */
export type TableEntry = TableRow | "member" | "operator" | "public";

const both = (role: string): TableRow => ({ groups: ["system-user", "system-admin"], role });
const admins = (role: string): TableRow => ({ groups: ["system-admin"], role });

/** The rows of the table in §5. */
const SECTION_5: Record<string, TableEntry> = {
  // IP whitelist add, list, delete | system-user, system-admin | editing an account
  whitelist_ip_add: both("account:update"),
  whitelist_ip_list: both("account:update"),
  whitelist_ip_delete: both("account:update"),
  // Submit Spark, Hadoop, refresh commands | system-user, system-admin | submitting a command
  command_submit: both("command:create"),
  // View command history | system-user, system-admin | viewing the command history
  command_list: both("command:read"),
  // Create account | system-user, system-admin | creating an account
  account_create: both("account:create"),
  // View account, get_users, get_user_emails | system-user, system-admin | viewing an account's details
  account_view_v1: both("account:read"),
  account_view: both("account:read"),
  account_users: both("account:read"),
  account_user_emails: both("account:read"),
  // get_pending_users | system-admin | viewing an account's details
  account_pending_users: admins("account:read"),
  // Enable user | system-user, system-admin | enabling users
  user_enable: both("svc_user:update"),
  // Rename folder | system-user, system-admin | submitting a command
  folder_rename: both("command:create"),
  // Set folder policy | system-user, system-admin, or a user with manage permission on folders | submitting a command
  folder_policy_set: both("command:create"),
  // List Hive tables | system-admin | viewing Hive tables
  hive_tables: admins("object_storage:read"),
  // Create partition sensor | system-user, system-admin | creating a sensor
  partition_sensor_create: both("sensor:create"),
  // Assign role to group | system-user, system-admin | assigning roles to a group
  group_role_assign: both("group:update"),
  // Unassign role from group | system-user, system-admin | unassigning roles from a group
  group_role_unassign: both("group:update"),
};

/** Operations that §5 does not name: reads take the read row of their family, writes its write row. */
const FAMILIES: Record<string, TableEntry> = {
  // Commands: everyone who may read the history may view any command; cancelling and rerunning need the right to
  // submit.
  command_view: both("command:read"),
  command_results: both("command:read"),
  command_status_with_results: both("command:read"),
  command_logs: both("command:read"),
  command_error_log: both("command:read"),
  command_jobs: both("command:read"),
  command_attempts: both("command:read"),
  command_cancel: both("command:create"),
  command_rerun: both("command:create"),
  // The storage credentials are for those who may submit commands.
  account_credentials: both("command:create"),
  account_edit: both("account:update"),
  // The list of users has the same permission as get_users; disabling has the same as enabling.
  user_list: both("account:read"),
  user_disable: both("svc_user:update"),
  // Folders: viewing the policy needs the same permission as setting it.
  folder_policy_view: both("command:create"),
  folder_list: both("folder:read"),
  folder_view: both("folder:read"),
  folder_create: both("folder:write"),
  folder_move: both("folder:write"),
  folder_delete: both("folder:write"),
  hive_schemas: admins("object_storage:read"),
  hive_table: admins("object_storage:read"),
  hive_table_properties: admins("object_storage:read"),
  hive_partitions: admins("object_storage:read"),
  file_sensor_create: both("sensor:create"),
};

/** Groups, roles, tokens, invitations and the audit are for system-admins, or a role on what is changed. */
const ADMINISTRATION: Record<string, TableEntry> = {
  group_list: admins("group:read"),
  group_view: admins("group:read"),
  group_user_list: admins("group:read"),
  group_role_list: admins("group:read"),
  group_create: admins("group:create"),
  group_duplicate: admins("group:create"),
  group_edit: admins("group:update"),
  group_user_add: admins("group:update"),
  group_user_remove: admins("group:update"),
  group_delete: admins("group:delete"),
  role_list: admins("role:read"),
  role_view: admins("role:read"),
  role_group_list: admins("role:read"),
  role_create: admins("role:create"),
  role_duplicate: admins("role:create"),
  role_edit: admins("role:update"),
  role_delete: admins("role:delete"),
  user_invite: admins("svc_user:create"),
  audit_event_list: admins("account:read"),
  // A member's own token; resetting others' tokens needs more, as reset-tokens.test.ts proves.
  token_reset: "member",
  invitation_accept: "public",
};

/**
 * Policies: §5 "Set object policy" and "View object policy". The row depends on the type in the request; here a
 * notebook.
 */
const POLICIES: Record<string, TableEntry> = {
  object_policy_set: admins("note:manage"),
  object_policy_view: both("note:read"),
  // The permission to read the object; here a cluster.
  access_explain: both("cluster:read"),
};

/** Clusters and apps: every system-user works with them, system-admins set clusters up. */
const CLUSTERS_AND_APPS: Record<string, TableEntry> = {
  cluster_list: both("cluster:read"),
  cluster_view: both("cluster:read"),
  cluster_state_view: both("cluster:read"),
  cluster_create: admins("cluster:create"),
  cluster_access: admins("cluster:manage"),
  cluster_clone: admins("cluster:create"),
  cluster_edit: admins("cluster:update"),
  cluster_label_reassign: admins("cluster:update"),
  cluster_delete: admins("cluster:delete"),
  // Starting; terminating is the alternative below.
  cluster_state_change: both("cluster:start"),
  app_create: both("app:create"),
  app_list: both("app:read"),
  app_view: both("app:read"),
  app_stop: both("app:update"),
  app_delete: both("app:delete"),
};

const DASHBOARD_READERS: TableRow = {
  groups: ["system-user", "system-admin", "dashboard-user"],
  role: "notebook_dashboards:read",
};

/** Notebooks and dashboards: cloning needs the permission to read the original, and then to create in the folder. */
const NOTEBOOKS: Record<string, TableEntry> = {
  notebook_create: both("note:create"),
  notebook_import: both("note:create"),
  notebook_list: both("note:read"),
  notebook_view: both("note:read"),
  notebook_export: both("note:read"),
  notebook_clone: both("note:read"),
  notebook_edit: both("note:update"),
  notebook_move: both("note:update"),
  notebook_delete: both("note:delete"),
  notebook_dashboard_create: both("notebook_dashboards:create"),
  notebook_dashboard_list: DASHBOARD_READERS,
  notebook_dashboard_view: DASHBOARD_READERS,
  notebook_dashboard_publish: both("notebook_dashboards:update"),
  notebook_dashboard_delete: both("notebook_dashboards:delete"),
};

/** Files of the storage: file read, create, update, delete; system-users have all four. */
const FILES: Record<string, TableEntry> = {
  file_upload: both("file:create"),
  file_download: both("file:read"),
  file_list: both("file:read"),
  file_delete: both("file:delete"),
};

const OPERATORS: Record<string, TableEntry> = {
  account_list: "operator",
  account_features_view: "operator",
  account_features_edit: "operator",
  node_list: "operator",
  node_edit: "operator",
};

export const PERMISSION_TABLE: ReadonlyMap<string, TableEntry> = new Map(
  [SECTION_5, FAMILIES, ADMINISTRATION, POLICIES, CLUSTERS_AND_APPS, NOTEBOOKS, FILES, OPERATORS].flatMap(
    Object.entries,
  ),
);

/** Permissions that the handler checks after the gate: for a further object, or for a second effect of the request. */
export const FURTHER_PERMISSIONS: ReadonlyMap<string, string> = new Map([
  ["notebook_dashboard_create", "note:update"],
  ["file_upload", "file:update"],
]);

/** Alternative permissions of operations whose request selects the action or the type of the object. */
export const ALTERNATIVES: ReadonlyMap<string, readonly TableRow[]> = new Map<string, readonly TableRow[]>([
  ["cluster_state_change", [{ ...admins("cluster:terminate"), action: "terminate" }]],
  ["object_policy_set", [admins("cluster:manage"), admins("scheduler:manage"), admins("environment:manage")]],
  [
    "access_explain",
    [
      both("note:read"),
      both("scheduler:read"),
      both("environment:read"),
      both("folder:read"),
      // Explaining the rights of others needs the permission to set the policy.
      { ...admins("note:manage"), action: "set-policy" },
      { ...admins("cluster:manage"), action: "set-policy" },
      { ...admins("scheduler:manage"), action: "set-policy" },
      { ...admins("environment:manage"), action: "set-policy" },
      { ...both("command:create"), action: "set-policy" },
    ],
  ],
  ["object_policy_view", [both("cluster:read"), both("scheduler:read"), both("environment:read")]],
]);
