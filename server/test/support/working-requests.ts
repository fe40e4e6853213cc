type Objects = Record<string, string>;

/**
 * Bodies of valid requests about the objects of a tenant, by operation. Operations that are not here accept a sample of
 * their schema.
 */
export const WORKING_BODIES: Record<string, (objects: Objects) => Record<string, unknown>> = {
  command_submit: () => ({ command_type: "SparkCommand", language: "python", program: "true" }),
  partition_sensor_create: ({ schema, table }) => ({ schema, table, columns: [{ column: "day", values: ["1"] }] }),
  file_sensor_create: ({ object }) => ({ files: [object] }),
  user_enable: ({ users }) => ({ svc_user_id: users }),
  user_disable: ({ users }) => ({ svc_user_id: users }),
  cluster_create: () => ({ labels: ["created"], engine: { type: "local" } }),
  cluster_label_reassign: ({ cluster_id: cluster }) => ({ destination_cluster: cluster, label: "own-label" }),
  account_edit: () => ({}),
  notebook_create: () => ({ name: "created" }),
  notebook_import: () => ({ name: "imported", notebook: { nbformat: 4, metadata: {}, cells: [] } }),
  notebook_edit: () => ({ name: "edited", label: "" }),
  notebook_clone: () => ({ name: "cloned" }),
  notebook_move: () => ({ location: "Common" }),
  notebook_dashboard_create: ({ note_id: id }) => ({ note_id: id, name: "published" }),
  object_policy_set: ({ cluster_id: id }) => ({ source_type: "cluster", source_id: id, policy: "[]" }),
  folder_rename: ({ folder_id: id }) => ({ folder_id: id, name: "renamed", type: "notes" }),
  folder_move: ({ folder: location }) => ({ location, destination_location: "Common", type: "notes" }),
  folder_policy_set: ({ folder: location }) => ({ location, type: "notes", policy: "[]" }),
};

/** The same for queries. Operations that are not here need none. */
export const WORKING_QUERIES: Record<string, (objects: Objects) => Record<string, string>> = {
  object_policy_view: ({ cluster_id: id = "" }) => ({ source_type: "cluster", source_id: id }),
  access_explain: ({ cluster_id: id = "" }) => ({ source_type: "cluster", source_id: id, action: "read" }),
  folder_policy_view: ({ folder = "" }) => ({ location: folder, type: "notes" }),
};

/** The PUT requests that undo the edit of an operation in the account of the tenant `own`. */
export const REVERTING_REQUESTS: Record<string, (objects: Objects) => { path: string; body: Record<string, unknown> }> =
  {
    cluster_edit: ({ cluster_id: id }) => ({ path: `/api/v2/clusters/${id}`, body: { labels: ["own-label"] } }),
    group_edit: ({ group_id: id }) => ({ path: `/groups/${id}`, body: { name: "own-group" } }),
    role_edit: ({ role_id: id }) => ({ path: `/roles/${id}`, body: { name: "own-role" } }),
    account_edit: () => ({ path: "/api/v2/accounts", body: { name: "own-account" } }),
    notebook_edit: ({ note_id: id }) => ({ path: `/notebooks/${id}`, body: { name: "own-notebook", label: "" } }),
    folder_rename: ({ folder_id: id }) => ({
      path: "/folders/rename",
      body: { folder_id: id, name: "own-folder", type: "notes" },
    }),
  };

/** Replaces names except the probe by a unique one, so that a 409 does not hide the response that matters. */
export function withNewNames(body: Record<string, unknown>, name: string, probe?: string): Record<string, unknown> {
  return {
    ...body,
    ...("name" in body && body.name !== probe ? { name } : {}),
    ...("labels" in body && String(body.labels) !== probe ? { labels: [name] } : {}),
    ...("invitee_email" in body && body.invitee_email !== probe ? { invitee_email: `${name}@example.test` } : {}),
  };
}
