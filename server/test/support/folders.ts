import type { Call } from "./client.ts";
import type { AccountClient, MemberClient } from "./given.ts";

/** The type of the folders in most tests. */
export const NOTEBOOK_FOLDERS = { type: "notes" } as const;

/** Creates the folders of a path below an existing location and returns the last. */
export async function makePath(
  client: AccountClient,
  location: string,
  names: readonly string[],
  type = "notes",
): Promise<{ id: number; location: string }> {
  let at = location;
  let id = 0;
  for (const name of names) {
    ({ id } = (await client.post("/folders", { name, location: at, type })).folder);
    at = `${at}/${name}`;
  }
  return { id, location: at };
}

/** The locations in the first page of a list of folders. */
export async function locationsIn(client: AccountClient, query = ""): Promise<string[]> {
  const { folders } = await client.get(`/folders?per_page=100&${query}`);
  return folders.map(({ location }: { location: string }) => location);
}

export type Element = Record<string, unknown>;

export const allow = (action: readonly string[], condition?: Element): Element => ({
  access: "allow",
  action,
  ...(condition === undefined ? {} : { condition }),
});
export const deny = (action: readonly string[], condition?: Element): Element => ({
  ...allow(action, condition),
  access: "deny",
});
export const users = (...members: readonly MemberClient[]): Element => ({
  svc_users: members.map(({ membershipId }) => membershipId),
});

export function setFolderPolicy(
  client: AccountClient,
  location: string,
  policy: readonly Element[],
  extra: Element = {},
): Call {
  return client.put("/folders/policy", { location, ...NOTEBOOK_FOLDERS, policy: JSON.stringify(policy), ...extra });
}
