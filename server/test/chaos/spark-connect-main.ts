import { appendFileSync } from "node:fs";
import { renderQueryLine } from "./query-journal.ts";
import { startSparkConnectStub } from "./spark-connect-stub.ts";

/** Runs the stub as a process of its own, which can be killed: `node spark-connect-main.ts <port> <journal>`. */
const [port = "0", journal = ""] = process.argv.slice(2);
const bound = await startSparkConnectStub({
  port: Number(port),
  report: (key, operation, word) =>
    appendFileSync(journal, renderQueryLine({ key, operation, word, atMs: Date.now() })),
});
process.stdout.write(`ready ${bound}\n`);
