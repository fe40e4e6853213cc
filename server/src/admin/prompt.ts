import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Fault } from "../lib/fault.ts";

export function isTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Prompts on stderr, because stdout may be redirected to a file. */
export async function promptLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  return ask(lines, question);
}

/** Like `promptLine`, without echoing the input. */
export async function promptSecret(question: string, input: NodeJS.ReadableStream = process.stdin): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await ask(createInterface({ input, output: nowhere, terminal: true, historySize: 0 }), "");
  process.stderr.write("\n");
  return answer;
}

async function ask(lines: ReturnType<typeof createInterface>, question: string): Promise<string> {
  const interrupted = new AbortController();
  lines.once("SIGINT", () => interrupted.abort()).once("close", () => interrupted.abort());
  try {
    return await lines.question(question, { signal: interrupted.signal });
  } catch (cause) {
    throw new Fault("invalid", "Interrupted: nothing was changed.", { cause });
  } finally {
    lines.close();
  }
}
