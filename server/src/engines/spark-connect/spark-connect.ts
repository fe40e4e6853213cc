/**
 * A client of Spark Connect for SQL: sessions, statements as streams of Arrow batches, progress, interruption, and
 * resuming after a broken connection or a restart of Headgate.
 *
 *   channel ── a connection to one server
 *     session ── settings and temporary views
 *       execution ── one statement: events, each with a position to resume from
 *
 * Every statement is sent as a query, in a single round trip. Spark's own clients first send a `sql_command` to learn
 * the kind of the statement and then request the rows, which is slower for queries and fails for commands with many
 * rows.
 */
import { randomUUID } from "node:crypto";
import type { Log } from "../../lib/log.ts";
import { ConnectError } from "./connect-error.ts";
import type { Patience } from "./connect-execution.ts";
import { ConnectRpc, type ConnectAddress } from "./connect-rpc.ts";
import { OpenSession, type ConnectSession } from "./connect-session.ts";
import { SparkConnectService } from "./messages/base_pb.ts";

export interface ConnectOptions extends ConnectAddress {
  /** The owner of the sessions: the same session id of another user is another session. */
  readonly sessionUser: string;
  /**
   * Whether the server has our extension `jvm/connect/StoredResults.scala`, which allows results larger than its heap.
   */
  readonly storedResults?: boolean;
  readonly log?: Log;
  readonly patience?: Patience;
}

export interface ConnectChannel {
  /** A new session, or a previous one by its id and, if known, the server's own id of it. */
  session(known?: { id?: string; serverSideId?: string | undefined }): ConnectSession;
  /** Fails if the server does not respond or refuses the token. It is cheap for the server. */
  ping(): Promise<void>;
  /** Whether the server responds within seconds, even with a refusal. Fails if no request could be sent. */
  isResponding(): Promise<boolean>;
  /** The version of Spark. */
  version(): Promise<string>;
  close(): void;
}

const PING_LIMIT_MS = 5_000;
/** Our side could not open a socket; gRPC reports this like any failed connection. */
const NO_SOCKET = /\b(?:EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)\b/;

export function openConnect(options: ConnectOptions): ConnectChannel {
  const { sessionUser, log, patience, storedResults = false, ...address } = options;
  const rpc = new ConnectRpc(address);
  const userContext = { userId: sessionUser };
  return {
    session: (known) => new OpenSession({ rpc, user: sessionUser, log, patience, storedResults }, known),
    ping: () => ping(rpc, sessionUser),
    isResponding: () => isResponding(rpc, sessionUser),
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

/** Spark Connect has no ping. Releasing an unknown session creates none, and Spark logs no error. */
async function ping(rpc: ConnectRpc, userId: string): Promise<void> {
  const unknown = { sessionId: randomUUID(), userContext: { userId } };
  await rpc.unary(SparkConnectService.method.releaseSession, unknown, PING_LIMIT_MS);
}

async function isResponding(rpc: ConnectRpc, userId: string): Promise<boolean> {
  try {
    await ping(rpc, userId);
    return true;
  } catch (error) {
    if (!(error instanceof ConnectError) || NO_SOCKET.test(error.message)) throw error;
    return error.kind !== "unavailable";
  }
}
