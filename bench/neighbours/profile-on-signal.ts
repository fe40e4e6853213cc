import { writeFileSync } from "node:fs";
import { Session, type Profiler } from "node:inspector/promises";
import { join } from "node:path";

/** A CPU profile of what happens between a first and a second SIGUSR2, as a file for the developer tools of browsers. */
export function profileOnSignal(folder: string): void {
  const session = new Session();
  session.connect();
  let isAtWork = false;
  process.on("SIGUSR2", () => {
    void (isAtWork ? finish() : begin());
    isAtWork = !isAtWork;
  });
  const begin = async (): Promise<void> => {
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: 500 });
    await session.post("Profiler.start");
  };
  const finish = async (): Promise<void> => {
    const { profile }: Profiler.StopReturnType = await session.post("Profiler.stop");
    writeFileSync(join(folder, `${process.pid}.cpuprofile`), JSON.stringify(profile));
  };
}
