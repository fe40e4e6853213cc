/**
 * The baseline of `run.ts`: a bare Node server that streams bodies to and from a file, or to and from an object of an S3
 * store. It has no checks, no conditions and no retries. Usage: node bare-server.ts <folder>, or with an S3 object as
 * <endpoint> <bucket> <region> <access key> <secret key>.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { requestSigner, UNSIGNED_PAYLOAD } from "../../server/src/object-store/s3/sign-request.ts";

const [target = "", bucket, region = "", accessKeyId = "", secretAccessKey = ""] = process.argv.slice(2);
const sign = requestSigner({ accessKeyId, secretAccessKey });

createServer((request, response) => {
  const done = bucket === undefined ? withFile(request, response) : withObject(request, response);
  done.catch(() => response.destroy());
})
  .listen(0, "127.0.0.1")
  .on("listening", function (this: ReturnType<typeof createServer>) {
    const address = this.address();
    console.log(`ready at http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`);
  });

async function withFile(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = join(target, "bare");
  if (request.method === "GET") return pipeline(createReadStream(path), response);
  await pipeline(request, createWriteStream(path));
  const file = await open(path); // what is answered as stored is on the disk, as with Headgate
  await file.datasync();
  await file.close();
  response.end();
}

async function withObject(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { hostname, port, host } = new URL(target);
  const path = `/${bucket}/bare`;
  const { method = "" } = request;
  const signed = sign(
    { method, path, query: "", headers: { host }, payloadHash: UNSIGNED_PAYLOAD },
    region,
    new Date(),
  );
  const length = request.headers["content-length"];
  const headers = { ...signed, ...(length === undefined ? {} : { "content-length": length }) };
  const outgoing = httpRequest({ hostname, port, method, path, headers });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve).once("error", reject);
  });
  await pipeline(request, outgoing);
  const answer = await answered;
  response.statusCode = answer.statusCode ?? 500;
  await pipeline(answer, response);
}
