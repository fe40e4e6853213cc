/**
 * The process of a copy. Its only argument is the path of its request (`copy-request.ts`). It reports on standard output
 * (`report.ts`) and logs to standard error. After SIGTERM it aborts open uploads, removes temporary files and ends.
 */
import { readFileSync } from "node:fs";
import { parseCopyRequest } from "../copy-request.ts";
import { formatReportLine } from "../report.ts";
import { runCopy } from "../run-copy.ts";
import { writeAll } from "./write-all.ts";

const [path = ""] = process.argv.slice(2);
const ending = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => ending.abort(new Error(`ended by ${signal}`)));
}

const end = await runCopy(parseCopyRequest(readFileSync(path, "utf8")), {
  report: (text) => writeAll(1, text),
  log: (line) => writeAll(2, `${new Date().toISOString().slice(0, 19).replace("T", " ")} ${line}\n`),
  signal: ending.signal,
});
writeAll(1, formatReportLine({ end }));
process.exit(end.failure === null ? 0 : 1);
