import { readFileSync } from "node:fs";
import { median } from "../measure.ts";
import type { ClientCommand, ClientRunner, Measurement } from "./client-process.ts";

export interface Contender {
  readonly name: string;
  /** Called before each run. */
  readonly command: () => ClientCommand;
  /** Only sends bare requests, to show the limit of the server. It prints its own measurement. */
  readonly isFloor?: boolean;
  /** Throws if the result of a run is wrong. Called once per contender. */
  readonly verify: () => Promise<void> | void;
}

export interface Comparison {
  readonly runner: ClientRunner;
  readonly rounds: number;
  readonly contenders: readonly Contender[];
  /** Removes what a run has written. */
  readonly reset: () => Promise<void>;
}

/** The medians of one contender. */
export interface Result extends Measurement {
  readonly name: string;
  readonly isFloor: boolean;
  readonly bestSeconds: number;
  readonly worstSeconds: number;
}

/** Runs each contender once per round. Each round starts with another one, so that none always has the same predecessor. */
export async function compare({ runner, rounds, contenders, reset }: Comparison): Promise<Result[]> {
  const runs = new Map<string, Measurement[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const first = round % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      await reset();
      const measured = await runner.run(contender.command());
      runs.get(contender.name)?.push(contender.isFloor === true ? readOwnMeasurement(runner) : measured);
      if (round === 0) await verify(contender);
    }
  }
  await reset();
  return contenders.map(({ name, isFloor }) => resultOf(name, isFloor === true, runs.get(name) ?? []));
}

async function verify(contender: Contender): Promise<void> {
  try {
    await contender.verify();
  } catch (error) {
    throw new Error(`the result of ${contender.name} is wrong`, { cause: error });
  }
}

function readOwnMeasurement({ stdout }: ClientRunner): Measurement {
  return JSON.parse(readFileSync(stdout, "utf8")) as Measurement; // printed by raw-requests.ts
}

function resultOf(name: string, isFloor: boolean, runs: readonly Measurement[]): Result {
  const walls = runs.map(({ wallSeconds }) => wallSeconds);
  return {
    name,
    isFloor,
    wallSeconds: median(walls),
    cpuSeconds: median(runs.map(({ cpuSeconds }) => cpuSeconds)),
    peakMiB: median(runs.map(({ peakMiB }) => peakMiB)),
    bestSeconds: Math.min(...walls),
    worstSeconds: Math.max(...walls),
  };
}
