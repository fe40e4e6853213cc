import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

/** A partitioned table and the contents of its folder, as users and engines leave them. */
export interface FolderTree {
  readonly columns: readonly TreeColumn[];
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

export interface TreeColumn {
  readonly name: string;
  readonly type: TreeType;
}

interface Level {
  readonly name: string;
  readonly isFile: boolean;
  readonly inside: readonly Level[];
}

const NONE = "__HIVE_DEFAULT_PARTITION__";
/** Characters that are allowed in the name of a folder, without the colon, on which Spark's statement fails. */
const character = fc.constantFrom(...Array.from(`aZ09 %=#?+&'"^{}[]\\,;~*!$()<>|äß日é_-.`));
/** Spark's statement also fails on a non-ASCII character one or two places after a percent sign. */
// oxlint-disable-next-line no-control-regex
const failing = /%.?[^\u0000-\u007f]/;
const words = fc.string({ unit: character, minLength: 1, maxLength: 8 }).filter((text) => !failing.test(text));
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
const integers = ["1", "07", "7", "-3", "+5", "2147483647", "2147483648", "000"];
const dates = ["2026-11-15", "2024-02-29", "2026-1-5", "1999-12-31", "2026", "2026-02-29", "2026-11-15 x"];
const numbers = ["1.5", "-0.5", ".5", "5.", "1e3", "1E-2", "99.99", "99.994", "99.995", "100", "NaN", ".", "1e", "0x1"];
const notOfType = ["abc", "2026-13-45", "99999999999"];

/** Texts that may be values of a type, in many spellings, and some that only look like it. */
const SPELLINGS = {
  int: [...integers],
  date: [...dates],
  bigint: [...integers, "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.0"],
  timestamp: [
    ...dates,
    "2026-11-15 10%3A00%3A00",
    "2026-11-15T10%3A00%3A00.123456Z",
    "2026-11-15 1%3A2%3A3 Europe%2FBerlin",
    "2026-11-15 10%3A00%3A00+01%3A00",
    "2026-11-15 10",
    "2026-11-15 24%3A00%3A00",
    "2026-11-15 10%3A60",
    "2026-11-15 10%3A00%3A00 Nowhere",
  ],
  "decimal(4,2)": [...integers, ...numbers],
  double: [...integers, ...numbers, "inf", "-Infinity", "1e400", "1.5d", "2f"],
  boolean: ["true", "FALSE", "t", "n", "1", "0", "yes", "2", "truth"],
} as const satisfies Record<string, readonly string[]>;
export type SpelledType = keyof typeof SPELLINGS;
type TreeType = SpelledType | "string";
// `Object.keys` does not keep the type of the keys.
export const SPELLED_TYPES = Object.keys(SPELLINGS) as SpelledType[];

/** Mostly values of the type, sometimes other texts or the default partition. */
function valuesOf(type: TreeType): fc.Arbitrary<string> {
  if (type === "string") return fc.oneof(words, escaped, fc.constant(NONE));
  const spelled = fc.constantFrom<string[]>(...SPELLINGS[type]);
  return fc.oneof({ weight: 8, arbitrary: spelled }, fc.constant(NONE), fc.constantFrom(...notOfType));
}

/** A table with one column and a folder for each spelling. */
export function spelledTree(type: SpelledType): FolderTree {
  return {
    columns: [{ name: "part", type }],
    folders: [...new Set<string>([...SPELLINGS[type], ...notOfType])].map((value) => `part=${value}`),
    files: [],
  };
}

const columnsArbitrary = fc
  .array(fc.constantFrom<TreeType>("string", ...SPELLED_TYPES), { minLength: 1, maxLength: 3 })
  .map((types) => types.map((type, index): TreeColumn => ({ name: `${["part", "Mixed", "z_3"][index]}`, type })));

const oddNames = fc.oneof(
  fc.constantFrom("backup", "_SUCCESS", "_temporary", ".staging", ".part=1", "_part=1", "other=1", "=1", "part", "a b"),
  words.map((text) => `other=${text}`),
);

function partitionNames({ name, type }: TreeColumn): fc.Arbitrary<string> {
  const spelled = fc.constantFrom(name, name.toUpperCase(), name.toLowerCase(), name.replace("a", "%61"));
  return fc.tuple(spelled, valuesOf(type)).map(([column, value]) => `${column}=${value}`);
}

/** Never two folders of the same partition, because Spark's statement fails on them. */
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
