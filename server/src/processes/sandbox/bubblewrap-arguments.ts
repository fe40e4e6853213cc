import { isAbsolute } from "node:path";
import { realpathSync, statSync, lstatSync, readlinkSync } from "node:fs";
import { Fault } from "../../lib/fault.ts";
import type { Identity, ProgramToConfine, ShownFolder } from "./confined-program.ts";

type Confinement = Pick<
  ProgramToConfine,
  "env" | "cwd" | "readOnly" | "writable" | "tmpFolder" | "userFolder" | "sharedMemoryBytes"
>;

/** The options of one program; those common to all programs come from `renderHiding` and `readSystemFolders`. */
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
  // Read-only: the owner of an IPC namespace may set its kernel's limits, and everyone the oom_score_adj of a process.
  const proc = ["--proc", "/proc", "--remount-ro", "/proc"];
  const ownFolders = [...proc, "--dev", "/dev", ...shm, "--bind", absolute(tmpFolder), "/tmp"];
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

/** Options for bubblewrap. `seal` comes after all other mounts, because a program's folders may lie in a hidden one. */
interface Hiding {
  readonly cover: readonly string[];
  readonly seal: readonly string[];
}

/** Covers the paths below the system's folders by an empty folder or file, because those folders are visible. */
export function renderHiding(paths: readonly string[]): Hiding {
  const found = paths
    .flatMap(realPath)
    .filter((path) => ["/usr", ...roots, ...settings].some((root) => path.startsWith(`${root}/`)));
  const isFolder = (path: string): boolean => statSync(path).isDirectory();
  return {
    cover: found.flatMap((path) => (isFolder(path) ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path])),
    seal: found.filter(isFolder).flatMap((path) => ["--remount-ro", path]),
  };
}

function realPath(path: string): string[] {
  try {
    return [realpathSync(path)];
  } catch {
    return []; // a missing path needs no cover
  }
}

/** Links into /usr on most systems, real folders on others. */
const roots = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** The parts of /etc that programs need for libraries, certificates, host names, the time zone and Java's settings. */
const settings = [
  "ld.so.cache ld.so.conf ld.so.conf.d alternatives",
  "ssl pki ca-certificates ca-certificates.conf crypto-policies",
  "hosts host.conf resolv.conf gai.conf services protocols",
  "localtime timezone locale.conf mime.types",
  "java java-17-openjdk java-21-openjdk java-25-openjdk",
  "python3 python3.10 python3.11 python3.12 python3.13 R",
].flatMap((names) => names.split(" ").map((name) => `/etc/${name}`));

/** The folders of the system that programs see, of /etc only a part. */
export const SYSTEM_FOLDERS: readonly string[] = ["/usr", "/etc", ...roots];

/** Options for bubblewrap that make the system's programs visible, read-only. */
export function readSystemFolders(): string[] {
  return [
    "--ro-bind",
    "/usr",
    "/usr",
    ...roots.flatMap(showRoot),
    ...settings.flatMap((path) => ["--ro-bind-try", path, path]),
  ];
}

function showRoot(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
