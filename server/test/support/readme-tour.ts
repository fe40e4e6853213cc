import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryDir } from "./repository-dir.ts";

/** The blocks of shell commands in the section "A first tour" of the README. */
export function tourBlocks(): string[] {
  const readme = readFileSync(join(repositoryDir, "README.md"), "utf8");
  const [, section = ""] = /^## A first tour\n([^]*?)^## /m.exec(readme) ?? [];
  return [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
}
