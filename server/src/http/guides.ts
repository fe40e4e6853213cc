/**
 * The guides of the repository: its Markdown files below `docs/`. They are served at the paths that they have in the
 * repository, so that the links between them work in both.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { lazy } from "../lib/lazy.ts";

export interface Guides {
  /** The guides for users, in the order of the README. */
  readonly forUsers: () => readonly Guide[];
  /** Undefined: there is no such guide. */
  readonly find: (path: string) => Guide | undefined;
}

export interface Guide {
  /** In the repository: `docs/commands.md`. */
  readonly path: string;
  readonly title: string;
  /** What users can do, from the README. Undefined: the guide is for operators or developers. */
  readonly about: string | undefined;
  readonly markdown: string;
}

/** Reads the files on first use. */
export function readGuides(repositoryDir: string): Guides {
  const guides = lazy(() => {
    const abouts = userGuides(readFileSync(join(repositoryDir, "README.md"), "utf8"));
    const paths = readdirSync(join(repositoryDir, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`);
    const all = paths.map((path) => guideOf(path, readFileSync(join(repositoryDir, path), "utf8"), abouts.get(path)));
    return { abouts, byPath: new Map(all.map((guide) => [guide.path, guide])) };
  });
  return {
    forUsers: () => [...guides().abouts.keys()].flatMap((path) => guides().byPath.get(path) ?? []),
    find: (path) => guides().byPath.get(path),
  };
}

function guideOf(path: string, markdown: string, about: string | undefined): Guide {
  return { path, title: /^# (.+)$/m.exec(markdown)?.[1] ?? path, about, markdown };
}

/** The rows of the table for users: `| [Policies](docs/policies.md) | decide who may use … |`. */
function userGuides(readme: string): Map<string, string> {
  const rows = readme.matchAll(/^\| \[[^\]]+\]\((docs\/[\w/.-]+\.md)\) +\| (.+?) +\|$/gm);
  return new Map([...rows].map(([, path = "", about = ""]) => [path, about]));
}
