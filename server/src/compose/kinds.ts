import { accountRefresh } from "../catalog/refresh/refresh-account-table.ts";
import type { CopyExecutorOptions } from "../commands/copies/copy-executor.ts";
import { allKinds, type KindParts } from "../commands/kinds/all-kinds.ts";
import { type CommandKind, commandKinds, type CommandKinds } from "../commands/kinds/command-kinds.ts";
import type { NodeParts } from "./node.ts";
import type { Sparks } from "./sparks.ts";
import { resultRenderer } from "../engines/arrow-result/result-renderer.ts";

export type ListKinds = (parts: KindParts) => CommandKind[];

/** `listKinds` replaces the kinds that this version knows. */
export function composeKinds(
  node: NodeParts,
  sparks: Sparks,
  copies: CopyExecutorOptions,
  listKinds: ListKinds | undefined,
  held: AsyncDisposableStack,
): CommandKinds {
  const renderer = held.adopt(resultRenderer(), (each) => each.stop());
  const refreshTable = accountRefresh({ ...sparks, storage: node.storage });
  return commandKinds(
    (listKinds ?? allKinds)({
      ...node,
      ...sparks,
      ...sparks.runLimits,
      dataDir: node.config.dataDir,
      refreshTable,
      renderer,
      copies,
    }),
  );
}
