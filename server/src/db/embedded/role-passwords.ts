import { randomBytes } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writePrivateFile } from "../../lib/private-file.ts";
import { Secret } from "../../lib/secret.ts";

export const superuser = "postgres";
export const appRole = "headgate";
export const appDatabase = "headgate";

export interface RolePasswords {
  /** The password of the role that only the supervisor uses. */
  readonly superuser: Secret;
  readonly app: Secret;
}

/** Only letters and digits, because they are put into SQL literals and connection strings without quoting. */
export function makePasswords(): RolePasswords {
  const make = (): Secret => new Secret(randomBytes(24).toString("hex"));
  return { superuser: make(), app: make() };
}

export async function storePasswords(folder: string, passwords: RolePasswords): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  writePrivateFile(
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
