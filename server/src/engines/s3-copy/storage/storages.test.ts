import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCopies } from "../../../../test/support/copy-run.ts";
import { Journal } from "../journal.ts";
import { parseCopyOptions } from "../options/parse-options.ts";
import { Storages } from "./storages.ts";

const keys = { accessKeyId: "a", secretAccessKey: "b" };
const copies = useCopies(() => ({ endpoint: "http://minio.example.com:9000", region: "us-east-1", credentials: keys }));
let journal: Journal;
beforeAll(async () => {
  journal = await Journal.open(copies.request("").journalFolder);
});
afterAll(() => journal.close());

const hdfs = { address: "http://nn.example.com:9870", user: "someone" };

async function open<T>(args: string, use: (storages: Storages) => T, hasHdfs = false): Promise<T> {
  const request = copies.request(args, hasHdfs ? { account: { hdfs } } : {});
  const options = parseCopyOptions(request.words, request.account.location);
  const storages = new Storages({ request, options, journal, slots: 1, signal: new AbortController().signal });
  try {
    return use(storages);
  } finally {
    await storages.close();
  }
}

describe("a copy that encrypts", () => {
  const refusal = "s3ServerSideEncryption needs an https endpoint: the S3 endpoint of the destination uses http";
  const encrypted = "--src s3://bucket/a --dest s3://bucket/b --s3ServerSideEncryption";

  test.each(["", "--s3Endpoint http://10.1.2.3", "--s3Endpoint minio.example.com:9000"])(
    "must not reach its destination without TLS: %s",
    async (endpoint) => {
      await expect(open(`${encrypted} ${endpoint}`, () => "opened")).rejects.toThrow(refusal);
    },
  );

  test.each([
    "--s3Endpoint https://minio.example.com:9000",
    "--s3Endpoint other.example.com",
    "--s3Endpoint http://127.1.2.3:9000",
    "--s3Endpoint http://localhost:9000",
    "--s3Endpoint http://[::1]:9000",
    "--s3Endpoint https://x.example.com --srcS3Endpoint http://10.1.2.3",
  ])("may reach it by %s", async (endpoint) => {
    expect(await open(`${encrypted} ${endpoint}`, () => "opened")).toBe("opened");
  });

  test.each(["AES256", "SSE-KMS", `SSE-C --encryptionKey ${Buffer.alloc(32).toString("base64")}`])(
    "needs TLS whatever the algorithm: %.8s",
    async (algorithm) => {
      const args = `--src s3://bucket/a --dest s3://bucket/b --s3SSEAlgorithm ${algorithm}`;
      await expect(open(args, () => "opened")).rejects.toThrow(refusal);
    },
  );

  test("needs no TLS if it does not encrypt, or the destination is not in S3", async () => {
    expect(await open("--src s3://bucket/a --dest s3://bucket/b", () => "opened")).toBe("opened");
    const toHdfs = "--src s3://bucket/a --dest hdfs:///b --s3ServerSideEncryption";
    expect(await open(toHdfs, () => "opened", true)).toBe("opened");
  });
});

describe("a customer's key", () => {
  const key = `--s3ServerSideEncryption --s3SSEAlgorithm SSE-C --encryptionKey ${Buffer.alloc(32, 1).toString("base64")}`;

  test("needs TLS to the source if the destination is not in S3", async () => {
    const args = `--src s3://bucket/a --dest hdfs:///b ${key}`;
    const refusal = "s3ServerSideEncryption needs an https endpoint: the S3 endpoint of the source uses http";
    await expect(open(args, () => "opened", true)).rejects.toThrow(refusal);
    await expect(open(`${args} --srcS3Endpoint http://10.1.2.3`, () => "opened", true)).rejects.toThrow(refusal);
    expect(await open(`${args} --srcS3Endpoint https://10.1.2.3`, () => "opened", true)).toBe("opened");
  });
});

describe("two endpoints", () => {
  const args = "--src s3://bucket/a --dest s3://bucket/b";
  const service = (more: string) =>
    open(`${args} ${more}`, ({ isSameService, mayBeSameService }) => [isSameService, mayBeSameService]);

  test("are one service if both are of AWS, unless they are in different partitions", async () => {
    const aws = "--s3Endpoint https://s3.us-east-1.amazonaws.com";
    expect(await service(`${aws} --srcS3Endpoint https://s3.dualstack.eu-west-1.amazonaws.com`)).toEqual([true, false]);
    expect(await service(`${aws} --srcS3Endpoint https://s3.us-gov-west-1.amazonaws.com`)).toEqual([false, true]);
  });

  test("may be one service if they have different names", async () => {
    expect(await service("")).toEqual([true, false]);
    expect(await service("--srcS3Endpoint http://10.1.2.3:9000")).toEqual([false, true]);
  });
});

describe("the temporary folder", () => {
  const args = "--src s3://bucket/a --dest s3://bucket/b";
  const spoolOf = async (more: string, hasHdfs = false) =>
    open(`${args} ${more}`, (storages) => storages.spoolFolder().newFile(), hasHdfs);

  test("is --tmpDir, else hdfs:///tmp if the account has an HDFS, else the attempt's own folder", async () => {
    expect(await spoolOf("--tmpDir hdfs:///x/", true)).toBe(`hdfs:///x/headgate-copy-${journal.id}-1`);
    expect(await spoolOf("", true)).toBe(`hdfs:///tmp/headgate-copy-${journal.id}-1`);
    expect(await spoolOf("")).toMatch(/^file:\/\/.*\/scratch-\d+\/headgate-copy-[^/]*$/);
  });

  test("cannot be in S3, where temporary data would not be encrypted", async () => {
    await expect(spoolOf("--tmpDir s3://bucket/tmp")).rejects.toThrow(
      "--tmpDir must be on HDFS or in the storage folder (file:), because temporary data is not encrypted.",
    );
  });

  test("cannot be on an HDFS that the account does not have", async () => {
    await expect(spoolOf("--tmpDir hdfs:///x")).rejects.toThrow("the account has no HDFS: set hdfs_http_address");
  });
});

test.each(["--src /home/x", "--src=/home/x"])("%s, without an HDFS, is told how to write files", async (src) => {
  const from = (given: string) => open(`${given} --dest s3://bucket/b`, ({ from: storage }) => storage.scheme);
  await expect(from(src)).rejects.toThrow("a path without a scheme means HDFS, and files in the account's storage");
  await expect(from("--src hdfs:///home/x")).rejects.toThrow(/set hdfs_http_address of the account$/);
});
