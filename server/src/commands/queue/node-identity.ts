import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { hostname, totalmem } from "node:os";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { writePrivateFile } from "../../lib/private-file.ts";
import { readBootId } from "../../lib/process-table.ts";
import type { NodeRegistration } from "../store/nodes.ts";

const MACHINE_SHARE = 0.7;
const MIB = 1024 * 1024;

/** The data directory identifies a node: the server that holds its lock is the node, whatever its address. */
export async function readNode(
  dataDir: string,
  version: string,
  memoryBudgetMiB: number | null,
): Promise<NodeRegistration> {
  return {
    id: readNodeId(join(dataDir, "node-id")),
    host: hostname(),
    bootId: await readBootId(),
    memoryBudgetMiB: memoryBudgetMiB ?? Math.floor((totalmem() * MACHINE_SHARE) / MIB),
    version,
  };
}

function readNodeId(path: string): string {
  if (!existsSync(path)) writePrivateFile(path, `${randomUUID()}\n`);
  const id = readFileSync(path, "utf8").trim();
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return id;
  throw new Fault(
    "invalid",
    `${path} does not contain a node id: restore the file, or delete it if no command of this node runs any more`,
  );
}
