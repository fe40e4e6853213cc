import { writeFileSync } from "node:fs";
import { Session, type Profiler } from "node:inspector/promises";
import { join } from "node:path";

/** Writes a CPU profile of the time between two SIGUSR2 signals, as a file for a browser's developer tools. */
export function profileOnSignal(folder: string): void {
  const session = new Session();
  session.connect();
  let isProfiling = false;
  process.on("SIGUSR2", () => {
    void (isProfiling ? finish() : begin());
    isProfiling = !isProfiling;
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
