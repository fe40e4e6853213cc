import { watch } from "node:fs";
import { collect, conclude, type Run } from "./conclude-run.ts";
import { markOf } from "./mark.ts";
import { readOrder } from "./claim-and-order.ts";
import { fileNames, type Order, type RunStatus, type Standby } from "./protocol.ts";
import { superviseDriver } from "./supervise-driver.ts";
import { watchForEnd } from "./watch-for-end.ts";

/**
 * Supervises a program that waits for its order. The order is passed on only after `running` is on the disk: if the
 * program ends before that for any reason, the folder was never run. Until the order only the waiting time is limited,
 * so a standby must not run users' code before it.
 */
export async function superviseStandby(
  folder: string,
  run: Run,
  { greeting, waitSeconds }: Standby,
  status: RunStatus,
): Promise<RunStatus> {
  const { file, spec, driver, roster } = run;
  const { bootId } = status.runner;
  const whileWaiting = { timeoutSeconds: waitSeconds, checkSeconds: 1, elapsedSeconds: 0 };
  let check = watchForEnd(folder, { ...spec, ...whileWaiting }, bootId);
  let current: RunStatus = { ...status, driver: driver.handle };
  const begin = (order: Order): void => {
    const checkOrder = watchForEnd(folder, { ...spec, ...order, orphan: null }, bootId);
    const tooLate = checkOrder();
    if (tooLate !== undefined) return supervision.end({ ...tooLate, graceMs: 0 });
    const running: RunStatus = { ...current, state: "running", startedAt: new Date().toISOString() };
    file.write(running);
    check = checkOrder;
    current = running;
    roster.update();
    driver.sendInput(order.input);
  };
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      supervision.end(unused(error instanceof Error ? error.message : String(error)));
    }
  };
  const checkForOrder = (): void => {
    if (current.state !== "waiting" || supervision.reason() !== undefined) return;
    attempt(() => {
      const order = readOrder(folder);
      if (order === null) supervision.end(unused("it was not needed"));
      else if (order !== undefined) begin(order);
    });
  };
  const tick = (): ReturnType<typeof check> => {
    checkForOrder();
    return check() ?? run.watch.check();
  };
  const beat = (): void => {
    file.touch();
    if (current.state === "running") roster.update();
  };
  const supervision = superviseDriver(driver, markOf(status.runner), tick, beat);
  const collected = collect(run, supervision, {
    text: greeting,
    onGreeting(isRight) {
      if (!isRight) return supervision.end(unused("it did not write its greeting"));
      current = { ...current, state: "waiting" };
      attempt(() => file.write(current));
      checkForOrder();
    },
  });
  file.write(current);
  driver.release();
  const watcher = watchForOrder(folder, checkForOrder);
  const { exit, end } = await conclude(folder, run, supervision, collected);
  watcher?.close();
  return current.state === "running" ? { ...current, ...exit, ...end } : { ...status, ...end, cause: "unused" };
}

function unused(message: string): { cause: "unused"; message: string; graceMs: number } {
  return { cause: "unused", message, graceMs: 0 };
}

/** An order is noticed at once or, if no inotify watches are left, at the next tick. */
function watchForOrder(folder: string, onOrder: () => void): { close(): void } | undefined {
  try {
    const onChange = (_event: string, name: string | null): void => {
      if (name === null || name === fileNames.order) onOrder();
    };
    return watch(folder, onChange).on("error", () => undefined);
  } catch {
    return undefined;
  }
}
