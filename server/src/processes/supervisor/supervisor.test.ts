import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { Supervised, Supervisor, type SupervisorOptions } from "./supervisor.ts";

/** Lives until it dies or is stopped. */
class ToyProcess extends Supervised<string> {
  readonly #start = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly ready = this.#start.promise;
  isQuiet = false;
  isStopped = false;
  isClosed = false;

  comeUp = (): void => this.#start.resolve();
  fail = (): void => this.#start.reject(new Error("out of memory"));
  die = (): void => this.#ended.resolve();
  ended = (): Promise<void> => this.#ended.promise;
  override isSilent = (): Promise<boolean> => Promise.resolve(this.isQuiet);
  override close = (): Promise<void> => Promise.resolve(void (this.isClosed = true));
  stop = (): Promise<void> => Promise.resolve(void (this.isStopped = true));
}

function openSupervisor(changes: Partial<SupervisorOptions<string, ToyProcess>> = {}) {
  const lines: object[] = [];
  const write = (line: string): void => {
    const { msg, key } = JSON.parse(line) as { msg: string; key: string };
    lines.push({ msg, key });
  };
  const supervisor = new Supervisor<string, ToyProcess>({
    keyText: (key) => key,
    name: "a toy",
    describe: ({ key }) => ({ key }),
    log: pino({}, { write }),
    ...changes,
  });
  const add = (digest = "first", { key = "key", memoryMiB = 100 } = {}) => {
    const process = new ToyProcess(key, digest, memoryMiB);
    supervisor.add(process);
    return process;
  };
  const addUp: typeof add = (...traits) => {
    const process = add(...traits);
    process.comeUp();
    return process;
  };
  return { supervisor, add, addUp, lines };
}

describe("a supervised process", () => {
  test("with another digest ends at once when it is idle, and after its last release when it is held", async () => {
    const { supervisor, addUp } = openSupervisor();
    const [idle, held, wanted, other] = [addUp("old"), addUp("older"), addUp("new"), addUp("old", { key: "other" })];
    const releases = [supervisor.hold(held), supervisor.hold(held)];
    supervisor.drainOthers("key", "new");
    expect([idle, held, wanted, other].map(({ isStopped }) => isStopped)).toEqual([true, false, false, false]);
    expect(supervisor.of("key")).toEqual([wanted]);
    expect(supervisor.list()).toEqual([held, wanted, other]);
    releases[0]?.();
    releases[0]?.();
    expect(held.isStopped).toBe(false);
    releases[1]?.();
    expect(held.isStopped).toBe(true);
  });

  test("that does not become ready is ended, with the reason in the log", async () => {
    const { supervisor, add, lines } = openSupervisor();
    const process = add();
    process.fail();
    await expect.poll(() => process.isStopped).toBe(true);
    expect(lines).toEqual([{ msg: "a toy did not become ready", key: "key" }]);
    expect(supervisor.list()).toEqual([]);
  });

  test("that dies is removed", async () => {
    const { supervisor, addUp } = openSupervisor();
    addUp().die();
    await expect.poll(() => supervisor.list()).toEqual([]);
  });

  test("that dies is left to its owner if the owner handles deaths", async () => {
    const dead: ToyProcess[] = [];
    const { supervisor, addUp } = openSupervisor({ onDeath: (each) => Promise.resolve(void dead.push(each)) });
    const process = addUp();
    process.die();
    await expect.poll(() => dead).toEqual([process]);
    expect(supervisor.list()).toEqual([process]);
  });

  test("stays if it cannot be watched for a moment, and its death is noticed later", async () => {
    const { supervisor, addUp, lines } = openSupervisor({ watchAgainMs: 1 });
    const process = addUp();
    const { ended } = process;
    let attempts = 0;
    process.ended = () => ((attempts += 1) <= 3 ? Promise.reject(new Error("its status cannot be read")) : ended());
    await expect.poll(() => attempts).toBe(4);
    expect(supervisor.list()).toEqual([process]);
    expect(lines).toEqual([{ msg: "a toy cannot be watched; trying again", key: "key" }]);
    process.die();
    await expect.poll(() => supervisor.list()).toEqual([]);
  });

  test("is watched even if `onReady` fails, and failures of `onReady` and `onDeath` are in the log", async () => {
    const failed = (what: string) => () => Promise.reject(new Error(what));
    const { addUp, lines } = openSupervisor({ onReady: failed("no session"), onDeath: failed("no successor") });
    addUp().die();
    await expect
      .poll(() => lines)
      .toEqual([
        { msg: "a toy is ready, but its preparation failed", key: "key" },
        { msg: "a toy died, and handling that failed", key: "key" },
      ]);
  });

  test("that is silent is ended when it matches", async () => {
    const { supervisor, addUp, lines } = openSupervisor();
    const [asked, skipped, healthy] = [addUp(), addUp(), addUp()];
    asked.isQuiet = true;
    skipped.isQuiet = true;
    supervisor.endSilent((each) => each !== skipped);
    await expect.poll(() => supervisor.list()).toEqual([skipped, healthy]);
    expect(lines).toEqual([{ msg: "a toy does not answer; ending it", key: "key" }]);
  });

  test("is evicted for memory, the longest unused first, unless it is held", () => {
    const { supervisor, addUp } = openSupervisor();
    const [used, held, unused, remote] = [addUp(), addUp(), addUp(), addUp("first", { memoryMiB: 0 })];
    supervisor.hold(held);
    supervisor.hold(used)();
    unused.usedAt -= 1000;
    expect(supervisor.reservedMiB()).toBe(300);
    supervisor.evict(1);
    expect(supervisor.list()).toEqual([used, held, remote]);
    supervisor.evict(1000);
    expect(supervisor.list()).toEqual([held, remote]);
  });

  test("is ended once for all callers that stop it, and a failure to end it is in the log", async () => {
    const { supervisor, addUp, lines } = openSupervisor();
    const stopped = Promise.withResolvers<void>();
    const process = addUp();
    process.stop = () => stopped.promise;
    supervisor.evict(1);
    const stopping = supervisor.stop().then(() => lines);
    stopped.reject(new Error("no right to do so"));
    expect(await stopping).toEqual([{ msg: "a toy could not be ended", key: "key" }]);
  });

  test("runs on after the supervisor is closed, also when it is released then", async () => {
    const { supervisor, addUp, lines } = openSupervisor();
    const held = addUp();
    const release = supervisor.hold(held);
    await supervisor.close();
    release();
    held.die();
    await held.ended();
    expect([held.removed.aborted, held.isClosed, held.isStopped]).toEqual([true, true, false]);
    expect(supervisor.list()).toEqual([]);
    expect(lines).toEqual([]);
  });

  test("that is added after the supervisor is closed is left to the next server", async () => {
    const { supervisor, add, lines } = openSupervisor();
    await supervisor.close();
    const late = add();
    supervisor.evict(1000);
    await supervisor.stop();
    late.fail();
    await late.ready.catch(() => undefined);
    expect([late.removed.aborted, late.isStopped, supervisor.reservedMiB()]).toEqual([true, false, 0]);
    expect(lines).toEqual([]);
  });

  test("notifies its owner when it is ready, and when its last user has left", async () => {
    const told: string[] = [];
    const { supervisor, addUp } = openSupervisor({
      onReady: ({ digest }) => Promise.resolve(void told.push(`${digest} is ready`)),
      onIdle: ({ digest }) => void told.push(`${digest} is idle`),
    });
    supervisor.hold(addUp())();
    await expect.poll(() => told).toEqual(["first is idle", "first is ready"]);
  });
});
