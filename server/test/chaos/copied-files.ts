/**
 * The files that the copies of a chaos run read and write. Each copy joins the two members of a group into an output that
 * is uploaded in parts, and makes server-side copies of small files. Pure.
 */
export const BUCKET = "chaos";
const SOURCE = `s3://${BUCKET}/in`;
/** Smaller than a part, so that the copy reads them; together they are more than one. */
const MEMBER_BYTES = 3 * 1024 * 1024;
const SMALL_FILES = ["small-1", "small-2", "small-3"];
const MEMBERS = ["large-a", "large-b"];

export function destinationOf(key: string): string {
  return `s3://${BUCKET}/out/${key}`;
}

/** `fails`: the source does not exist. */
export function copyArguments(key: string, fails: boolean): string {
  const src = fails ? `s3://${BUCKET}/missing` : SOURCE;
  return `--src ${src} --dest ${destinationOf(key)} --groupBy '.*/(large)-.*|.*/(small-.*)' --multipartUploadChunkSize 5`;
}

/** The objects that copies read, by URI. */
export function sourceFiles(): Map<string, Buffer> {
  return new Map([...MEMBERS, ...SMALL_FILES].map((name) => [`${SOURCE}/${name}`, contentsOf(name)]));
}

/** The outputs of a copy, by URI. */
export function outputsOf(key: string): Map<string, Buffer> {
  const dest = destinationOf(key);
  return new Map([
    [`${dest}/large`, Buffer.concat(MEMBERS.map(contentsOf))],
    ...SMALL_FILES.map((name) => [`${dest}/${name}`, contentsOf(name)] as const),
  ]);
}

export interface CopiedRow {
  readonly source: string;
  readonly destination: string;
  readonly bytes: number;
}

/** One line for each row. */
export function formatCopied(rows: readonly CopiedRow[]): string {
  return rows.map(({ source, destination, bytes }) => `${source} ${destination} ${bytes}`).join("\n");
}

/** The only result that a copy can have. */
export function resultOfCopy(key: string): string {
  const dest = destinationOf(key);
  const rows = [...sourceFiles()].map(([source, contents]) => {
    const name = source.slice(SOURCE.length + 1);
    const destination = `${dest}/${MEMBERS.includes(name) ? "large" : name}`;
    return { source, destination, bytes: contents.length };
  });
  return formatCopied(rows);
}

/** Every line is different, so that parts in a wrong order are noticed. */
function contentsOf(name: string): Buffer {
  if (!MEMBERS.includes(name)) return Buffer.from(name);
  const known = CONTENTS.get(name) ?? Buffer.from(linesOf(name).join(""));
  CONTENTS.set(name, known);
  return known;
}

const CONTENTS = new Map<string, Buffer>();

function linesOf(name: string): string[] {
  return Array.from({ length: MEMBER_BYTES / 16 }, (_, line) => `${name}${String(line).padStart(8, "0")}\n`);
}
