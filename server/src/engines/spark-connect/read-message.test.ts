import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { emptyMessages, field, stages, wideSchema } from "../../../test/support/hostile-messages.ts";
import { ExecutePlanResponseSchema } from "./messages/base_pb.ts";
import { ErrorInfoSchema } from "./messages/error_details_pb.ts";
import { readMessage } from "./read-message.ts";
import { readSchema } from "./read-schema.ts";

const read = (bytes: Uint8Array) => readMessage(ExecutePlanResponseSchema, bytes).message;
const written = (message: MessageInitShape<typeof ExecutePlanResponseSchema>): Uint8Array =>
  toBinary(ExecutePlanResponseSchema, create(ExecutePlanResponseSchema, message));

const MIB = 1024 * 1024;
const EXECUTION_PROGRESS = 18;
/** A field of Spark's that Headgate does not read. */
const METRICS = 4;

describe("a message", () => {
  it("may have 10000 fields", () => {
    expect(read(stages(9_999)).responseType).toMatchObject({ case: "executionProgress" });
    expect(() => read(stages(10_000))).toThrow("a message of more than 10000 fields");
  });

  it("may have 256 KiB", () => {
    expect(read(written({ responseId: "x".repeat(262_140) })).responseId).toHaveLength(262_140);
    expect(() => read(written({ responseId: "x".repeat(262_144) }))).toThrow("a message of more than 256 KiB");
  });

  it("may have any number of rows, which are not copied", () => {
    const bytes = written({ responseType: { case: "arrowBatch", value: { data: new Uint8Array(3 * MIB) } } });
    const { responseType } = read(bytes);
    expect(responseType.case === "arrowBatch" && responseType.value.data.buffer).toBe(bytes.buffer);
    expect(responseType).toMatchObject({ value: { data: { length: 3 * MIB } } });
  });

  it("may have large fields that Headgate does not read, such as the metrics of a plan", () => {
    const bytes = Buffer.concat([field(METRICS, emptyMessages(1, MIB)), written({ responseId: "1" })]);
    expect(read(bytes).responseId).toBe("1");
  });

  it("cannot hide fields in a number that claims to have a length", () => {
    const NUM_INFLIGHT_TASKS = 2;
    const hidden = field(EXECUTION_PROGRESS, field(NUM_INFLIGHT_TASKS, emptyMessages(1, 100_000)));
    expect(() => read(hidden)).toThrow("cannot be read: field 2 has a wrong type");
  });

  it.each([
    ["a submessage that is longer than the message", Buffer.from([0x92, 0x01, 5, 0x0a])],
    ["a number without an end", Buffer.alloc(MIB, 0x88)],
    ["a number of eleven bytes", Buffer.concat([Buffer.from([0x28]), Buffer.alloc(10, 0xff), Buffer.from([1])])],
    ["a group", Buffer.alloc(MIB, 0x2b)],
  ])("with %s is refused", (_, bytes) => {
    expect(() => read(bytes)).toThrow("The Spark server sent a message that cannot be read: ");
  });

  it("counts the fields inside of maps", () => {
    const METADATA = 3;
    const entry = field(METADATA, emptyMessages(1, 10_000));
    expect(() => readMessage(ErrorInfoSchema, entry)).toThrow("more than 10000 fields");
  });
});

describe("a schema", () => {
  it("may be large, and is not copied", () => {
    const bytes = wideSchema(20_000, "x".repeat(90));
    const { schema } = read(bytes);
    expect(schema.buffer).toBe(bytes.buffer);
    expect(schema.length).toBeGreaterThan(MIB);
  });

  it("costs about a microsecond for each of its fields, and long names nothing", () => {
    const costOf = (bytes: Uint8Array): number => readMessage(ExecutePlanResponseSchema, bytes).cost;
    expect(costOf(wideSchema(1000))).toBeCloseTo(1000, -3);
    expect(costOf(wideSchema(20_000, "x".repeat(90)))).toBe(20_000);
  });

  it("that is sent twice in a message is the second one", async () => {
    const twice = Buffer.concat([wideSchema(1, "x".repeat(2 * MIB)), wideSchema(2)]);
    expect(await readSchema(read(twice).schema)).toHaveLength(2);
  });
});
