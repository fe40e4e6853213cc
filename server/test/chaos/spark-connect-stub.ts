/**
 * A stub of a Spark Connect server. It has sessions and operations; an operation continues without a reader, and a
 * reader can reattach after the last response that it got. Every operation runs once and reports its start and its end.
 * As with Spark, nothing is on disk, so a kill loses everything.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { create, fromBinary, toBinary, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  type ServerWritableStream,
} from "@grpc/grpc-js";
import { Utf8, vectorFromArray } from "apache-arrow";
import type { Method } from "../../src/engines/spark-connect/connect-rpc.ts";
import {
  ExecutePlanResponseSchema,
  SparkConnectService,
  type ExecutePlanRequest,
  type ExecutePlanResponse,
  type InterruptRequest,
  type ReattachExecuteRequest,
  type ReleaseExecuteRequest,
} from "../../src/engines/spark-connect/messages/base_pb.ts";
import { DataTypeSchema } from "../../src/engines/spark-connect/messages/types_pb.ts";
import { streamOf } from "../support/arrow-streams.ts";
import { sparkError } from "../support/scripted-connect.ts";
import { parseQuery } from "./query-journal.ts";

export interface StubOptions {
  readonly port: number;
  readonly report: (key: string, operationId: string, word: "start" | "end" | "cancelled") => void;
}

type Response = MessageInitShape<typeof ExecutePlanResponseSchema>;
type Reader = ServerWritableStream<unknown, Response>;

const TICK_MS = 100;
const LONG_ROW_BYTES = 256 * 1024;
const service = SparkConnectService.method;

export async function startSparkConnectStub({ port, report }: StubOptions): Promise<number> {
  const server = new Server();
  const sessions = new Map<string, Session>();
  const existing = (sessionId: string): Session => {
    const found = sessions.get(sessionId);
    if (found === undefined) throw sparkError("INVALID_HANDLE.SESSION_NOT_FOUND");
    return found;
  };
  const opened = (sessionId: string, observed: string | undefined): Session => {
    const found = sessions.get(sessionId) ?? new Session(sessionId);
    if (observed !== undefined && observed !== found.serverSideId) throw sparkError("INVALID_HANDLE.SESSION_CHANGED");
    sessions.set(sessionId, found);
    return found;
  };
  const unary =
    <I, O>(answer: (request: I) => O): handleUnaryCall<I, O> =>
    ({ request }, reply) => {
      try {
        reply(null, answer(request));
      } catch (error) {
        reply(error as Error); // thrown above, by sparkError
      }
    };
  const streaming =
    <I>(serve: (request: I, reader: Reader) => void): handleServerStreamingCall<I, Response> =>
    (reader) => {
      try {
        serve(reader.request, reader);
      } catch (error) {
        reader.emit("error", error);
      }
    };
  server.addService(
    {
      config: definitionOf(service.config),
      executePlan: definitionOf(service.executePlan),
      reattachExecute: definitionOf(service.reattachExecute),
      releaseExecute: definitionOf(service.releaseExecute),
      interrupt: definitionOf(service.interrupt),
      releaseSession: definitionOf(service.releaseSession),
    },
    {
      config: unary((request: SessionRequest) =>
        opened(request.sessionId, request.clientObservedServerSideSessionId).ids(),
      ),
      executePlan: streaming((request: ExecutePlanRequest, reader) => {
        const session = opened(request.sessionId, request.clientObservedServerSideSessionId);
        const { operationId = randomUUID() } = request;
        if (session.operations.has(operationId)) throw sparkError("INVALID_HANDLE.OPERATION_ALREADY_EXISTS");
        const operation = new Operation(session, operationId, sqlOf(request), report);
        session.operations.set(operationId, operation);
        operation.attach(reader, undefined);
      }),
      reattachExecute: streaming((request: ReattachExecuteRequest, reader) => {
        const operation = existing(request.sessionId).operations.get(request.operationId);
        if (operation === undefined) throw sparkError("INVALID_HANDLE.OPERATION_NOT_FOUND");
        operation.attach(reader, request.lastResponseId);
      }),
      releaseExecute: unary((request: ReleaseExecuteRequest) => {
        const session = existing(request.sessionId);
        if (request.release.case === "releaseAll") session.operations.delete(request.operationId);
        return session.ids();
      }),
      interrupt: unary((request: InterruptRequest) => {
        const session = existing(request.sessionId);
        const id = request.interrupt.case === "operationId" ? request.interrupt.value : "";
        const wasRunning = session.operations.get(id)?.interrupt() ?? false;
        return { ...session.ids(), interruptedIds: wasRunning ? [id] : [] };
      }),
      releaseSession: unary(({ sessionId }: SessionRequest) => {
        for (const operation of sessions.get(sessionId)?.operations.values() ?? []) operation.interrupt();
        sessions.delete(sessionId);
        return { sessionId };
      }),
    },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
}

interface SessionRequest {
  readonly sessionId: string;
  readonly clientObservedServerSideSessionId?: string | undefined;
}

class Session {
  readonly id: string;
  readonly serverSideId = randomUUID();
  readonly operations = new Map<string, Operation>();

  constructor(id: string) {
    this.id = id;
  }

  ids(): { sessionId: string; serverSideSessionId: string } {
    return { sessionId: this.id, serverSideSessionId: this.serverSideId };
  }
}

/** Runs from its creation on, with or without a reader. */
class Operation {
  readonly #ids: ReturnType<Session["ids"]> & { operationId: string };
  readonly #responses: ExecutePlanResponse[] = [];
  readonly #interrupted = new AbortController();
  #failure: Error | undefined;
  #isOver = false;
  #reader: Reader | undefined;

  constructor(session: Session, operationId: string, sql: string, report: StubOptions["report"]) {
    this.#ids = { ...session.ids(), operationId };
    void this.#run(sql, operationId, report).then(() => this.#finish());
  }

  /** The new reader replaces the previous one, which gets an error. */
  attach(reader: Reader, position: string | undefined): void {
    this.#reader?.emit("error", sparkError("INVALID_CURSOR.DISCONNECTED"));
    this.#reader = reader;
    reader.on("cancelled", () => {
      if (this.#reader === reader) this.#reader = undefined;
    });
    const from = position === undefined ? 0 : this.#responses.findIndex((each) => each.responseId === position) + 1;
    for (const response of this.#responses.slice(from)) reader.write(response);
    if (this.#isOver) this.#finish();
  }

  interrupt(): boolean {
    this.#interrupted.abort();
    return !this.#isOver;
  }

  async #run(sql: string, operationId: string, report: StubOptions["report"]): Promise<void> {
    const { key, ticks, fails, longRows } = parseQuery(sql);
    report(key, operationId, "start");
    const { signal } = this.#interrupted;
    try {
      for (let done = 0; done < ticks; done += 1) {
        await delay(TICK_MS, undefined, { signal });
        const stages = [{ numTasks: BigInt(ticks), numCompletedTasks: BigInt(done) }];
        this.#send({ responseType: { case: "executionProgress", value: { stages } } });
      }
    } catch {
      report(key, operationId, "cancelled");
      this.#failure = sparkError("OPERATION_CANCELED");
      return;
    }
    report(key, operationId, "end");
    if (fails) {
      this.#failure = sparkError("DIVIDE_BY_ZERO");
      return;
    }
    const text = { kind: { case: "string", value: {} } } as const;
    const fields = ["key", "operation"].map((name) => ({ name, dataType: text, nullable: false }));
    const column = (value: string) => vectorFromArray([value], new Utf8());
    const schema = create(DataTypeSchema, { kind: { case: "struct", value: { fields } } });
    this.#send({ schema: toBinary(DataTypeSchema, schema) });
    for (let row = 0; row <= longRows; row += 1) {
      const text = row < longRows ? "x".repeat(LONG_ROW_BYTES) : key;
      const data = streamOf({ key: column(text), operation: column(operationId) });
      this.#send({ responseType: { case: "arrowBatch", value: { data, rowCount: 1n, startOffset: BigInt(row) } } });
    }
    this.#send({ responseType: { case: "resultComplete", value: {} } });
  }

  #send(response: Response): void {
    const whole = create(ExecutePlanResponseSchema, response);
    Object.assign(whole, this.#ids, { responseId: randomUUID() });
    this.#responses.push(whole);
    this.#reader?.write(whole);
  }

  #finish(): void {
    this.#isOver = true;
    if (this.#failure === undefined) this.#reader?.end();
    else this.#reader?.emit("error", this.#failure);
    this.#reader = undefined;
  }
}

function sqlOf({ plan }: ExecutePlanRequest): string {
  const relation = plan?.opType.case === "root" ? plan.opType.value : undefined;
  return relation?.relType.case === "sql" ? relation.relType.value.query : "";
}

function definitionOf<I extends DescMessage, O extends DescMessage>(
  method: Method<I, O>,
): MethodDefinition<unknown, unknown> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: false,
    responseStream: method.methodKind === "server_streaming",
    // Only a client serialises requests and reads responses.
    requestSerialize: () => Buffer.alloc(0),
    requestDeserialize: (bytes) => fromBinary(method.input, bytes),
    responseSerialize: (value) =>
      Buffer.from(toBinary(method.output, create(method.output, value as MessageInitShape<O>))), // by a handler
    responseDeserialize: (bytes) => bytes,
  };
}
