/** The journal in which the stub of Spark records its queries, one line for each event. Pure. */
export interface QueryLine {
  /** The client's own name of the command: the stub does not know its id. */
  readonly key: string;
  readonly operation: string;
  readonly word: "start" | "end" | "cancelled";
  readonly atMs: number;
}

export interface StubQuery {
  readonly key: string;
  /** How long it runs, in tenths of a second. */
  readonly ticks: number;
  readonly fails: boolean;
  /** The number of rows of 256 KiB before the one row that every result has. */
  readonly longRows?: number;
}

export function renderQuery({ key, ticks, fails, longRows = 0 }: StubQuery): string {
  return `select * from chaos('${key}', ${ticks}, ${fails}, ${longRows})`;
}

export function parseQuery(sql: string): Required<StubQuery> {
  const match = /chaos\('([\w-]+)', (\d+), (true|false), (\d+)\)/.exec(sql);
  if (match === null) throw new Error(`not a query of the chaos test: ${sql}`);
  const [, key = "", ticks, fails, longRows] = match;
  return { key, ticks: Number(ticks), fails: fails === "true", longRows: Number(longRows) };
}

export function renderQueryLine({ key, operation, word, atMs }: QueryLine): string {
  return `${key} ${operation} ${word} ${atMs}\n`;
}

export function parseQueryJournal(text: string): QueryLine[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const match = /^(\S+) (\S+) (start|end|cancelled) (\d+)$/.exec(line);
      if (match === null) throw new Error(`not a line of the stub of Spark: ${line}`);
      const [, key = "", operation = "", word, at] = match;
      return { key, operation, word: word as QueryLine["word"], atMs: Number(at) }; // one of the pattern's
    });
}

/** The only result that this operation of a query can have, as the API shows it. */
export function resultOfQuery(key: string, operation: string): string {
  return `${key}\t${operation}\r\n`;
}
