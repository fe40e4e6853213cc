import { realpathSync, statSync } from "node:fs";
import { roots } from "./system-folders.ts";

/** bubblewrap's options, those of `seal` after all other mounts: folders of a program may lie inside of a hidden one. */
export interface Hiding {
  readonly cover: readonly string[];
  readonly seal: readonly string[];
}

/** What lies below the system's folders would be shown with them: an empty folder or file takes its place. */
export function renderHiding(paths: readonly string[]): Hiding {
  const found = paths
    .flatMap(realPath)
    .filter((path) => ["/usr", ...roots].some((root) => path.startsWith(`${root}/`)));
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
    return []; // what is not there cannot be seen
  }
}
