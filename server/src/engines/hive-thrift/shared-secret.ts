/**
 * Mutual authentication of a client and one of our own metastores: SASL DIGEST-MD5 (RFC 2831) in Thrift's framing. Each
 * side proves that it knows the secret without revealing it, so that another process on the port of a dead metastore
 * learns nothing. `jvm/metastore/SharedSecret.scala` is the server's side.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import type { Secret } from "../../lib/secret.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";

const MECHANISM = "DIGEST-MD5";
const START = 1;
const OK = 2;
const COMPLETE = 5;
const HEAD_BYTES = 5;
const MAX_MESSAGE_BYTES = 4096;

/** The same values as in Hive's client, which names neither a service nor a host. */
const DIGEST_URI = "null/default";
const USER = Buffer.from("headgate").toString("base64");

/** The metastore did not prove that it knows the secret. */
export class SecretNotProven extends Error {
  override readonly name = "SecretNotProven";
}

/** Resolves when both sides have proven it. From then on, messages are framed. */
export async function proveSecret(socket: Socket, secret: Secret, signal: AbortSignal): Promise<void> {
  const messages = new Messages(socket);
  try {
    messages.send(START, MECHANISM);
    messages.send(OK, "");
    const challenge = await unlessAborted(signal, messages.next(OK));
    const { response, proof } = digestResponse(challenge, secret, randomBytes(24).toString("base64"));
    messages.send(OK, response);
    const answer = Buffer.from(await unlessAborted(signal, messages.next(COMPLETE)));
    const expected = Buffer.from(proof);
    if (answer.length !== expected.length || !timingSafeEqual(answer, expected))
      throw new SecretNotProven("the proof is wrong");
  } finally {
    messages.end();
  }
}

/** The response to a challenge, and the proof that the server must return. Pure. */
export function digestResponse(
  challenge: string,
  secret: Secret,
  clientNonce: string,
): { response: string; proof: string } {
  const [, nonce] = /(?:^|,)nonce="([^"]+)"/.exec(challenge) ?? [];
  const [, realm] = /(?:^|,)realm="([^"]*)"/.exec(challenge) ?? [];
  if (nonce === undefined || realm === undefined) throw new SecretNotProven("it sent no valid challenge");
  const password = Buffer.from(secret.reveal()).toString("base64");
  const key = md5(Buffer.concat([md5(`${USER}:${realm}:${password}`), Buffer.from(`:${nonce}:${clientNonce}`)]));
  const digest = (method: string): string =>
    hex(`${key.toString("hex")}:${nonce}:00000001:${clientNonce}:auth:${hex(`${method}:${DIGEST_URI}`)}`);
  const response =
    `charset=utf-8,username="${USER}",realm="${realm}",nonce="${nonce}",nc=00000001,cnonce="${clientNonce}",` +
    `digest-uri="${DIGEST_URI}",maxbuf=65536,response=${digest("AUTHENTICATE")},qop=auth`;
  return { response, proof: `rspauth=${digest("")}` };
}

function md5(text: string | Buffer): Buffer {
  return createHash("md5").update(text).digest();
}

function hex(text: string): string {
  return md5(text).toString("hex");
}

/** A message is a status, a length and that number of bytes. */
class Messages {
  readonly #socket: Socket;
  #arrived = Buffer.alloc(0);
  #end: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", this.#take).on("error", this.#break).on("close", this.#break);
  }

  readonly #take = (chunk: Buffer): void => {
    this.#arrived = Buffer.concat([this.#arrived, chunk]);
    this.#wake?.();
  };

  readonly #break = (error?: unknown): void => {
    this.#end ??= new SecretNotProven("it closed the connection, so it may have another secret", { cause: error });
    this.#wake?.();
  };

  send(status: number, text: string): void {
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt8(status);
    head.writeUInt32BE(Buffer.byteLength(text), 1);
    this.#socket.write(Buffer.concat([head, Buffer.from(text)]));
  }

  async next(expected: number): Promise<string> {
    await this.#until(HEAD_BYTES);
    const length = this.#arrived.readUInt32BE(1);
    if (this.#arrived[0] !== expected || length > MAX_MESSAGE_BYTES)
      throw new SecretNotProven("it sent an unexpected message");
    await this.#until(HEAD_BYTES + length);
    const text = this.#arrived.toString("utf8", HEAD_BYTES, HEAD_BYTES + length);
    this.#arrived = this.#arrived.subarray(HEAD_BYTES + length);
    return text;
  }

  async #until(bytes: number): Promise<void> {
    while (this.#arrived.length < bytes) {
      if (this.#end !== undefined) throw this.#end;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  end(): void {
    this.#socket.off("data", this.#take).off("error", this.#break).off("close", this.#break);
    this.#wake = undefined;
  }
}
