import { LRUCache } from "lru-cache";
import { Fault, invalid } from "../../lib/fault.ts";
import type { CommandFiles } from "../execution/command-files.ts";
import { missingCause } from "../execution/run-log.ts";
import { unreachableNode, type OtherNodes } from "./other-nodes.ts";
import { hasEnded } from "../store/command-row.ts";
import type { CommandOutcome } from "../store/outcome.ts";
import { openPlainFile, readChunks } from "../../lib/plain-file.ts";
import type { ObjectStore } from "../../object-store/object-store.ts";
import { ObjectStoreError } from "../../object-store/object-store-error.ts";
import { parseObjectUri } from "../../object-store/object-uri.ts";
import type { AccountStorage } from "../../accounts/contract.ts";

/** Returns the paths of a command's files on this node. */
export type CommandFilesOf = (accountId: number, commandId: number) => CommandFiles;

/**
 * The logs and outputs of commands. Attempts of this node are read from its files, those of other nodes from the account's
 * storage. If an attempt is not published yet, or the storage is unreachable, the fault names the node that has it.
 */
export interface CommandTexts {
  log(command: CommandOutcome): Promise<CommandText>;
  /** Throws if the log was removed, because an empty log would mean that nothing was logged. */
  retainedLog(command: CommandOutcome): Promise<CommandText>;
  /** The output of an unfinished command so far. */
  output(command: CommandOutcome): Promise<CommandText>;
  /** The output of the last attempt. Undefined: it was removed. */
  result(command: CommandOutcome): Promise<TextPart | undefined>;
}

/** For handlers: their services have it under this name. */
export interface WithCommandTexts {
  commandTexts: CommandTexts;
}

interface CommandTextOptions {
  readonly commandFilesOf: CommandFilesOf;
  readonly nodes: Pick<OtherNodes, "isHere">;
  readonly published: PublishedText;
}

export function commandTexts({ commandFilesOf, nodes, published }: CommandTextOptions): CommandTexts {
  /** Undefined: there is none, or it was removed. */
  const partOf = async (
    command: CommandOutcome,
    attempt: number,
    file: "log" | "output",
    name: string,
  ): Promise<TextPart | undefined> => {
    const nodeId = command.nodes[attempt - 1];
    if (nodes.isHere(nodeId)) return filePart(commandFilesOf(command.accountId, command.id).attempt(attempt)[file]);
    const isOver = attempt < command.attempt || hasEnded(command.status);
    const found = isOver && !command.unpublished.includes(attempt) ? await published(command, name) : "unreachable";
    if (found === "unreachable") throw unreachableNode(nodeId);
    return found === "missing" ? undefined : found;
  };
  const logOf = (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> =>
    partOf(command, attempt, "log", logName(attempt));
  const outputOf = (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> =>
    partOf(command, attempt, "output", RESULT_NAME);
  /** The cause of a failed attempt of this node, if a full disk has kept it out of the log. */
  const missingCauseOf = async (command: CommandOutcome, attempt: number): Promise<TextPart | undefined> => {
    const cause = command.causes[attempt - 1] ?? null;
    if (cause === null || !nodes.isHere(command.nodes[attempt - 1])) return undefined;
    const { log: file } = commandFilesOf(command.accountId, command.id).attempt(attempt);
    return textPart(await missingCause(file, cause));
  };
  const log: CommandTexts["log"] = async (command) => {
    const parts = attemptsOf(command).flatMap((attempt) => [logOf(command, attempt), missingCauseOf(command, attempt)]);
    return joined(await Promise.all(parts));
  };
  return {
    log,
    async retainedLog(command) {
      const { status, attempt, logBytes, cause } = command;
      const isKept = !hasEnded(status) || attempt === 0 || (await logOf(command, attempt)) !== undefined;
      // An empty log is not published. The row has the cause of a command without a log.
      const wasNever = logBytes === 0 && (cause !== null) === nodes.isHere(command.nodes.at(-1));
      if (isKept || wasNever) return log(command);
      throw invalid("logs", "of this command have been removed from the server");
    },
    output: async (command) =>
      joined(await Promise.all(attemptsOf(command).map((attempt) => outputOf(command, attempt)))),
    async result(command) {
      const found = await outputOf(command, command.attempt);
      const isEmpty = command.resultBytes === 0 && !nodes.isHere(command.nodes.at(-1));
      return found ?? (isEmpty ? NO_PART : undefined);
    },
  };
}

function attemptsOf({ attempt }: CommandOutcome): number[] {
  return Array.from({ length: attempt }, (_, index) => index + 1);
}

/** Text of a known size that can be read, from a file or from the account's storage. */
export interface TextPart {
  readonly size: number;
  /** `start` and `end` are within `size`. */
  read(start: number, end: number): AsyncIterable<Buffer>;
  /** The file of this node that has exactly this text; absent: there is none. */
  readonly path?: string;
}

/**
 * The log, or the output, of all attempts in their order. The files only grow, so an offset that a client has stays valid
 * when another attempt follows.
 */
export interface CommandText {
  readonly parts: readonly TextPart[];
  readonly size: number;
}

export const NO_TEXT: CommandText = { parts: [], size: 0 };
const NO_PART: TextPart = { size: 0, read: () => readText(NO_TEXT) };

/** Reads from an offset on, up to the measured size. */
export async function* readText({ parts }: CommandText, offset = 0, limit = Infinity): AsyncGenerator<Buffer> {
  let [skip, left] = [offset, limit];
  for (const part of parts) {
    const start = Math.min(skip, part.size);
    const end = Math.min(part.size, start + left);
    skip -= start;
    left -= end - start;
    if (end > start) yield* part.read(start, end);
  }
}

/** Undefined: there is no such file. The file is opened only when it is read, so an unread part holds none open. */
export async function filePart(path: string): Promise<TextPart | undefined> {
  const file = await openPlainFile(path);
  await file?.handle.close();
  return file === undefined ? undefined : { size: file.size, path, read: (start, end) => readFile(path, start, end) };
}

function textPart(text: string): TextPart {
  const bytes = Buffer.from(text);
  return {
    size: bytes.length,
    async *read(start, end) {
      yield bytes.subarray(start, end);
    },
  };
}

async function* readFile(path: string, start: number, end: number): AsyncGenerator<Buffer> {
  const file = await openPlainFile(path);
  if (file === undefined) throw new Error("a file of a command was removed while it was read");
  try {
    yield* readChunks(file, start, end);
  } finally {
    await file.handle.close();
  }
}

/** The parts that exist, in their order. */
function joined(found: readonly (TextPart | undefined)[]): CommandText {
  const parts = found.filter((part) => part !== undefined);
  return { parts, size: parts.reduce((sum, { size }) => sum + size, 0) };
}

/** The command, whose account and date decide the path in the storage. */
export interface PublishedCommand {
  readonly id: number;
  readonly accountId: number;
  readonly createdAt: Date;
}

export const RESULT_NAME = "results";

/** Each attempt has its own object, because several nodes may have run them. */
export function logName(attempt: number): string {
  return attempt === 1 ? "logs" : `logs.${attempt}`;
}

/** The path below the storage location; it begins with the command's `path`. */
export function publishedPath({ id, accountId, createdAt }: PublishedCommand, name: string): string {
  return `/tmp/${createdAt.toISOString().slice(0, 10)}/${accountId}/${id}/${name}`;
}

/** Finds a text that another node has published to the account's storage. */
type PublishedText = (command: PublishedCommand, name: string) => Promise<TextPart | "missing" | "unreachable">;

/** A followed log is read every second, and published objects do not change. */
const REMEMBERED = { max: 200, ttl: 60_000 };

export function publishedText(storage: AccountStorage): PublishedText {
  const known = new LRUCache<string, TextPart>(REMEMBERED);
  return async (command, name) => {
    const path = publishedPath(command, name);
    const there = known.get(path) ?? (await find(storage, command.accountId, path));
    if (typeof there !== "object") return there;
    known.set(path, there);
    return { ...there, read: (start, end) => readPublished(there, [start, end], () => known.delete(path)) };
  };
}

/**
 * The object may have been deleted since it was found, or the account may use another storage now. The cached entry is
 * dropped, and the next request looks the object up again.
 */
async function* readPublished(text: TextPart, range: [number, number], forget: () => void): AsyncGenerator<Buffer> {
  try {
    yield* text.read(...range);
  } catch (error) {
    forget();
    if (!(error instanceof ObjectStoreError)) throw error;
    const message = `The log or result cannot be read from the account's storage (${error.message}); try again.`;
    throw new Fault("unavailable", message, { retryAfterSeconds: 1, cause: error });
  }
}

async function find(
  storage: AccountStorage,
  accountId: number,
  path: string,
): Promise<TextPart | "missing" | "unreachable"> {
  const { store, uri } = await openAt(storage, accountId, path);
  try {
    // A local folder is on this node, so it cannot have objects of another.
    if (parseObjectUri(uri).scheme === "file") return "unreachable";
    const { size } = await store.stat(uri);
    return { size, read: (start, end) => readObject(storage, accountId, path, start, end) };
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    return error.kind === "missing" ? "missing" : "unreachable";
  } finally {
    await store.close();
  }
}

async function* readObject(
  storage: AccountStorage,
  accountId: number,
  path: string,
  offset: number,
  end: number,
): AsyncGenerator<Buffer> {
  const { store, uri } = await openAt(storage, accountId, path);
  try {
    const { body } = await store.get(uri, { range: { offset, length: end - offset } });
    for await (const piece of body as AsyncIterable<Buffer>) yield piece; // no encoding is set
  } finally {
    await store.close();
  }
}

async function openAt(
  storage: AccountStorage,
  accountId: number,
  path: string,
): Promise<{ store: ObjectStore; uri: string }> {
  const { store, location } = await storage.open(accountId);
  return { store, uri: `${location.replace(/\/+$/, "")}${path}` };
}
