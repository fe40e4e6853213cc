import { parentPort } from "node:worker_threads";
import { AccountMeter, type AccountToMeasure } from "./measure-account.ts";

/** Measures in a thread of its own, because a folder with a million files takes seconds. */
const meter = new AccountMeter();
parentPort?.on("message", (account: AccountToMeasure) => {
  parentPort?.postMessage(meter.measure(account), []);
});
