import type { Config } from "../config.ts";
import { formatTable } from "./format-table.ts";

/** Passed to every operator command. Results go to stdout, all other messages to stderr. */
export interface Cli {
  loadConfig(): Promise<Config>;
  out(text: string): void;
  note(line: string): void;
}

export interface OutputOptions {
  json?: true;
}

/** Prints an object for programs (`--json`) or for people. */
export function printObject(cli: Cli, { json }: OutputOptions, object: Readonly<Record<string, unknown>>): void {
  if (json === true) cli.out(`${JSON.stringify(object, null, 2)}\n`);
  else cli.out(formatTable(Object.entries(object).map(([name, value]) => [name, value])));
}

export function printList(
  cli: Cli,
  { json }: OutputOptions,
  rows: readonly Readonly<Record<string, unknown>>[],
  columns: readonly string[],
): void {
  if (json === true) cli.out(`${JSON.stringify(rows, null, 2)}\n`);
  else {
    cli.out(
      formatTable([columns.map((name) => name.toUpperCase()), ...rows.map((row) => columns.map((name) => row[name]))]),
    );
  }
}
