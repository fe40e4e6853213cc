import { lstatSync, readlinkSync } from "node:fs";

/** Links into /usr on most systems, real folders on others. */
export const roots = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** The parts of /etc that programs need for libraries, certificates, host names, the time zone and Java's settings. */
const settings = [
  "ld.so.cache ld.so.conf ld.so.conf.d alternatives",
  "ssl pki ca-certificates ca-certificates.conf crypto-policies",
  "hosts host.conf resolv.conf gai.conf services protocols",
  "localtime timezone locale.conf mime.types",
  "java java-17-openjdk java-21-openjdk java-25-openjdk",
  "python3 python3.10 python3.11 python3.12 python3.13 R",
].flatMap((names) => names.split(" ").map((name) => `/etc/${name}`));

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
