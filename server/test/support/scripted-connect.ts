import { create, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { ErrorInfoSchema, StatusSchema } from "../../src/engines/spark-connect/messages/error_details_pb.ts";
import {
  ConfigRequestSchema,
  ConfigResponseSchema,
  ExecutePlanRequestSchema,
  ExecutePlanResponseSchema,
  ReattachExecuteRequestSchema,
  ReleaseExecuteRequestSchema,
  ReleaseExecuteResponseSchema,
  ReleaseSessionRequestSchema,
  ReleaseSessionResponseSchema,
  type ConfigRequest,
  type ConfigResponse,
  type ExecutePlanRequest,
  type ReattachExecuteRequest,
  type ReleaseExecuteRequest,
  type ReleaseSessionRequest,
} from "../../src/engines/spark-connect/messages/base_pb.ts";

export type Answer = MessageInitShape<typeof ExecutePlanResponseSchema>;
export type Step = Answer | "end" | "break" | "stay" | Error;

/** A server with one scripted response for each call for a statement, in order; a further call fails the test. */
export interface ScriptedConnect {
  readonly port: number;
  /** The calls in order: `start`, `attach`, or `attach after 2`. */
  readonly calls: readonly string[];
  readonly starts: readonly ExecutePlanRequest[];
  /** The last position of a response, `all` of an operation, or `session`, with which the client also pings. */
  readonly released: readonly string[];
  /** Those that were still being handled when their session was released. Spark logs an error for each. */
  readonly lateReleases: readonly string[];
  stop(): void;
}

/** As on a busy server. */
const RELEASE_MS = 50;

/** An error as Spark sends it. */
export function sparkError(errorClass: string, details: Record<string, string> = {}): Error {
  const metadata = new Metadata();
  const info = create(ErrorInfoSchema, {
    reason: "x",
    domain: "org.apache.spark",
    metadata: { errorClass, ...details },
  });
  const message = `[${errorClass}] as the test wants it`;
  const text = create(StatusSchema, { code: status.INTERNAL, message, details: [anyPack(ErrorInfoSchema, info)] });
  metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, text)));
  return Object.assign(new Error(message), { code: status.INTERNAL, details: message, metadata });
}

/**
 * Starts a scripted Spark Connect server, for cases in which a real one would need connections to break at the right
 * moment.
 */
export async function scriptConnect(
  scripts: readonly (readonly Step[])[],
  address = "127.0.0.1:0",
): Promise<ScriptedConnect> {
  const server = new Server();
  const [calls, starts, released]: [string[], ExecutePlanRequest[], string[]] = [[], [], []];
  const lateReleases: string[] = [];
  const handled = new Set<{ readonly sessionId: string; readonly position: string }>();
  const play = (call: ServerWritableStream<unknown, Answer>): void => {
    const script = scripts[calls.length - 1] ?? [new Error("the script has no response for this call")];
    for (const step of script) {
      if (step === "end") call.end();
      // A broken connection has no status from the server.
      else if (step === "break") call.emit("error", Object.assign(new Error("gone"), { code: status.UNAVAILABLE }));
      else if (step instanceof Error) call.emit("error", step);
      else if (step !== "stay") call.write(step);
    }
  };
  const answers = {
    responseSerialize: (answer: Answer) =>
      Buffer.from(toBinary(ExecutePlanResponseSchema, create(ExecutePlanResponseSchema, answer))),
    responseDeserialize: (bytes: Buffer) => fromBinary(ExecutePlanResponseSchema, bytes),
    requestStream: false as const,
    responseStream: true as const,
  };
  const path = (name: string): string => `/spark.connect.SparkConnectService/${name}`;
  server.addService(
    {
      executePlan: {
        path: path("ExecutePlan"),
        requestSerialize: (request: ExecutePlanRequest) => Buffer.from(toBinary(ExecutePlanRequestSchema, request)),
        requestDeserialize: (bytes: Buffer) => fromBinary(ExecutePlanRequestSchema, bytes),
        ...answers,
      },
      reattach: {
        path: path("ReattachExecute"),
        requestSerialize: (request: ReattachExecuteRequest) =>
          Buffer.from(toBinary(ReattachExecuteRequestSchema, request)),
        requestDeserialize: (bytes: Buffer) => fromBinary(ReattachExecuteRequestSchema, bytes),
        ...answers,
      },
      config: {
        path: path("Config"),
        requestStream: false,
        responseStream: false,
        requestSerialize: (request: ConfigRequest) => Buffer.from(toBinary(ConfigRequestSchema, request)),
        requestDeserialize: (bytes: Buffer) => fromBinary(ConfigRequestSchema, bytes),
        responseSerialize: (response: ConfigResponse) => Buffer.from(toBinary(ConfigResponseSchema, response)),
        responseDeserialize: (bytes: Buffer) => fromBinary(ConfigResponseSchema, bytes),
      },
      release: {
        path: path("ReleaseExecute"),
        requestStream: false,
        responseStream: false,
        requestSerialize: (request: ReleaseExecuteRequest) =>
          Buffer.from(toBinary(ReleaseExecuteRequestSchema, request)),
        requestDeserialize: (bytes: Buffer) => fromBinary(ReleaseExecuteRequestSchema, bytes),
        responseSerialize: () =>
          Buffer.from(toBinary(ReleaseExecuteResponseSchema, create(ReleaseExecuteResponseSchema))),
        responseDeserialize: (bytes: Buffer) => fromBinary(ReleaseExecuteResponseSchema, bytes),
      },
      releaseSession: {
        path: path("ReleaseSession"),
        requestStream: false,
        responseStream: false,
        requestSerialize: (request: ReleaseSessionRequest) =>
          Buffer.from(toBinary(ReleaseSessionRequestSchema, request)),
        requestDeserialize: (bytes: Buffer) => fromBinary(ReleaseSessionRequestSchema, bytes),
        responseSerialize: () =>
          Buffer.from(toBinary(ReleaseSessionResponseSchema, create(ReleaseSessionResponseSchema))),
        responseDeserialize: (bytes: Buffer) => fromBinary(ReleaseSessionResponseSchema, bytes),
      },
    },
    {
      executePlan: (call: ServerWritableStream<ExecutePlanRequest, Answer>) => {
        calls.push("start");
        starts.push(call.request);
        play(call);
      },
      reattach: (call: ServerWritableStream<ReattachExecuteRequest, Answer>) => {
        const { lastResponseId } = call.request;
        calls.push(lastResponseId === undefined ? "attach" : `attach after ${lastResponseId}`);
        play(call);
      },
      // The client requests no settings, so the reply has none.
      config: ({ request }: { request: ConfigRequest }, reply: sendUnaryData<ConfigResponse>) => {
        reply(null, create(ConfigResponseSchema, { sessionId: request.sessionId }));
      },
      release: ({ request }: { request: ReleaseExecuteRequest }, reply: sendUnaryData<object>) => {
        const position = request.release.case === "releaseUntil" ? request.release.value.responseId : "all";
        released.push(position);
        const release = { sessionId: request.sessionId, position };
        handled.add(release);
        setTimeout(() => {
          handled.delete(release);
          reply(null, {});
        }, RELEASE_MS);
      },
      releaseSession: ({ request }: { request: ReleaseSessionRequest }, reply: sendUnaryData<object>) => {
        released.push("session");
        for (const { sessionId, position } of handled) if (sessionId === request.sessionId) lateReleases.push(position);
        reply(null, {});
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, calls, starts, released, lateReleases, stop: () => server.forceShutdown() };
}
