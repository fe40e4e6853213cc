/** Appends to a spool for ever and prints what is stored: `node spool-appender.ts <folder> <create | reopen>`. */
import { createSpool, reopenSpool } from "../../src/engines/arrow-result/spool-writer.ts";
import { numberedBatch, NUMBERED_ROWS } from "./numbered-batches.ts";

const [folder = "", how = "create"] = process.argv.slice(2);
const target = { folder, statement: 0 };
const spool = how === "create" ? await createSpool(target) : await reopenSpool(target);
for (let number = (spool.lastSynced()?.rows ?? 0) / NUMBERED_ROWS; ; number++) {
  await spool.append(numberedBatch(number));
  process.stdout.write(`${spool.lastSynced()?.rows ?? 0}\n`);
}
