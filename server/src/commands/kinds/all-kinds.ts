import type { CommandKind } from "./command-kinds.ts";
import { programKind, type ProgramParts } from "./program.ts";
import { refreshKind, type RefreshParts } from "./refresh.ts";
import { copyKind, type CopyParts } from "./copy.ts";
import { sqlKind, type SqlParts } from "./sql.ts";

export interface KindParts extends ProgramParts, SqlParts, RefreshParts, CopyParts {}

/** Every kind of command that this version knows. */
export function allKinds(parts: KindParts): CommandKind[] {
  return [programKind(parts), sqlKind(parts), refreshKind(parts), copyKind(parts)];
}
