import { chmod, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { userFiles } from "./bubblewrap-arguments.ts";
import type { Identity } from "./confined-program.ts";

export interface SandboxUser extends Identity {
  readonly name: string;
  /** Path inside the sandbox. */
  readonly home: string;
}

/**
 * Writes the passwd and group files that the program sees, because Java does not run under a uid without a name. All
 * users can read them, whatever the umask is, because bubblewrap opens them as the program's user.
 */
export async function writeUserFiles(folder: string, user: SandboxUser): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  const texts = renderUserFiles(user);
  for (const name of userFiles) {
    const path = join(folder, name);
    await writeFile(`${path}.new`, texts[name]);
    await chmod(`${path}.new`, 0o644);
    await rename(`${path}.new`, path);
  }
}

function renderUserFiles({ uid, gid, name, home }: SandboxUser): Record<(typeof userFiles)[number], string> {
  return {
    passwd: `${name}:x:${uid}:${gid}:${name}:${home}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n`,
    group: `${name}:x:${gid}:\nnogroup:x:65534:\n`,
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  };
}
