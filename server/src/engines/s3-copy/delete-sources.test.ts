/** Copies that delete their sources while others overwrite them, or while the store fails (`--deleteOnSuccess`). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { errorAnswer, type Fault } from "../../../test/seaweedfs/relay.ts";
import { allFiles, operationOf, useFaultyCopies } from "../../../test/support/faulty-copies.ts";
import { inParallel } from "../../../test/support/in-parallel.ts";
import { useMemoryHdfs } from "../../../test/support/memory-hdfs.ts";
import { useMemoryS3 } from "../../../test/support/memory-s3.ts";

const copies = useFaultyCopies();
const memory = useMemoryS3();
const busy = { ...errorAnswer(503, "SlowDown"), kind: "answer", status: 503 } as const;

function write(src: string, names: readonly string[], text?: string): Promise<void> {
  return inParallel(names, 16, async (name) => {
    await copies.store.write(`${src}/${name}`, Buffer.from(text ?? name));
  });
}

/** Objects whose contents are their names. */
async function putSources(count: number): Promise<{ src: string; names: string[] }> {
  const src = copies.folder();
  const names = Array.from({ length: count }, (_, at) => `f${at}`);
  await write(src, names);
  return { src, names };
}

/** Moves the sources to files. `decide` gets the operation and how often it was requested, from 1. */
async function move(src: string, decide: (operation: string, count: number) => Fault | undefined, retries?: number) {
  const { path, uri } = copies.newFiles();
  const counts = new Map<string, number>();
  const args = `--src ${src} --dest ${uri} --deleteOnSuccess`;
  const limits = retries === undefined ? {} : { limits: { retries } };
  const ran = await copies.run(
    args,
    (request) => {
      const operation = operationOf(request);
      const count = (counts.get(operation) ?? 0) + 1;
      counts.set(operation, count);
      return decide(operation, count);
    },
    limits,
  );
  return { ...ran, path };
}

const isFirstDelete = (operation: string, count: number): boolean => operation === "POST delete" && count === 1;
const keptBecause = "kept, because they have changed since they were copied";

describe("a source that is overwritten while the copy deletes it", () => {
  test("is kept if the store was busy: no version is lost that was not copied", async () => {
    const names = Array.from({ length: 100 }, (_, at) => `f${at}`).toSorted();
    for (const name of names) memory.objects.set(`in/${name}`, name);
    let deletes = 0;
    memory.onRequest = ({ query }) => {
      if (!query.has("delete") || ++deletes > 1) return undefined;
      for (const name of names) memory.objects.set(`in/${name}`, "new");
      return 503;
    };
    const { path, uri } = copies.newFiles();
    const args = `--src s3://memory/in --dest ${uri} --deleteOnSuccess`;
    const { end, log } = await copies.bench.run(args, { account: { s3: memory.account } });
    expect([...memory.objects.keys()].toSorted()).toEqual(names.map((name) => `in/${name}`));
    expect(end.failure).toMatch(
      new RegExp(`^0 of 100 sources were deleted; ${keptBecause}: .* \\(100 sources; the log names them\\)$`),
    );
    const reason = "not deleted, because it has changed since it was copied";
    expect(log).toEqual(expect.arrayContaining(names.map((name) => `s3://memory/in/${name}: ${reason}`)));
    expect(allFiles(path).map((name) => readFileSync(join(path, name), "utf8"))).toEqual(names);
  });

  test("is kept if it was deleted before, but the store's answer was lost", async () => {
    const { src } = await putSources(3);
    const { end } = await move(src, (...request) =>
      isFirstDelete(...request) ? { kind: "lost-answer", afterwards: () => write(src, ["f1"], "new") } : undefined,
    );
    expect(await copies.namesBelow(src)).toEqual(["f1"]);
    expect(end.failure).toBe(`2 of 3 sources were deleted; ${keptBecause}: ${src}/f1`);
  });

  test("is kept even if that happens between the last check and the delete", async () => {
    const { src } = await putSources(3);
    const { end } = await move(src, (...request) =>
      isFirstDelete(...request) ? { kind: "hold", until: write(src, ["f1"], "new") } : undefined,
    );
    expect(await copies.namesBelow(src)).toEqual(["f1"]);
    expect(end.failure).toBe(`2 of 3 sources were deleted; ${keptBecause}: ${src}/f1`);
  });
});

test.each([errorAnswer(400, "MalformedXML"), { kind: "answer", status: 501 } as const])(
  "a store that refuses conditional deletes gets plain ones",
  async (refusal) => {
    const { src } = await putSources(3);
    const { end, relay } = await move(src, (...request) => (isFirstDelete(...request) ? refusal : undefined));
    expect(end).toMatchObject({ failure: null, retries: 1 });
    const lengths = relay.requests.filter(({ method }) => method === "POST").map(bodyLength);
    expect(lengths[1]).toBeLessThan(lengths[0] ?? 0);
    expect(await copies.namesBelow(src)).toEqual([]);
  },
);

function bodyLength({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): number {
  return Number(headers["content-length"]);
}

describe("the error of a copy that cannot delete its sources", () => {
  test("says which were refused, and that the others were not tried", async () => {
    memory.objects.clear();
    for (let at = 0; at < 200; at += 1) memory.objects.set(`in/${at}`, "1");
    const refused: string[] = [];
    memory.onRequest = ({ query, body }) => {
      const key = /<Key>(.*?)<\/Key>/.exec(body)?.[1];
      if (!query.has("delete") || key === undefined || refused.length > 0) return undefined;
      refused.push(`s3://memory/${key} (AccessDenied)`);
      for (const [, other = ""] of body.matchAll(/<Key>(.*?)<\/Key>/g)) if (other !== key) memory.objects.delete(other);
      return `<DeleteResult><Error><Key>${key}</Key><Code>AccessDenied</Code></Error></DeleteResult>`;
    };
    const args = `--src s3://memory/in --dest ${copies.newFiles().uri} --deleteOnSuccess`;
    const { end } = await copies.bench.run(args, { account: { s3: memory.account } });
    expect(end.failure).toBe(`191 of 200 sources were deleted; could not be deleted: ${refused.join()}; not tried: 8`);
    expect(memory.objects.size).toBe(9);
  });

  test("says which may have been deleted, because the store did not answer any more", async () => {
    const { src } = await putSources(2);
    let isSilent = false;
    const { end } = await move(
      src,
      (operation) => {
        if (isSilent) return { kind: "reset" };
        if (operation !== "POST delete") return undefined;
        isSilent = true;
        return { kind: "lost-answer" };
      },
      1,
    );
    expect(end.failure).toMatch(
      new RegExp(`^0 of 2 sources were deleted; may have been deleted \\(the store did not answer\\): ${src}/f. \\(`),
    );
    expect(await copies.namesBelow(src)).toEqual([]);
  });

  test("comes after as many tries as other requests have", async () => {
    const { src, names } = await putSources(2);
    const { end, relay } = await move(src, (operation) => (operation === "POST delete" ? busy : undefined), 2);
    expect(end).toMatchObject({ retries: 2 });
    expect(end.failure).toMatch(/^0 of 2 sources were deleted; could not be deleted: .* \(503 SlowDown\)/);
    expect(relay.requests.filter(({ method }) => method === "POST")).toHaveLength(3);
    expect(await copies.namesBelow(src)).toEqual(names);
  });
});

test("the error does not promise more lines in the log than it has", async () => {
  memory.objects.clear();
  for (let at = 0; at < 1001; at += 1) memory.objects.set(`in/${at}`, "1");
  let isChanged = false;
  memory.onRequest = ({ method, query }) => {
    // The check before the first delete is the first HEAD.
    if (method === "HEAD" && !isChanged) for (const key of memory.objects.keys()) memory.objects.set(key, "2");
    isChanged ||= method === "HEAD";
    return query.has("delete") ? 503 : undefined;
  };
  const args = `--src s3://memory/in --dest ${copies.newFiles().uri} --deleteOnSuccess`;
  const { end } = await copies.bench.run(args, { account: { s3: memory.account } });
  expect(end.failure).toMatch(/ \(1001 sources; the log names the first 1,000\)$/);
});

describe("in HDFS", () => {
  const hdfs = useMemoryHdfs();
  const account = { hdfs: hdfs.account };

  test("a source that is written again after the answer to its delete was lost is kept", async () => {
    for (const name of ["a", "b"]) hdfs.put(`/in/${name}`, name);
    let deletes = 0;
    hdfs.onRequest = (operation, path) => {
      if (operation !== "DELETE" || !path.startsWith("/in/") || ++deletes > 1) return;
      hdfs.put(path, "c", 2);
      throw new Error("breaks the connection");
    };
    const { uri } = copies.newFiles();
    const { end } = await copies.bench.run(`--src hdfs:///in --dest ${uri} --deleteOnSuccess`, { account });
    const [left] = [...hdfs.files].map(([path, { bytes }]) => `${path} ${bytes.toString()}`);
    expect(hdfs.files.size).toBe(1);
    expect(left).toMatch(/^\/in\/[ab] c$/);
    expect(end.failure).toMatch(new RegExp(`^1 of 2 sources were deleted; ${keptBecause}: hdfs:///in/[ab]$`));
  });
});
