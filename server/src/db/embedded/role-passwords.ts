import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Secret } from "../../lib/secret.ts";

export const superuser = "postgres";
export const appRole = "headgate";
export const appDatabase = "headgate";

export interface RolePasswords {
  /** Of the role only the supervisor uses. */
  readonly superuser: Secret;
  readonly app: Secret;
}

/** Letters and digits only: they go into SQL literals and connection strings as they are. */
export function makePasswords(): RolePasswords {
  const make = (): Secret => new Secret(randomBytes(24).toString("hex"));
  return { superuser: make(), app: make() };
}

export async function storePasswords(folder: string, passwords: RolePasswords): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writePrivately(
    fileOf(folder),
    JSON.stringify({ superuser: passwords.superuser.reveal(), app: passwords.app.reveal() }),
  );
}

/** One file for both, so that they are lost or kept together. */
export async function readPasswords(folder: string): Promise<RolePasswords | undefined> {
  const text = await readFile(fileOf(folder), "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const stored: unknown = JSON.parse(text);
  if (typeof stored !== "object" || stored === null || !("superuser" in stored) || !("app" in stored)) return undefined;
  return { superuser: new Secret(String(stored.superuser)), app: new Secret(String(stored.app)) };
}

function fileOf(folder: string): string {
  return join(folder, "passwords.json");
}

/** Closed to others from its first byte on, and whole or absent after a power cut. */
async function writePrivately(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
