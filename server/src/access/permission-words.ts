import type { Resource, RolePermission } from "./permission.ts";

/** A permission in words that follow "may", for readers of the reference: `cluster:update` is "update clusters". */
export function permissionWords(permission: RolePermission): string {
  const [resource, action] = permission.split(":") as [Resource, string]; // as the type of the template says
  const noun = NOUNS[resource];
  return SPECIAL[permission] ?? (action === "manage" ? `set the policies of ${noun}` : `${action} ${noun}`);
}

const NOUNS: Record<Resource, string> = {
  account: "the account",
  app: "apps",
  cluster: "clusters",
  command: "commands",
  datastore: "data stores",
  environment: "environments",
  file: "files",
  folder: "folders",
  group: "groups",
  note: "notebooks",
  notebook_dashboards: "dashboards",
  object_storage: "the tables in object storage",
  role: "roles",
  scheduler: "schedules",
  sensor: "sensors",
  svc_user: "users",
};

/** Those whose action has a clearer name. */
const SPECIAL: Partial<Record<RolePermission, string>> = {
  "account:create": "create accounts",
  "command:create": "submit commands",
  "folder:write": "change folders",
  "svc_user:create": "invite users",
};
