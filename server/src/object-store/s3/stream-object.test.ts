import { once } from "node:events";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { ObjectStoreError } from "../object-store-error.ts";
import type { S3Call, S3Client } from "./s3-client.ts";
import { streamObject } from "./s3-objects.ts";

test("a streamed write is reported with its last failure, not with that of an earlier connection", async () => {
  const denied = new ObjectStoreError("denied", "access denied", { code: "AccessDenied" });
  /** The first connection breaks, and the second request is refused. */
  const collectAs = async ({ body }: S3Call): Promise<never> => {
    if (body === undefined || Buffer.isBuffer(body)) throw new Error("not a stream");
    const sent = Readable.from(body.contents()).on("error", () => undefined);
    await once(sent, "data");
    sent.destroy(new Error("read ECONNRESET"));
    await new Promise((settle) => sent.once("close", settle)); // `once` would reject with the error
    body.contents();
    throw denied;
  };
  const client = { collectAs } as unknown as S3Client; // the only method that a streamed write needs
  const contents = async function* (): AsyncGenerator<Buffer> {
    for (let each = 0; each < 9; each += 1) yield Buffer.alloc(1024);
  };
  await expect(streamObject(client, "s3://bucket/a", { bytes: 9 * 1024, contents })).rejects.toBe(denied);
});
