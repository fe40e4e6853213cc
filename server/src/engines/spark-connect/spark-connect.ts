/**
 * A client of Spark Connect for SQL: sessions, statements as streams of Arrow batches, progress, interruption, and
 * reading on after a broken connection or a crash of ours. It knows nothing of who asks and why.
 *
 *   channel ── a connection to one server
 *     session ── settings and temporary views
 *       execution ── one statement: events, each with a position to go on from
 *
 * Every statement is sent as a query, and one trip does for all. Spark's own clients ask first what it is
 * (`sql_command`), and again for the rows, which takes longer for queries and is an error for commands with many rows.
 */
import { randomUUID } from "node:crypto";
import type { Log } from "../../lib/log.ts";
import type { Secret } from "../../lib/secret.ts";
import { ConnectError } from "./connect-error.ts";
import type { Patience } from "./connect-execution.ts";
import { ConnectRpc } from "./connect-rpc.ts";
import { OpenSession, type ConnectSession } from "./connect-session.ts";
import { SparkConnectService } from "./messages/base_pb.ts";

export interface ConnectOptions {
  readonly host: string;
  /** Where to find the host: its name is not asked for again, only shown to the server. */
  readonly address?: string | undefined;
  readonly port: number;
  /** A Unix socket that leads to the server, instead of the port. */
  readonly socket?: string | undefined;
  /** None for a server that asks for none. */
  readonly token?: Secret | undefined;
  readonly tls?: boolean;
  /** Sessions belong to it: the same id of another user's is another session. */
  readonly sessionUser: string;
  /** The server has our extension (`jvm/connect/StoredResults.scala`): a result may be larger than its heap. */
  readonly storedResults?: boolean;
  readonly log?: Log;
  readonly patience?: Patience;
}

export interface ConnectChannel {
  /** A new one, or one of before: by its id, and by the server's name for it where that is known. */
  session(known?: { id?: string; serverSideId?: string | undefined }): ConnectSession;
  /** Fails when the server does not answer or refuses the token. Costs the server next to nothing. */
  ping(): Promise<void>;
  /** Whether anything comes back within seconds, a refusal as well. Fails when the server could not be asked. */
  answers(): Promise<boolean>;
  /** Of Spark. */
  version(): Promise<string>;
  close(): void;
}

const PING_LIMIT_MS = 5_000;
/** No socket to be had on our side; gRPC tells it as any other connection that was not made. */
const NO_SOCKET = /\b(?:EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)\b/;

export function openConnect(options: ConnectOptions): ConnectChannel {
  const { sessionUser, log, patience, storedResults = false, ...address } = options;
  const rpc = new ConnectRpc(address);
  const userContext = { userId: sessionUser };
  return {
    session: (known) => new OpenSession({ rpc, user: sessionUser, log, patience, storedResults }, known),
    ping: () => ping(rpc, sessionUser),
    answers: () => answers(rpc, sessionUser),
    async version() {
      const sessionId = randomUUID();
      const { result } = await rpc.unary(SparkConnectService.method.analyzePlan, {
        sessionId,
        userContext,
        analyze: { case: "sparkVersion", value: {} },
      });
      await rpc.unary(SparkConnectService.method.releaseSession, { sessionId, userContext });
      return result.case === "sparkVersion" ? result.value.version : "";
    },
    close: () => rpc.close(),
  };
}

/** There is no call for it. The server's word that it does not know a session is as good, and makes no session. */
async function ping(rpc: ConnectRpc, userId: string): Promise<void> {
  const unknown = { sessionId: randomUUID(), userContext: { userId }, operationId: randomUUID() };
  const request = { ...unknown, release: { case: "releaseAll" as const, value: {} } };
  try {
    await rpc.unary(SparkConnectService.method.releaseExecute, request, PING_LIMIT_MS);
  } catch (error) {
    if (!(error instanceof ConnectError) || error.kind !== "session gone") throw error;
  }
}

async function answers(rpc: ConnectRpc, userId: string): Promise<boolean> {
  try {
    await ping(rpc, userId);
    return true;
  } catch (error) {
    if (!(error instanceof ConnectError) || NO_SOCKET.test(error.message)) throw error;
    return error.kind !== "unavailable";
  }
}
