import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { objectsBelow, useCopyFolders } from "../../../test/support/copy-folders.ts";
import { hasMoto, NO_MOTO, useMoto } from "../../../test/moto/moto.ts";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";

const { copies, folder, put, contentsOf, putFiles, filesIn } = useCopyFolders();

const odd = {
  "a b/c d.txt": "spaces",
  "a+b": "plus",
  "a%2Fb%20c%": "percent signs",
  "k=v/day=2026-01-01/part=0": "equals signs",
  "größe/日本語/🎉.txt": "UTF-8",
  "q?x=1&y#z": "marks of a URL",
  "!'()*;:@$,~\"<>[]{}|^`": "other marks",
  "..a/.b/c..": "dots that are not path steps",
};

describe("keys with spaces, +, %2F, = and UTF-8", () => {
  test("are the same in S3 after a server-side copy, to files and back", async () => {
    const [src, inside, back] = [folder(), folder(), folder()];
    await put(src, odd);
    expect((await copies.run(`--src ${src} --dest ${inside}`)).end.failure).toBeNull();
    expect(await contentsOf(inside)).toEqual(odd);
    expect((await copies.run(`--src ${inside} --dest file://${copies.files}/odd`)).end.failure).toBeNull();
    expect(filesIn("odd")).toEqual(odd);
    const up = await copies.run(`--src file://${copies.files}/odd --dest ${back}`);
    expect(up.end.failure).toBeNull();
    expect(await contentsOf(back)).toEqual(odd);
    expect(new Set(up.copied.map(([, to]) => to))).toEqual(new Set(Object.keys(odd).map((name) => `${back}/${name}`)));
  });

  test("name single files and folders in options", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "a b/c+d%2F=é": "1", "a b/x": "2" });
    expect((await copies.run(`--src '${src}/a b/c+d%2F=é' --dest '${dest}/x y%20'`)).end.failure).toBeNull();
    expect(await contentsOf(dest)).toEqual({ "x y%20/c+d%2F=é": "1" });
  });

  test("stay the same in a sorted plan", async () => {
    const [src, dest] = [putFiles("sorted", odd), folder()];
    expect((await copies.run(`--src ${src} --dest ${dest} --outputCodec none`)).end.failure).toBeNull();
    expect(await contentsOf(dest)).toEqual(odd);
  });
});

describe("a folder in --src", () => {
  test("does not match other names that begin alike", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "in/a": "1", "in-other/b": "2", inner: "3" });
    await copies.run(`--src ${src}/in --dest ${dest}`);
    expect(await contentsOf(dest)).toEqual({ a: "1" });
  });

  test("may be missing, which is an error, or empty, which is not", async () => {
    mkdirSync(join(copies.files, "empty"));
    const empty = await copies.run(`--src file://${copies.files}/empty --dest ${folder()}`);
    expect(empty.end).toMatchObject({ failure: null, files: 0 });
    expect(empty.log).toContain("0 of 0 files matched");
    for (const src of [`file://${copies.files}/missing`, folder()]) {
      const { end } = await copies.run(`--src ${src} --dest ${folder()}`);
      expect(end.failure).toBe(`${src}: the source does not exist`);
    }
  });

  test("may contain the destination, whose files are not sources", async () => {
    const files = Object.fromEntries(Array.from({ length: 1100 }, (_, at) => [`z${at}`, ""]));
    const base = putFiles("around", { ...files, "y/old": "" });
    const { end } = await copies.run(`--src ${base}/ --dest ${base}//y/below/`);
    expect(end).toMatchObject({ failure: null, files: 1101 });
    expect(filesIn("around/y/below")).toEqual({ ...files, "y/old": "" });
    const src = folder();
    await put(src, { a: "1", "below/b": "2", "below-not/c": "3" });
    const manifest = "--previousManifest s3://missing/m --requirePreviousManifest=false".replace(
      "missing",
      bucketOf(src),
    );
    expect((await copies.run(`--src ${src} --dest ${src}/below ${manifest}`)).end.failure).toBeNull();
    expect(await contentsOf(`${src}/below`)).toEqual({ a: "1", b: "2", "below-not/c": "3" });
  });
});

describe("--srcPrefixesFile", () => {
  test("names the folders and files to copy, which may overlap; their names are relative to --src", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "a/1": "1", "b/2": "2", "b/c/3": "3", "d/4": "4" });
    const list = putFiles("prefixes", { list: `${src}/b\n\n${src.replace("s3:", "s3n:")}/b/c/\r\n${src}/a/1\n` });
    const args = `--srcPrefixesFile ${list}/list --dest ${dest}`;
    expect((await copies.run(`${args} --src ${src.replace("s3:", "s3a:")}`)).end.failure).toBeNull();
    expect(await contentsOf(dest)).toEqual({ "a/1": "1", "b/2": "2", "b/c/3": "3" });
  });

  test.each([
    ["that does not exist", "missing", "the file of --srcPrefixesFile does not exist"],
    ["that names a missing folder", "nothing", "nothing: the source does not exist"],
    ["that names a folder outside --src", "outside", "must lie below --src"],
    ["that contains keys", "keys", "--srcPrefixesFile must not contain keys"],
  ])("%s fails the job", async (_what, file, message) => {
    const src = folder();
    await put(src, { "a/1": "1" });
    const list = putFiles("wrong-prefixes", {
      nothing: `${src}/nothing`,
      outside: `${src}-not/a`,
      keys: "s3n://A:hunter2@bucket/a",
    });
    const { end } = await copies.run(`--src ${src} --srcPrefixesFile ${list}/${file} --dest ${folder()}`);
    expect(end.failure).toContain(message);
    expect(end.failure).not.toContain("hunter2");
  });
});

function bucketOf(uri: string): string {
  return uri.split("/")[2] ?? "";
}

test("markers of folders are skipped", async () => {
  const [src, dest] = [folder(), folder()];
  await put(src, { "a/_$folder$": "", b_$folder$: "", c_$folder$: "not a marker", "a/x": "1" });
  const { end, log } = await copies.run(`--src ${src} --dest ${dest}`);
  expect(end).toMatchObject({ failure: null, files: 2 });
  expect(log).toContain("2 of 2 files matched");
  expect(await contentsOf(dest)).toEqual({ c_$folder$: "not a marker", "a/x": "1" });
});

const BUCKET = "odd-keys";

describe.skipIf(!hasMoto)("keys that only some stores hold", because(NO_MOTO), () => {
  if (!hasMoto) return;
  const moto = useMoto(BUCKET);
  const account = () => ({ s3: { endpoint: moto.endpoint, region: moto.region, credentials: moto.credentials } });
  let count = 0;
  async function source(contents: Record<string, string>): Promise<string> {
    count += 1;
    const base = `s3://${BUCKET}/s${count}`;
    for (const [name, text] of Object.entries(contents)) await moto.store.write(`${base}/${name}`, Buffer.from(text));
    return base;
  }

  test("arrive unchanged in S3: //, a slash at the end, dots, and names that are folders too", async () => {
    const contents = {
      "a//b": "empty part",
      "/c": "empty first part",
      "d/": "ends with a slash",
      "e/./../f": "steps",
      g: "a file",
      "g/h": "and a folder",
      "i+j k%2Fl=é🎉\\": "marks",
    };
    const src = await source({ ...contents, "marker/": "", "": "" });
    const { end } = await copies.run(`--src ${src} --dest s3://${BUCKET}/d1`, { account: account() });
    expect(end).toMatchObject({ failure: null, files: 7 });
    expect(await objectsBelow(moto.store, `s3://${BUCKET}/d1`)).toEqual(contents);
  });

  test("arrive unchanged in S3 when they pass through this process", async () => {
    const contents = { "a//b": "1", "d/": "2", "/g": "3", "g/h": "4" };
    const src = await source(contents);
    const args = `--src ${src} --dest s3://${BUCKET}/d2 --srcS3Endpoint ${moto.endpoint.replace("127.0.0.1", "localhost")}`;
    const loopback = { account: account(), allowedNetworks: ["127.0.0.0/8", "::1/128"] };
    expect((await copies.run(args, loopback)).end).toMatchObject({ failure: null, files: 4 });
    expect(await objectsBelow(moto.store, `s3://${BUCKET}/d2`)).toEqual(contents);
  });

  test.each([
    ["a//b", "has an empty part"],
    ["a/./b", "has a part . or .."],
    ["a/../../b", "has a part . or .."],
    ["a/", "has an empty part"],
    ["x".repeat(300), "has a part of more than 255 bytes"],
  ])("fail the job and are named if files cannot hold them: %.20s", async (name, message) => {
    const src = await source({ [name]: "1" });
    const { end } = await copies.run(`--src ${src} --dest file://${copies.files}/none`, { account: account() });
    expect(end.failure).toContain(`${src}/${name} cannot be copied to a folder: its path ${message}`);
    expect(existsSync(join(copies.files, "none"))).toBe(false);
  });

  test.each(["", "-Dmapreduce.job.maps=1", "--outputCodec none"])(
    "fail the job and are named if one is a file and a folder (%s)",
    async (options) => {
      const src = await source({ "x/a": "1", "x/a/b": "2" });
      const dest = `both-${count}`;
      const { end } = await copies.run(`${options} --src ${src} --dest file://${copies.files}/${dest}`, {
        account: account(),
      });
      expect(end.failure).toMatch(/x\/a\b.*(a file and a folder)/);
    },
  );
});
