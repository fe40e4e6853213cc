import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Log } from "../../lib/log.ts";
import { ConnectError } from "./connect-error.ts";
import { Operation, type ConnectExecution, type Patience } from "./connect-execution.ts";
import type { ConnectRpc } from "./connect-rpc.ts";
import {
  InterruptRequest_InterruptType,
  SparkConnectService,
  type ConfigRequest_OperationSchema,
  type ExecutePlanRequestSchema,
} from "./messages/base_pb.ts";
import { statementPlan } from "./statement-plan.ts";

const service = SparkConnectService.method;

export interface ExecuteOptions {
  /** A UUID. A second start with the same id attaches to the first. */
  readonly operationId: string;
  /** Stops reading but leaves the statement running; `interrupt` ends it. */
  readonly signal?: AbortSignal;
  /** Tags of the statement's Spark jobs. */
  readonly tags?: readonly string[];
  /**
   * Headers of the call that starts it, for interceptors in the server. A name with `-bin` at its end allows any text.
   */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ResumeOptions {
  readonly operationId: string;
  /** The position of the last stored event; undefined to begin with the first. */
  readonly position: string | undefined;
  readonly signal?: AbortSignal;
}

/** Holds the settings, temporary views and current schema for a series of statements. */
export interface ConnectSession {
  readonly id: string;
  /** The server's own id of the session, once it has responded. It distinguishes a later session with the same id. */
  readonly serverSideId: string | undefined;
  /** Creates the session on the server, so that the first statement finds it. */
  open(): Promise<void>;
  /** Runs one statement or script, at most once for each operation id. */
  execute(sql: string, options: ExecuteOptions): ConnectExecution;
  /** Continues right after a position, or fails as `operation gone` or `session gone`. */
  resume(options: ResumeOptions): ConnectExecution;
  /** Returns whether there was something to interrupt. */
  interrupt(operationId: string): Promise<boolean>;
  setConfig(settings: Readonly<Record<string, string>>): Promise<void>;
  /** Null: the key is not set. */
  getConfig(keys: readonly string[]): Promise<Record<string, string | null>>;
  /** Drops the session with all its operations. */
  release(): Promise<void>;
}

/** Large enough to be fast, small enough for many concurrent streams. */
const PART_BYTES = 2n * 1024n * 1024n;
/** The server truncates messages to this length. */
const TRUNCATED_LENGTH = 2000;
/** The message of this class says nothing about the cause, such as missing keys for S3. */
const FAILED_DIRECT_QUERY = "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY";

export interface SessionParts {
  readonly rpc: ConnectRpc;
  readonly user: string;
  readonly log: Log | undefined;
  readonly patience: Patience | undefined;
  readonly storedResults: boolean;
}

export class OpenSession implements ConnectSession {
  readonly id: string;
  readonly #parts: SessionParts;
  #serverSideId: string | undefined;
  readonly #releases = new Set<Promise<void>>();
  #isReleased = false;

  constructor(parts: SessionParts, known: { id?: string | undefined; serverSideId?: string | undefined } = {}) {
    this.id = known.id ?? randomUUID();
    this.#serverSideId = known.serverSideId;
    this.#parts = parts;
  }

  get serverSideId(): string | undefined {
    return this.#serverSideId;
  }

  async open(): Promise<void> {
    await this.getConfig([]);
  }

  execute(sql: string, { operationId, signal, tags = [], headers = {} }: ExecuteOptions): ConnectExecution {
    const { rpc, storedResults } = this.#parts;
    // A function, because a repeated start must use what is known about the session by then.
    const request = (): MessageInitShape<typeof ExecutePlanRequestSchema> => ({
      ...this.#observed(),
      operationId,
      plan: statementPlan(sql, storedResults),
      requestOptions: [
        { requestOption: { case: "reattachOptions", value: { reattachable: true } } },
        {
          requestOption: {
            case: "resultChunkingOptions",
            value: { allowArrowBatchChunking: true, preferredArrowChunkSize: PART_BYTES },
          },
        },
      ],
      tags: [...tags],
    });
    return this.#operation(operationId, { signal }, () => rpc.stream(service.executePlan, request(), headers));
  }

  resume({ operationId, position, signal }: ResumeOptions): ConnectExecution {
    return this.#operation(operationId, { position, signal }, undefined);
  }

  async interrupt(operationId: string): Promise<boolean> {
    try {
      const { interruptedIds } = await this.#parts.rpc.unary(service.interrupt, {
        ...this.#observed(),
        interruptType: InterruptRequest_InterruptType.OPERATION_ID,
        interrupt: { case: "operationId", value: operationId },
      });
      return interruptedIds.length > 0;
    } catch (error) {
      if (error instanceof ConnectError && error.kind === "session gone") return false;
      throw error;
    }
  }

  async setConfig(settings: Readonly<Record<string, string>>): Promise<void> {
    const pairs = Object.entries(settings).map(([key, value]) => ({ key, value }));
    await this.#config({ opType: { case: "set", value: { pairs } } });
  }

  async getConfig(keys: readonly string[]): Promise<Record<string, string | null>> {
    const { pairs } = await this.#config({ opType: { case: "getOption", value: { keys: [...keys] } } });
    return Object.fromEntries(pairs.map(({ key, value }) => [key, value ?? null]));
  }

  /** Waits for releases of results, because Spark logs an error with a stack if their session is closed before them. */
  async release(): Promise<void> {
    this.#isReleased = true;
    await Promise.all(this.#releases);
    await this.#parts.rpc.unary(service.releaseSession, this.#named());
  }

  async #config(operation: MessageInitShape<typeof ConfigRequest_OperationSchema>) {
    const reply = await this.#parts.rpc.unary(service.config, { ...this.#observed(), operation });
    this.#check(reply);
    return reply;
  }

  #operation(
    operationId: string,
    from: { position?: string | undefined; signal?: AbortSignal | undefined },
    start: ConstructorParameters<typeof Operation>[1]["start"],
  ): ConnectExecution {
    const { rpc, patience } = this.#parts;
    const calls = {
      start,
      attach: (position: string | undefined) =>
        rpc.stream(service.reattachExecute, {
          ...this.#observed(),
          operationId,
          ...(position === undefined ? {} : { lastResponseId: position }),
        }),
      release: (position: string | undefined) => this.#releaseExecute(operationId, position),
      check: (response: { serverSideSessionId: string }) => this.#check(response),
      explain: (error: ConnectError) => this.#explain(error),
    };
    return new Operation(operationId, calls, { ...from, patience });
  }

  async #releaseExecute(operationId: string, position: string | undefined): Promise<void> {
    // The server drops the results together with the session.
    if (this.#isReleased) return;
    const release = this.#sendRelease(operationId, position);
    this.#releases.add(release);
    await release;
    this.#releases.delete(release);
  }

  async #sendRelease(operationId: string, position: string | undefined): Promise<void> {
    const { rpc, log } = this.#parts;
    try {
      await rpc.unary(service.releaseExecute, {
        ...this.#named(),
        operationId,
        release:
          position === undefined
            ? { case: "releaseAll", value: {} }
            : { case: "releaseUntil", value: { responseId: position } },
      });
    } catch (error) {
      // The server drops the result later by itself.
      log?.debug({ err: error, operationId }, "releasing a result of Spark failed");
    }
  }

  /** The gRPC status has only a truncated message, and the class only if there is room. */
  async #explain(error: ConnectError): Promise<ConnectError> {
    const { kind, code, errorId, errorClass, message } = error;
    const isComplete =
      errorClass !== undefined && errorClass !== FAILED_DIRECT_QUERY && message.length < TRUNCATED_LENGTH;
    if (errorId === undefined || isComplete) return error;
    try {
      const { rpc } = this.#parts;
      const { rootErrorIdx = 0, errors } = await rpc.unary(service.fetchErrorDetails, { ...this.#named(), errorId });
      const root = errors[rootErrorIdx];
      if (root === undefined) return error;
      const { sparkThrowable } = root;
      const text = root.message.length > message.length ? root.message.trim() : message;
      const knownClass = errorClass ?? sparkThrowable?.errorClass;
      const cause = knownClass === FAILED_DIRECT_QUERY ? errors[root.causeIdx ?? -1]?.message : undefined;
      return new ConnectError({
        kind,
        code,
        errorId,
        message: cause === undefined ? text : `[${FAILED_DIRECT_QUERY}] ${cause}`,
        errorClass: knownClass,
        sqlState: error.sqlState ?? sparkThrowable?.sqlState,
      });
    } catch {
      return error;
    }
  }

  #check({ serverSideSessionId }: { serverSideSessionId: string }): void {
    if (serverSideSessionId === "") return;
    this.#serverSideId ??= serverSideSessionId;
    if (this.#serverSideId === serverSideSessionId) return;
    const message = "The server has a different session with this id";
    throw new ConnectError({ kind: "session gone", message, code: 13, errorClass: "INVALID_HANDLE.SESSION_CHANGED" });
  }

  #named() {
    return { sessionId: this.id, userContext: { userId: this.#parts.user }, clientType: "headgate" };
  }

  #observed() {
    const clientObservedServerSideSessionId = this.#serverSideId;
    const named = this.#named();
    return clientObservedServerSideSessionId === undefined ? named : { ...named, clientObservedServerSideSessionId };
  }
}
