import type { Result } from "./compare.ts";

/** How much a case copies or lists, for rates. */
export interface Amount {
  readonly files: number;
  readonly bytes: number;
}

/** A figure that the copy engine should reach. */
export interface Aim {
  readonly says: string;
  readonly value: number;
  readonly unit: string;
  readonly min?: number;
  readonly max?: number;
}

const MIB = 1024 * 1024;
const WIDTHS = [0, 9, 16, 9, 10, 14, 9, 9];

export function printResults(title: string, results: readonly Result[], { files, bytes }: Amount): void {
  console.log(`\n${title}`);
  printRow(["", "wall s", "best–worst", "CPU s", "MiB/s", "files/CPU s", "MiB peak", "× ours"]);
  const ours = results[0]?.wallSeconds ?? Number.NaN;
  for (const { name, wallSeconds, cpuSeconds, peakMiB, bestSeconds, worstSeconds } of results) {
    printRow([
      name,
      wallSeconds.toFixed(2),
      `${bestSeconds.toFixed(2)}–${worstSeconds.toFixed(2)}`,
      cpuSeconds.toFixed(2),
      (bytes / MIB / wallSeconds).toFixed(0),
      (files / cpuSeconds).toFixed(0),
      peakMiB.toFixed(0),
      (wallSeconds / ours).toFixed(2),
    ]);
  }
}

/** Returns whether all of them are reached. */
export function printAims(aims: readonly Aim[]): boolean {
  let isReached = true;
  for (const { says, value, unit, min = -Infinity, max = Infinity } of aims) {
    const holds = value >= min && value <= max;
    const limit = max === Infinity ? `at least ${min}` : `at most ${max}`;
    console.log(
      `  ${holds ? "yes" : "NO "}  ${says}: ${value.toFixed(value < 100 ? 2 : 0)}${unit} (aim: ${limit}${unit})`,
    );
    isReached = isReached && holds;
  }
  return isReached;
}

/** The time of the fastest peer, as a multiple of ours. */
export function aimAgainstPeers(results: readonly Result[], min: number): Aim {
  const [ours, ...others] = results;
  const best = Math.min(...others.filter(({ isFloor }) => !isFloor).map(({ wallSeconds }) => wallSeconds));
  return {
    says: "speed as a multiple of the fastest peer's",
    value: best / (ours?.wallSeconds ?? 0),
    unit: "×",
    min,
  };
}

/** For server-side copies: close to its own limit, with less client CPU than the peers need. */
export function aimsAtServerLimit(results: readonly Result[]): Aim[] {
  const [ours, ...others] = results;
  const floor = others.find(({ isFloor }) => isFloor);
  const minCpu = Math.min(...others.filter(({ isFloor }) => !isFloor).map(({ cpuSeconds }) => cpuSeconds));
  return [
    {
      says: "speed as a share of the server's limit",
      value: (100 * (floor?.wallSeconds ?? Number.NaN)) / (ours?.wallSeconds ?? 0),
      unit: " %",
      min: 95,
    },
    {
      says: "CPU as a multiple of the leanest peer's",
      value: (ours?.cpuSeconds ?? 0) / minCpu,
      unit: "×",
      max: 1,
    },
  ];
}

export function aimPerCpuSecond(results: readonly Result[], files: number): Aim {
  const value = files / (results[0]?.cpuSeconds ?? Number.NaN);
  return { says: "files per second of client CPU", value, unit: "", min: 4000 };
}

export function printRow(cells: readonly string[]): void {
  console.log(
    cells.map((cell, index) => (index === 0 ? cell.padEnd(20) : cell.padStart(WIDTHS[index] ?? 10))).join(""),
  );
}
