/**
 * The policies on objects (§2.6, §4.11, §4.14). A policy says who may do what with one object; a folder's policy also
 * applies to everything below the folder. The operations of an object are judged in this order: owner and system-admins
 * are allowed, then the nearest policy with a verdict decides, then the permission table (judgement.ts).
 */
export const OBJECT_TYPES = ["note", "cluster", "scheduler", "environment", "folder", "dashboard"] as const;
export type ObjectType = (typeof OBJECT_TYPES)[number];

/** The types whose policies `object_policy` sets. Folders have their own operation; dashboards have no policy. */
export const SOURCE_TYPES = ["note", "cluster", "scheduler", "environment"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

export type FolderType = "notes" | "notebook_dashboards";

/** The owners of stored policies: objects, folders, and the roots of folders, which have no rows of their own. */
export type PolicySource = SourceType | "folder" | `${FolderType}_root`;

export type PolicyAction = "read" | "update" | "write" | "delete" | "start" | "terminate" | "manage";

/** The actions that elements can name, besides `all`. */
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
export interface Place {
  readonly type: FolderType;
  readonly folderId: number | null;
  /** The membership whose home it is; only known, and only needed, without a folder. */
  readonly homeId: number | null;
}

/** What the judgement of an operation needs to know about its object. */
export interface PolicyObject {
  readonly type: ObjectType;
  /** Null: a root folder. */
  readonly id: number | null;
  /** The membership that owns it. */
  readonly ownerId: number | null;
  /** The folder that it lies in; a folder lies in itself. Absent for objects outside folders. */
  readonly place?: Place;
}

export interface Subject {
  readonly membershipId: number;
  readonly groupIds: ReadonlySet<number>;
}

export const commonRoot = (type: FolderType): Place => ({ type, folderId: null, homeId: null });

/** The kinds of policies that can decide about an object of the type. */
export const SOURCES_OF: Record<ObjectType, readonly PolicySource[]> = {
  note: ["note", "folder", "notes_root"],
  cluster: ["cluster"],
  scheduler: ["scheduler"],
  environment: ["environment"],
  folder: ["folder", "notes_root", "notebook_dashboards_root"],
  dashboard: ["folder", "notebook_dashboards_root"],
};

/** The action that the policy of a folder is asked for when an object in it is used. */
export function folderAction(type: ObjectType, action: PolicyAction): PolicyAction {
  if (action === "read") return "read";
  return action === "manage" && type !== "dashboard" ? "manage" : "write";
}
