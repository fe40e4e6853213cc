import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { COPY_PROGRAM } from "../../commands/copies/copy-program.ts";
import { runTool } from "../set-up/run-tool.ts";
import { placeProgram, shareCompiled, type ProgramSource } from "./place-program.ts";

const cacheDir = mkdtempSync("/var/tmp/headgate-placed-");
chmodSync(cacheDir, 0o755);
afterAll(() => rmSync(cacheDir, { recursive: true, force: true }));

const steps: string[] = [];
const place = (source: ProgramSource) =>
  placeProgram(source, { cacheDir, signal: AbortSignal.timeout(60_000), progress: ({ text }) => steps.push(text) });

const isRoot = process.getuid?.() === 0;
const OTHER_USER = 64_001;

/** If this process is root: runs it as a user who can read neither this checkout nor its Node. */
function run(argv: readonly string[], env: Record<string, string> = {}) {
  const user = isRoot ? { uid: OTHER_USER, gid: OTHER_USER } : {};
  return runTool(argv, { cwd: "/", env: { PATH: "/usr/bin:/bin", ...env }, ...user, timeoutMs: 30_000 });
}

test("the copy program, placed in a folder where nothing else is visible, starts and fails for a missing request", async () => {
  const { argv, folders, compiled } = await place(COPY_PROGRAM);
  const { exitCode, output } = await run([...argv, "/no/such/request"], { NODE_COMPILE_CACHE: compiled });
  expect(output).not.toMatch(/ERR_MODULE_NOT_FOUND|Cannot find/);
  expect(exitCode).toBe(1);
  for (const folder of folders) expect(folder.startsWith(cacheDir)).toBe(true);
});

test("a program is placed once, and again when its text changes; versions unused for a month are removed", async () => {
  const root = join(cacheDir, "sources");
  mkdirSync(root);
  const source = { name: "small", title: "a small program", entry: join(root, "main.ts"), root, nodeOptions: [] };
  const write = (text: string): void => {
    writeFileSync(join(root, "main.ts"), `import { text } from "./text.ts";\nconsole.log(text satisfies string);`);
    writeFileSync(join(root, "text.ts"), `export const text: string = "${text}";`);
  };
  const said = async ({ argv }: { argv: readonly string[] }): Promise<string> => (await run(argv)).stdout;
  write("one");
  const first = await place(source);
  steps.length = 0;
  expect(await place(source)).toEqual(first);
  expect(steps).toEqual([]);
  write("two");
  const second = await place(source);
  expect(await said(first)).toBe("one\n");
  expect(await said(second)).toBe("two\n");
  const longAgo = new Date(Date.now() - 31 * 24 * 3_600_000);
  const oldFolder = first.folders.find((folder) => folder.includes("small-")) ?? "";
  utimesSync(oldFolder, longAgo, longAgo);
  await place(source);
  expect(existsSync(oldFolder)).toBe(false);
  expect(await said(second)).toBe("two\n");
});

test("another user's process finds the compiled code through a link for that user", async () => {
  const program = await place(COPY_PROGRAM);
  await shareCompiled(program, OTHER_USER);
  await shareCompiled(program, OTHER_USER);
  const names = readdirSync(program.compiled).filter((name) => name.endsWith(`-${OTHER_USER}`));
  expect(names).toHaveLength(1);
  const [own = ""] = names;
  expect(readdirSync(join(program.compiled, own)).length).toBeGreaterThan(2);
  const env = { NODE_COMPILE_CACHE: program.compiled, NODE_DEBUG_NATIVE: "COMPILE_CACHE" };
  const { output } = await run([...program.argv, "/no/such/request"], env);
  expect(output).toMatch(/success, size=|was accepted|because cache was the same/); // only a part of the output is kept
  expect(output).not.toMatch(/was rejected|writing cache/);
});

test("a program that cannot be loaded is not placed", async () => {
  const root = join(cacheDir, "broken");
  mkdirSync(root);
  writeFileSync(join(root, "main.ts"), `import "./part.ts";`);
  writeFileSync(join(root, "part.ts"), `throw new Error("broken");`);
  const broken = {
    name: "broken-program",
    title: "a broken program",
    entry: join(root, "main.ts"),
    root,
    nodeOptions: [],
  };
  await expect(place(broken)).rejects.toThrow(/^the compilation of a program failed/);
  await expect(place(broken)).rejects.toThrow(/^the compilation of a program failed/);
});
