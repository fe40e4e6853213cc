import { realpathSync, statSync } from "node:fs";
import { roots } from "./system-folders.ts";

/** Options for bubblewrap. `seal` comes after all other mounts, because a program's folders may lie in a hidden one. */
export interface Hiding {
  readonly cover: readonly string[];
  readonly seal: readonly string[];
}

/** Covers the paths below the system's folders by an empty folder or file, because those folders are visible. */
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
    return []; // a missing path needs no cover
  }
}
