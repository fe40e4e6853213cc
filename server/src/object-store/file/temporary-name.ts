import { createHash } from "node:crypto";

/** The name of an unfinished file, which a later process can find again. `salt` distinguishes writers. */
export function temporaryName(salt: string, path: string): string {
  const digest = createHash("sha256").update(`${salt}\0${path}`).digest("hex");
  return `.put-${digest.slice(0, 16)}`;
}
