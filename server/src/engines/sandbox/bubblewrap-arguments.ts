import { isAbsolute } from "node:path";
import { Fault } from "../../lib/fault.ts";
import type { Identity, ProgramToConfine, ShownFolder } from "./confined-program.ts";

type Confinement = Pick<
  ProgramToConfine,
  "env" | "cwd" | "readOnly" | "writable" | "tmpFolder" | "userFolder" | "sharedMemoryBytes"
>;

/** Everything about one program; what is the same for all comes from `system-folders.ts`. */
export function renderBubblewrapArguments(
  program: Confinement,
  { uid, gid }: Identity,
  sizesMemory: boolean,
): string[] {
  const { env, cwd, userFolder, tmpFolder } = program;
  const namespaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try"];
  const user = ["--uid", String(uid), "--gid", String(gid)];
  const files = userFiles.flatMap((name) => ["--ro-bind", absolute(`${userFolder}/${name}`), `/etc/${name}`]);
  const shm = renderSharedMemory(sizesMemory ? program.sharedMemoryBytes : null);
  const ownFolders = ["--proc", "/proc", "--dev", "/dev", ...shm, "--bind", absolute(tmpFolder), "/tmp"];
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  return [
    ...namespaces,
    ...user,
    "--die-with-parent",
    ...files,
    ...ownFolders,
    ...renderFolders(program),
    // Last, because places to mount at are made in it: memory that anybody could fill and nobody counts.
    "--remount-ro",
    "/",
    "--clearenv",
    ...variables,
    "--chdir",
    absolute(cwd),
  ];
}

/** A file system of its own, which can be sized and counted; the rest of /dev holds nothing that a program may write. */
function renderSharedMemory(bytes: number | null | undefined): string[] {
  const size = bytes === null || bytes === undefined ? [] : ["--size", String(bytes)];
  return [...size, "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"];
}

/** Written by `writeUserFiles`. */
export const userFiles = ["passwd", "group", "nsswitch.conf"] as const;

/** A parent first: mounted after its child it would hide it. */
function renderFolders({ readOnly, writable }: Confinement): string[] {
  const shown = (folder: ShownFolder, option: string): { path: string; at: string; option: string } => {
    const { path, at } = typeof folder === "string" ? { path: folder, at: folder } : folder;
    return { path: absolute(path), at: absolute(at), option };
  };
  const folders = [
    ...readOnly.map((folder) => shown(folder, "--ro-bind")),
    ...writable.map((folder) => shown(folder, "--bind")),
  ];
  const depth = (path: string): number => path.split("/").length;
  return folders
    .sort((one, other) => depth(one.at) - depth(other.at))
    .flatMap(({ path, at, option }) => [option, path, at]);
}

function absolute(path: string): string {
  if (isAbsolute(path) && !path.includes("\0")) return path;
  throw new Fault("internal", `${JSON.stringify(path)} is no absolute path`);
}
