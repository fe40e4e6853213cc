import { isAbsolute } from "node:path";
import { Fault } from "../../lib/fault.ts";
import type { Identity, ProgramToConfine, ShownFolder } from "./confined-program.ts";

type Confinement = Pick<
  ProgramToConfine,
  "env" | "cwd" | "readOnly" | "writable" | "tmpFolder" | "userFolder" | "sharedMemoryBytes"
>;

/** The options of one program; those common to all programs come from `system-folders.ts`. */
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
    // Last, because mount points are created in the root. Writable, it would be memory that no limit counts.
    "--remount-ro",
    "/",
    "--clearenv",
    ...variables,
    "--chdir",
    absolute(cwd),
  ];
}

/** /dev/shm is a separate file system, so that its size can be limited and counted; the rest of /dev is read-only. */
function renderSharedMemory(bytes: number | null | undefined): string[] {
  const size = bytes === null || bytes === undefined ? [] : ["--size", String(bytes)];
  return [...size, "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"];
}

/** Written by `writeUserFiles`. */
export const userFiles = ["passwd", "group", "nsswitch.conf"] as const;

/** Parents come first: mounted after its child, a parent would hide it. */
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
  throw new Fault("internal", `${JSON.stringify(path)} is not an absolute path`);
}
