/**
 * The policies on objects (§2.6, §4.11, §4.14). A policy says who may do what with one object; a folder's policy also
 * applies to everything below the folder. The owner and system-admins are allowed everything. For others the nearest
 * policy with a verdict decides, and if there is none, the permission table (access-decision.ts).
 */
export const OBJECT_TYPES = ["note", "cluster", "scheduler", "environment", "folder", "dashboard"] as const;
export type ObjectType = (typeof OBJECT_TYPES)[number];

/** The types whose policies `object_policy` sets. Folders have their own operation; dashboards have no policy. */
export const SOURCE_TYPES = ["note", "cluster", "scheduler", "environment"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

export type FolderType = "notes" | "notebook_dashboards";

/** What a stored policy can belong to: an object, a folder, or a root of folders, which has no row of its own. */
export type PolicySource = SourceType | "folder" | `${FolderType}_root`;

export type PolicyAction = "read" | "update" | "write" | "delete" | "start" | "terminate" | "manage";

/** The actions that the elements of a policy can name, besides `all`. */
export const SOURCE_ACTIONS = {
  note: ["read", "update", "delete", "manage"],
  cluster: ["read", "update", "delete", "manage", "start", "terminate"],
  scheduler: ["read", "update", "delete", "manage"],
  environment: ["read", "update", "delete", "manage"],
  folder: ["read", "write", "manage"],
} as const satisfies Record<SourceType | "folder", readonly PolicyAction[]>;

export type Access = "allow" | "deny";

/** Without users and groups it applies to everyone; without actions, to every action. */
export interface PolicyElement {
  readonly access: Access;
  readonly action?: readonly string[];
  /** Membership ids, `svc_users` on the wire. */
  readonly users?: readonly number[];
  readonly groups?: readonly number[];
}

export type Policy = readonly PolicyElement[];

/** The folder of an object. Without a folder it lies directly in a root: of a member's home, or `Common`. */
export interface FolderRef {
  readonly type: FolderType;
  readonly folderId: number | null;
  /** The membership whose home it is; null for `Common`. Not used with a folder. */
  readonly homeId: number | null;
}

/** What a decision about access needs to know about the object. */
export interface PolicyObject {
  readonly type: ObjectType;
  /** Null: a root folder. */
  readonly id: number | null;
  /** The membership that owns it; null if there is none. */
  readonly ownerId: number | null;
  /** The folder that it lies in; a folder lies in itself. Absent for objects outside folders. */
  readonly folderRef?: FolderRef;
}

export interface Subject {
  readonly membershipId: number;
  readonly groupIds: ReadonlySet<number>;
}

export const commonRoot = (type: FolderType): FolderRef => ({ type, folderId: null, homeId: null });

/** The kinds of policies that can decide about an object of the type. */
export const POLICY_SOURCES: Record<ObjectType, readonly PolicySource[]> = {
  note: ["note", "folder", "notes_root"],
  cluster: ["cluster"],
  scheduler: ["scheduler"],
  environment: ["environment"],
  folder: ["folder", "notes_root", "notebook_dashboards_root"],
  dashboard: ["folder", "notebook_dashboards_root"],
};

/** The action to look up in the policy of a folder for an action on an object in it. */
export function folderAction(type: ObjectType, action: PolicyAction): PolicyAction {
  if (action === "read") return "read";
  return action === "manage" && type !== "dashboard" ? "manage" : "write";
}
