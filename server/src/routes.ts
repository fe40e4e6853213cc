/**
 * All operations: every operation in this list is routed, checked, documented and in the permission matrix. The
 * reference shows them in this order, so the ones that most people need come first.
 */
import { listAuditEvents } from "./access/audit/list-audit-events.ts";
import { addGroupUsers } from "./access/groups/add-group-users.ts";
import { assignRole } from "./access/groups/assign-role.ts";
import { createGroup } from "./access/groups/create-group.ts";
import { deleteGroup } from "./access/groups/delete-group.ts";
import { duplicateGroup } from "./access/groups/duplicate-group.ts";
import { editGroup } from "./access/groups/edit-group.ts";
import { listGroupRoles } from "./access/groups/list-group-roles.ts";
import { listGroupUsers } from "./access/groups/list-group-users.ts";
import { listGroups } from "./access/groups/list-groups.ts";
import { listRoleGroups } from "./access/groups/list-role-groups.ts";
import { removeGroupUsers } from "./access/groups/remove-group-users.ts";
import { unassignRole } from "./access/groups/unassign-role.ts";
import { viewGroup } from "./access/groups/view-group.ts";
import { explainAccess } from "./access/policy/explain-access.ts";
import { setObjectPolicy } from "./access/policy/set-object-policy.ts";
import { viewObjectPolicy } from "./access/policy/view-object-policy.ts";
import { createRole } from "./access/roles/create-role.ts";
import { deleteRole } from "./access/roles/delete-role.ts";
import { duplicateRole } from "./access/roles/duplicate-role.ts";
import { editRole } from "./access/roles/edit-role.ts";
import { listRoles } from "./access/roles/list-roles.ts";
import { viewRole } from "./access/roles/view-role.ts";
import { addWhitelistedIp } from "./access/whitelist/add-whitelisted-ip.ts";
import { listWhitelist } from "./access/whitelist/list-whitelisted-ips.ts";
import { removeWhitelistedIps } from "./access/whitelist/delete-whitelisted-ips.ts";
import { createAccount } from "./accounts/create-account.ts";
import { editAccount } from "./accounts/edit-account.ts";
import { editFeatures } from "./accounts/edit-features.ts";
import { getCredentials } from "./accounts/get-credentials.ts";
import { listAllAccounts } from "./accounts/list-accounts.ts";
import { viewAccount } from "./accounts/view-account.ts";
import { viewAccountV2 } from "./accounts/view-account-v2.ts";
import { viewFeatures } from "./accounts/view-features.ts";
import { createApp } from "./apps/create-app.ts";
import { deleteApp } from "./apps/delete-app.ts";
import { listApps } from "./apps/list-apps.ts";
import { stopApp } from "./apps/stop-app.ts";
import { viewApp } from "./apps/view-app.ts";
import { listPartitions } from "./catalog/list-partitions.ts";
import { listSchemas } from "./catalog/list-schemas.ts";
import { listTables } from "./catalog/list-tables.ts";
import { createFileSensor } from "./catalog/sensors/create-file-sensor.ts";
import { createPartitionSensor } from "./catalog/sensors/create-partition-sensor.ts";
import { viewTable } from "./catalog/view-table.ts";
import { viewTableProperties } from "./catalog/view-table-properties.ts";
import { changeClusterState } from "./clusters/change-state.ts";
import { cloneCluster } from "./clusters/clone-cluster.ts";
import { createCluster } from "./clusters/create-cluster.ts";
import { deleteCluster } from "./clusters/delete-cluster.ts";
import { editCluster } from "./clusters/edit-cluster.ts";
import { listClusters } from "./clusters/list-clusters.ts";
import { reassignLabel } from "./clusters/reassign-label.ts";
import { listClusterAccess } from "./clusters/list-access.ts";
import { viewCluster } from "./clusters/view-cluster.ts";
import { viewClusterState } from "./clusters/view-state.ts";
import { cancelCommand } from "./commands/cancel-command.ts";
import { editNode } from "./commands/edit-node.ts";
import { listCommandAttempts } from "./commands/list-attempts.ts";
import { listHistory } from "./commands/list-history.ts";
import { listJobs } from "./commands/list-jobs.ts";
import { listNodes } from "./commands/list-nodes.ts";
import { rerunCommand } from "./commands/rerun-command.ts";
import { submitCommand } from "./commands/submit-command.ts";
import { viewCommand } from "./commands/view-command.ts";
import { viewErrorLog } from "./commands/view-error-log.ts";
import { viewLogs } from "./commands/view-logs.ts";
import { viewResults } from "./commands/view-results.ts";
import { viewStatusWithResults } from "./commands/view-status-with-results.ts";
import { deleteFiles } from "./files/delete-files.ts";
import { downloadFile } from "./files/download-file.ts";
import { listFiles } from "./files/list-files.ts";
import { uploadFile } from "./files/upload-file.ts";
import { createFolder } from "./folders/create-folder.ts";
import { deleteFolder } from "./folders/delete-folder.ts";
import { listFolders } from "./folders/list-folders.ts";
import { moveFolder } from "./folders/move-folder.ts";
import { renameFolder } from "./folders/rename-folder.ts";
import { setFolderPolicy } from "./folders/set-folder-policy.ts";
import { viewFolder } from "./folders/view-folder.ts";
import { viewFolderPolicy } from "./folders/view-folder-policy.ts";
import { cloneNotebook } from "./notebooks/clone-notebook.ts";
import { createNotebook } from "./notebooks/create-notebook.ts";
import { createDashboard } from "./notebooks/dashboards/create-dashboard.ts";
import { deleteDashboard } from "./notebooks/dashboards/delete-dashboard.ts";
import { listDashboards } from "./notebooks/dashboards/list-dashboards.ts";
import { publishDashboard } from "./notebooks/dashboards/publish-dashboard.ts";
import { viewDashboard } from "./notebooks/dashboards/view-dashboard.ts";
import { deleteNotebook } from "./notebooks/delete-notebook.ts";
import { editNotebook } from "./notebooks/edit-notebook.ts";
import { exportNotebook } from "./notebooks/export-notebook.ts";
import { importNotebook } from "./notebooks/import-notebook.ts";
import { listNotebooks } from "./notebooks/list-notebooks.ts";
import { moveNotebook } from "./notebooks/move-notebook.ts";
import { viewNotebook } from "./notebooks/view-notebook.ts";
import { acceptInvitation } from "./users/accept-invitation.ts";
import { disableUser } from "./users/disable-user.ts";
import { enableUser } from "./users/enable-user.ts";
import { getPendingUsers } from "./users/get-pending-users.ts";
import { getUserEmails } from "./users/get-user-emails.ts";
import { getUsers } from "./users/get-users.ts";
import { inviteUser } from "./users/invite-user.ts";
import { listUsers } from "./users/list-users.ts";
import { resetTokens } from "./users/reset-tokens.ts";

export const endpoints = [
  // commands (§4.2–4.6)
  submitCommand,
  viewCommand,
  viewStatusWithResults,
  viewResults,
  viewLogs,
  viewErrorLog,
  listHistory,
  cancelCommand,
  rerunCommand,
  listJobs,
  listCommandAttempts,
  // the catalog of tables (§4.8)
  listSchemas,
  listTables,
  viewTable,
  viewTableProperties,
  listPartitions,
  // sensors (§4.9)
  createPartitionSensor,
  createFileSensor,
  // files of the account's storage
  uploadFile,
  downloadFile,
  listFiles,
  deleteFiles,
  // clusters
  listClusters,
  viewCluster,
  listClusterAccess,
  createCluster,
  editCluster,
  deleteCluster,
  cloneCluster,
  reassignLabel,
  viewClusterState,
  changeClusterState,
  // apps (§4.3)
  createApp,
  listApps,
  viewApp,
  stopApp,
  deleteApp,
  // folders (§4.11)
  listFolders,
  viewFolder,
  createFolder,
  renameFolder,
  moveFolder,
  deleteFolder,
  setFolderPolicy,
  viewFolderPolicy,
  // notebooks
  createNotebook,
  listNotebooks,
  viewNotebook,
  editNotebook,
  deleteNotebook,
  cloneNotebook,
  moveNotebook,
  importNotebook,
  exportNotebook,
  // dashboards
  createDashboard,
  listDashboards,
  viewDashboard,
  publishDashboard,
  deleteDashboard,
  // accounts (§4.12)
  viewAccountV2,
  viewAccount,
  createAccount,
  editAccount,
  getCredentials,
  // users (§4.12)
  getUsers,
  getPendingUsers,
  getUserEmails,
  listUsers,
  inviteUser,
  acceptInvitation,
  enableUser,
  disableUser,
  resetTokens,
  // access: groups and their roles (§4.13)
  listGroups,
  viewGroup,
  createGroup,
  editGroup,
  deleteGroup,
  duplicateGroup,
  listGroupUsers,
  addGroupUsers,
  removeGroupUsers,
  listGroupRoles,
  assignRole,
  unassignRole,
  // access: roles
  listRoles,
  viewRole,
  listRoleGroups,
  createRole,
  editRole,
  duplicateRole,
  deleteRole,
  // access: policies of objects (§4.14)
  setObjectPolicy,
  viewObjectPolicy,
  explainAccess,
  // access: IP whitelist (§4.1)
  addWhitelistedIp,
  listWhitelist,
  removeWhitelistedIps,
  // access: audit
  listAuditEvents,
  // the operator's view of accounts
  listAllAccounts,
  viewFeatures,
  editFeatures,
  // the operator's view of nodes
  listNodes,
  editNode,
] as const;
