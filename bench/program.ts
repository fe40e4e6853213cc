import { spawn } from "node:child_process";
import { once } from "node:events";

/** A measured program, which is ready when it prints a certain line. */
export interface Program {
  url: string;
  pid: number;
  millisecondsToReady: number;
  stop(): Promise<void>;
}

export async function startProgram(
  command: string,
  args: readonly string[],
  ready: RegExp,
  settings: Record<string, string>,
): Promise<Program> {
  const started = performance.now();
  const child = spawn(command, args, { env: { ...process.env, ...settings }, stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(child, "exit");
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`${[command, ...args].join(" ")} ended with ${code}: ${output}`)));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const match = ready.exec(output);
      if (match !== null) resolve(match[1] ?? "");
    });
  });
  if (child.pid === undefined) throw new Error(`${command} has no pid`);
  return {
    url,
    pid: child.pid,
    millisecondsToReady: performance.now() - started,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}
