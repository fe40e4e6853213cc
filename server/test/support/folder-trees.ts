import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

/** A partitioned table and what lies in its folder, as people and engines leave it there. */
export interface FolderTree {
  readonly columns: readonly TreeColumn[];
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

export interface TreeColumn {
  readonly name: string;
  readonly type: string;
}

interface Level {
  readonly name: string;
  readonly isFile: boolean;
  readonly inside: readonly Level[];
}

const NONE = "__HIVE_DEFAULT_PARTITION__";
/** As far as they may be in the name of a folder; on a colon Spark's statement fails. */
const character = fc.constantFrom(...Array.from(`aZ09 %=#?+&'"^{}[]\\,;~*!$()<>|äß日é_-.`));
const words = fc.string({ unit: character, minLength: 1, maxLength: 8 });
const escaped = fc.constantFrom(
  "%2F",
  "%3A",
  "%3a",
  "a%20b",
  "K%C3%B6ln",
  "%zz",
  "100%",
  "%2",
  "%25",
  "%2525",
  "a%3Db",
);
const integers = fc.constantFrom("1", "07", "7", "-3", "+5", "2147483647", "000");
const dates = fc.constantFrom("2026-11-15", "2024-02-29", "2026-1-5", "1999-12-31");
const notOfType = fc.constantFrom("abc", "2026-13-45", "99999999999");
const VALUES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  string: fc.oneof(words, escaped, fc.constant(NONE)),
  int: fc.oneof({ weight: 8, arbitrary: integers }, fc.constant(NONE), notOfType),
  date: fc.oneof({ weight: 8, arbitrary: dates }, fc.constant(NONE), notOfType),
};

const columnsArbitrary = fc
  .array(fc.constantFrom("string", "int", "date"), { minLength: 1, maxLength: 3 })
  .map((types) => types.map((type, index): TreeColumn => ({ name: `${["part", "Mixed", "z_3"][index]}`, type })));

const oddNames = fc.oneof(
  fc.constantFrom("backup", "_SUCCESS", "_temporary", ".staging", ".part=1", "_part=1", "other=1", "=1", "part", "a b"),
  words.map((text) => `other=${text}`),
);

function partitionNames({ name, type }: TreeColumn): fc.Arbitrary<string> {
  const spelled = fc.constantFrom(name, name.toUpperCase(), name.toLowerCase(), name.replace("a", "%61"));
  return fc.tuple(spelled, VALUES[type] ?? words).map(([column, value]) => `${column}=${value}`);
}

/** Of two folders that mean the same partition Spark's statement fails, so there are no such two. */
function levelsOf([column, ...deeper]: readonly TreeColumn[]): fc.Arbitrary<Level[]> {
  if (column === undefined) return fc.constant([]);
  const entry = fc.record<Level>({
    name: fc.oneof({ weight: 5, arbitrary: partitionNames(column) }, oddNames),
    isFile: fc.nat(9).map((chance) => chance === 0),
    inside: levelsOf(deeper),
  });
  return fc.uniqueArray(entry, { maxLength: 6, selector: ({ name }) => meaning(name) });
}

function meaning(name: string): string {
  return unescaped(name).replace(/^[^=]*/, (column) => column.toLowerCase());
}

export function unescaped(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
}

export const folderTree: fc.Arbitrary<FolderTree> = columnsArbitrary.chain((columns) =>
  levelsOf(columns).map((levels) => {
    const all = pathsOf(levels, "");
    return {
      columns,
      folders: all.filter(({ isFile }) => !isFile).map(({ path }) => path),
      files: all.filter(({ isFile }) => isFile).map(({ path }) => path),
    };
  }),
);

function pathsOf(levels: readonly Level[], above: string): { path: string; isFile: boolean }[] {
  return levels.flatMap(({ name, isFile, inside }) => {
    const path = join(above, name);
    return [{ path, isFile }, ...(isFile ? [] : pathsOf(inside, path))];
  });
}

export function plantTree({ folders, files }: FolderTree, root: string): void {
  mkdirSync(root, { recursive: true });
  for (const path of folders) mkdirSync(join(root, path), { recursive: true });
  for (const path of files) writeFileSync(join(root, path), "");
}
