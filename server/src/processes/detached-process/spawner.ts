/**
 * Starts programs from a small process. A fork copies the page tables of the forking process: with hundreds of megabytes
 * in memory, our server would stall for tens of milliseconds.
 */
import { HelperProcess } from "../helper-process/helper-process.ts";
import { type ProcessHandle, startDetached, type DetachedProgram } from "./detached-process.ts";

const spawner = new HelperProcess<DetachedProgram, ProcessHandle>(new URL("spawner.mjs", import.meta.url));

/**
 * Like `startDetached`, for programs that may be started twice: if the spawner dies before it replies, this process
 * starts the program again.
 */
export async function startFromSpawner(program: DetachedProgram): Promise<ProcessHandle> {
  return (await spawner.ask(program)) ?? startDetached(program);
}
