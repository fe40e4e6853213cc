import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quoteWord, splitWords } from "../../../lib/shell-words.ts";
import type { CopyOptions } from "./copy-options.ts";
import { parseCopyOptions } from "./parse-options.ts";

const minimal = "--src s3://src/a --dest s3://dst/b";
const LOCATION = "s3a://own/prefix/";
const KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

function parse(args: string): CopyOptions {
  return parseCopyOptions(splitWords(args, "args"), LOCATION);
}

const defaults: CopyOptions = {
  src: "s3://src/a",
  srcScheme: null,
  dest: "s3://dst/b",
  srcPrefixesFile: null,
  srcPattern: null,
  groupBy: null,
  targetSizeMiB: null,
  outputCodec: null,
  encryption: null,
  storageClass: null,
  deleteOnSuccess: false,
  disableMultipartUpload: false,
  chunkSizeMiB: 16,
  filesPerMapper: null,
  startingIndex: null,
  outputManifest: null,
  previousManifest: null,
  requirePreviousManifest: true,
  copyFromManifest: false,
  appendToLastFile: false,
  s3Endpoint: null,
  srcS3Endpoint: null,
  tmpDir: null,
  credentials: null,
  parallelism: null,
  notes: [],
};

describe("the arguments of a copy", () => {
  test.each<[string, Partial<CopyOptions>]>([
    ["", {}],
    ["--srcPattern '.*\\.gz'", { srcPattern: ".*\\.gz" }],
    ["--groupBy '.*(a|b).*' --targetSize 128", { groupBy: ".*(a|b).*", targetSizeMiB: 128 }],
    ["--outputCodec gz", { outputCodec: "gzip" }],
    ["--outputCodec=none", { outputCodec: "none" }],
    ["--s3ServerSideEncryption", { encryption: { algorithm: "AES256" } }],
    ["--s3SSEAlgorithm SSE-KMS", { encryption: { algorithm: "SSE-KMS", keyId: null } }],
    ["--s3SSEAlgorithm SSE-KMS --encryptionKey alias/k", { encryption: { algorithm: "SSE-KMS", keyId: "alias/k" } }],
    [
      `--s3ServerSideEncryption --s3SSEAlgorithm SSE-C --encryptionKey=${KEY}`,
      { encryption: { algorithm: "SSE-C", key: KEY } },
    ],
    ["--deleteOnSuccess --disableMultipartUpload", { deleteOnSuccess: true, disableMultipartUpload: true }],
    ["--deleteOnSuccess=false", {}],
    ["--multipartUploadChunkSize 5120 --filesPerMapper 7", { chunkSizeMiB: 5120, filesPerMapper: 7 }],
    ["--numberFiles", { startingIndex: 0 }],
    ["--startingIndex 12 --numberFiles", { startingIndex: 12 }],
    ["--outputManifest", { outputManifest: "manifest.gz" }],
    ["--outputManifest m-1.gz --numberFiles", { outputManifest: "m-1.gz", startingIndex: 0 }],
    ["--outputManifest --numberFiles", { outputManifest: "manifest.gz", startingIndex: 0 }],
    ["--outputManifest=s3://dst/b/m.gz", { outputManifest: "m.gz" }],
    [
      "--previousManifest s3://dst/m.gz --copyFromManifest",
      { previousManifest: "s3://dst/m.gz", copyFromManifest: true },
    ],
    ["--requirePreviousManifest=false", { requirePreviousManifest: false }],
    ["--storageClass STANDARD_IA", { storageClass: "STANDARD_IA" }],
    ["--srcPrefixesFile s3://src/list", { srcPrefixesFile: "s3://src/list" }],
    [
      "--s3Endpoint s3.example.com --srcS3Endpoint http://10.0.0.1:9000/x/",
      {
        s3Endpoint: "s3.example.com",
        srcS3Endpoint: "http://10.0.0.1:9000/x",
      },
    ],
    ["--s3Endpoint localhost:9000", { s3Endpoint: "localhost:9000" }],
    ["--s3Endpoint ::1", { s3Endpoint: "[::1]" }],
    ["--tmpDir hdfs:///tmp/x", { tmpDir: "hdfs:///tmp/x" }],
    ["--src hdfs:/data", { src: "hdfs:///data" }],
    ["--src file:/data//x", { src: "file:///data/x" }],
    [
      "--src storage:/in --dest storage:///out/ --tmpDir storage:/tmp --previousManifest storage:/m.gz",
      {
        src: "s3://own/prefix/in",
        dest: "s3://own/prefix/out/",
        tmpDir: "s3://own/prefix/tmp",
        previousManifest: "s3://own/prefix/m.gz",
      },
    ],
    ["--srcPrefixesFile storage:/list", { srcPrefixesFile: "s3://own/prefix/list" }],
    ["--src s3n://src/a//b", { src: "s3://src/a//b", srcScheme: "s3n" }],
    ["--src S3A://src --dest s3a://dst/b", { src: "s3://src/", srcScheme: "s3a" }],
    [
      "--dest /out --appendToLastFile --groupBy '(x)'",
      {
        dest: "hdfs:///out",
        appendToLastFile: true,
        groupBy: "(x)",
      },
    ],
    ["-src s3://other/c", { src: "s3://other/c" }],
    ["--src=s3://one/a --src s3://two/a", { src: "s3://two/a" }],
    ["-Dmapreduce.job.maps=20 -D mapred.reduce.tasks=8", { parallelism: 20 }],
    ["-Dmapreduce.job.maps=20 -Dmapreduce.job.running.map.limit=5", { parallelism: 5 }],
    ["-D mapreduce.job.reduces=0", {}],
    [
      "-D fs.s3a.access.key=A -Dfs.s3n.awsSecretAccessKey=b/c=",
      {
        credentials: { accessKeyId: "A", secretAccessKey: "b/c=", sessionToken: undefined },
      },
    ],
    [
      "-D 'fs.s3.awsAccessKeyId = A' -D fs.s3.awsSecretAccessKey=b -Dfs.s3a.session.token=c",
      {
        credentials: { accessKeyId: "A", secretAccessKey: "b", sessionToken: "c" },
      },
    ],
  ])("%s is understood", (args, expected) => {
    expect(parse(`${minimal} ${args}`)).toEqual({ ...defaults, ...expected });
  });

  test.each([
    ["--targetSize 5", "--targetSize has no effect without --groupBy."],
    ["--startingIndex 5", "--startingIndex has no effect without --numberFiles."],
    ["--encryptionKey hunter2", "--encryptionKey has no effect without --s3ServerSideEncryption and --s3SSEAlgorithm."],
    [
      "--s3ServerSideEncryption --encryptionKey hunter2",
      "--encryptionKey has no effect: the algorithm is AES256, whose key is the store's.",
    ],
    ["-Dmapreduce.job.queuename=hunter2", "mapreduce.job.queuename has no effect."],
    ["-D fs.s3a.bucket.x.secret.key=hunter2", "fs.s3a.bucket.x.secret.key has no effect."],
    ["-Dhunter2", "A -D option without a property name has no effect."],
    ["-conf hdfs://hunter2/x", "-conf has no effect."],
    ["-fs hdfs://u:hunter2@nn", "-fs has no effect."],
    ["-libjars=hunter2.jar", "-libjars has no effect."],
    ["--dest file:/x --appendToLastFile", "--appendToLastFile has no effect without --groupBy."],
    ["--dest file:/x --storageClass STANDARD", "--storageClass has no effect: --dest is not in S3."],
  ])("%s has no effect, and the log says so without the value", (args, note) => {
    const { notes } = parse(`${minimal} ${args}`);
    expect(notes).toEqual([note]);
  });

  test.each([
    ["--src s3://src/a", "--dest is missing: the folder to copy to."],
    ["--dest s3://dst/a", "--src is missing: the folder or file to copy."],
    [`${minimal} --frobnicate`, "Argument --frobnicate doesn't match."],
    [`${minimal} --frobnicate=1`, "Argument --frobnicate=1 doesn't match."],
    [`${minimal} stray`, "Argument stray doesn't match."],
    [`${minimal} --SRC s3://x/y`, "Argument --SRC doesn't match."],
    [`${minimal} --encryptionKey a hunter2`, "Argument ******** doesn't match."],
    [`${minimal} -D fs.s3a.session.token hunter2`, "Argument ******** doesn't match."],
    [`${minimal} –encryptionKey=hunter2`, "Argument –encryptionKey=******** doesn't match."],
    [`${minimal} --secretKey:hunter2`, "Argument --secretKey:******** doesn't match."],
    [`${minimal} s3n://A:hunter2@bucket/x`, "Argument s3n:******** doesn't match."],
    ["--src", "--src needs a value."],
    ["--src --dest s3://dst/b", "--src needs a value."],
    [`${minimal} --srcPattern a --groupBy '(b)'`, /^--srcPattern and --groupBy cannot be combined/],
    [`${minimal} --srcPattern ''`, "--srcPattern must not be empty."],
    [`${minimal} --s3SSEAlgorithm SSE-C`, "--s3SSEAlgorithm SSE-C needs --encryptionKey: 32 bytes in base64."],
    [
      `${minimal} --s3SSEAlgorithm SSE-C --encryptionKey hunter2`,
      "--encryptionKey must be 32 bytes in base64 (44 characters) for SSE-C.",
    ],
    [`${minimal} --s3SSEAlgorithm ROT13`, "--s3SSEAlgorithm must be AES256, SSE-KMS or SSE-C."],
    [`${minimal} --s3SSEAlgorithm SSE-KMS --encryptionKey 'hunter2 x'`, /^--encryptionKey must be the id/],
    [`${minimal} --multipartUploadChunkSize 4`, "--multipartUploadChunkSize must be an integer from 5 to 5120."],
    [`${minimal} --multipartUploadChunkSize 5121`, "--multipartUploadChunkSize must be an integer from 5 to 5120."],
    [`${minimal} --targetSize 1.5`, "--targetSize must be an integer from 1 to 2147483647."],
    [`${minimal} --targetSize -1`, "--targetSize must be an integer from 1 to 2147483647."],
    [`${minimal} --outputCodec bzip2`, "--outputCodec must be gzip, gz, lzo, snappy or none."],
    [`${minimal} --outputManifest ../m.gz`, /^--outputManifest must be a file name below --dest/],
    [`${minimal} --outputManifest s3://other/m.gz`, /^--outputManifest must be a file name below --dest/],
    [`${minimal} --copyFromManifest`, /^--copyFromManifest needs --previousManifest/],
    [`${minimal} --appendToLastFile`, /^--appendToLastFile needs a --dest on HDFS or of files/],
    [`${minimal} --requirePreviousManifest maybe`, "--requirePreviousManifest must be true or false."],
    [`${minimal} --storageClass 'a b'`, /^--storageClass must be a storage class/],
    ["--src s3://my_logs/a --dest s3://dst/b", /^--src names a bucket with an underscore/],
    ["--src s3://src/a --dest s3a://my_logs", /^--dest names a bucket with an underscore/],
    [
      "--src ftp://src/a --dest s3://dst/b",
      "--src: the URI must begin with storage:/, s3://, s3a://, s3n://, hdfs:// or file:/.",
    ],
    ["--src s3n://A:hunter2@src/a --dest s3://dst/b", /^--src must not contain keys/],
    ["--src s3n://A:hun/ter2@src/a --dest s3://dst/b", /^--src must not contain keys/],
    [
      "--src storage:/a/../b --dest s3://dst/b",
      "--src: the URI must have no empty name and no '.' or '..' in its path after storage:/.",
    ],
    ["--src s3://src/a --dest storage://b", /^--dest: the URI must name no host after storage:/],
    [`${minimal} --s3Endpoint https://u:hunter2@h`, /^--s3Endpoint must be a host/],
    [`${minimal} --s3Endpoint ftp://h`, /^--s3Endpoint must be a host/],
    [`${minimal} -Dfs.s3a.access.key=hunter2`, /^The -D options must set both/],
    [`${minimal} -Dfs.s3a.secret.key='hunter2 x'`, /^-D fs.s3a.secret.key must have/],
    [`${minimal} -Dmapreduce.job.maps=hunter2`, "-D mapreduce.job.maps must be a number from 0 to 999999999."],
  ])("%s is refused: %s", (args, message) => {
    const problem = problemOf(() => parse(args));
    expect(problem).toMatchObject({ name: "CopyArgumentError" });
    const isExpected = typeof message === "string" ? problem.message === message : message.test(problem.message);
    expect(isExpected, problem.message).toBe(true);
    expect(problem.message).not.toContain("hunter2");
    expect(problem.message).not.toContain("\n");
  });

  test.each([
    ["once", (args: string) => quoteWord(args)],
    ["twice", (args: string) => quoteWord(quoteWord(args))],
    ["word by word", (args: string) => splitWords(args, "args").map(quoteWord).join(" ")],
    ["together with =", (args: string) => quoteWord(args.replaceAll(/(--\w+) /g, "$1="))],
  ])("mean the same when they are quoted %s", (_how, quote) => {
    const args = "--src s3://src/a --dest s3://dst/b --srcPattern '.*it.s a b' --targetSize 5";
    expect(parse(quote(args))).toEqual(parse(args));
  });

  test("mean the same when only the first ones are quoted as a whole", () => {
    const expected = { ...defaults, startingIndex: 0 };
    expect(parse(`'${minimal}' '--numberFiles'`)).toEqual(expected);
    expect(parse(`'--src=s3://src/a --dest=s3://dst/b' '--numberFiles'`)).toEqual(expected);
  });

  test("keep blanks in the value of an option that is quoted with it", () => {
    expect(parse(`${minimal} '--srcPattern=.*a b.*'`).srcPattern).toBe(".*a b.*");
  });

  test("never appear in messages if they are credentials, wherever they stand", () => {
    const secret = "hunter2hunter2";
    const forms = [`--encryptionKey ${secret}`, `-Dfs.s3a.secret.key=${secret}`, `--src s3n://A:${secret}@bkt/x`];
    const others = [...minimal.split(/ (?=--)/), "--numberFiles", "--outputManifest", "--oops", "oops", "-D", "'"];
    const parts = fc.tuple(fc.constantFrom(...forms), fc.array(fc.constantFrom(...others), { maxLength: 4 }), fc.nat());
    fc.assert(
      fc.property(parts, ([form, rest, at]) => {
        const words = rest.toSpliced(at % (rest.length + 1), 0, form).flatMap((part) => part.split(" "));
        const texts =
          textsOf(() => parseCopyOptions(words, LOCATION)) +
          textsOf(() => parseCopyOptions([words.join(" ")], LOCATION));
        expect(texts).not.toContain(secret);
      }),
    );
  });
});

function textsOf(run: () => CopyOptions): string {
  try {
    return run().notes.join();
  } catch (error) {
    return String(error);
  }
}

function problemOf(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("it is not refused");
}
