import { parentPort } from "node:worker_threads";
import { AccountMeter, type AccountToMeasure } from "./measure-account.ts";

/** A thread for the file system alone: a folder with a million files takes seconds. */
const meter = new AccountMeter();
parentPort?.on("message", (account: AccountToMeasure) => {
  parentPort?.postMessage(meter.measure(account), []);
});
