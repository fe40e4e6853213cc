/**
 * `node bench/warm/run.ts [select] [sessions] [rows] [memory] [first] [new-account] [standby] [formats]`: without an argument all
 * parts. Each figure is printed with its baseline, measured alternately in the same run.
 */
import "../run-folder.ts";
import { startHeadgate } from "../headgate.ts";
import { benchFirst, benchNewAccount } from "./first.ts";
import { benchFormats } from "./formats.ts";
import { benchMemory } from "./memory.ts";
import { benchRows } from "./rows.ts";
import { benchSelect } from "./select.ts";
import { benchSessions } from "./sessions.ts";
import { benchStandby } from "./standby.ts";

const ON_ONE_SERVER = { select: benchSelect, sessions: benchSessions, rows: benchRows, memory: benchMemory } as const;
const ALONE = {
  first: benchFirst,
  "new-account": benchNewAccount,
  standby: benchStandby,
  formats: benchFormats,
} as const;

const named = process.argv.slice(2);
const unknown = named.filter((word) => !(word in ON_ONE_SERVER) && !(word in ALONE));
if (unknown.length > 0) throw new Error(`unknown part: ${unknown.join(" ")}`);
const isSelected = (part: string): boolean => named.length === 0 || named.includes(part);

const shared = Object.entries(ON_ONE_SERVER).filter(([part]) => isSelected(part));
if (shared.length > 0) {
  const headgate = await startHeadgate();
  try {
    for (const [, part] of shared) await part(headgate);
  } finally {
    await headgate.stop();
  }
}
for (const [part, bench] of Object.entries(ALONE)) if (isSelected(part)) await bench();
