import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { format } from "oxfmt";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  file_google_protobuf_any,
  FileDescriptorProtoSchema,
  type FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import formatting from "../../../.oxfmtrc.json" with { type: "json" };
import { neededMessages } from "./needed-messages.ts";
import { readDescriptor } from "./read-descriptors.ts";
import { danglingTypes, trimFile } from "./trim-descriptors.ts";

/** Where they are kept. */
export const messagesFolder = join(import.meta.dirname, "../../src/engines/spark-connect/messages");

/**
 * TypeScript of the messages we speak with Spark Connect, by file name. Their numbers come from the definitions inside
 * of the installed Spark; a protobuf compiler is not needed, since its plugin takes compiled definitions.
 */
export async function generateMessages(sparkHome: string): Promise<Map<string, string>> {
  const files = Object.keys(neededMessages).map((name) => readDescriptor(sparkHome, name));
  const kept = new Set(files.map(({ name }) => name));
  const protoFile = [
    errorInfo(),
    ...files.map((file) => trimFile(file, neededMessages[basename(file.name, ".proto")] ?? {}, kept)),
  ];
  const dangling = danglingTypes(protoFile);
  if (dangling.length > 0) throw new Error(`not among the needed messages: ${dangling.join(", ")}`);
  const sorted = inOrderOfUse(protoFile);
  const request = create(CodeGeneratorRequestSchema, {
    fileToGenerate: sorted.map(({ name }) => name),
    parameter: "target=ts,import_extension=ts,erasable_syntax=true",
    protoFile: [file_google_protobuf_any.proto, ...sorted],
  });
  const plugin = createRequire(import.meta.url).resolve("@bufbuild/protoc-gen-es/bin/protoc-gen-es");
  const { stdout, stderr, status } = spawnSync(process.execPath, [plugin], {
    input: toBinary(CodeGeneratorRequestSchema, request),
    maxBuffer: 16 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`protoc-gen-es failed: ${stderr.toString()}`);
  const response = fromBinary(CodeGeneratorResponseSchema, stdout);
  if (response.error !== "") throw new Error(`protoc-gen-es failed: ${response.error}`);
  return new Map(
    await Promise.all(
      response.file.map(async ({ name, content }) => {
        const { code, errors } = await format(name, content, formatting);
        if (errors.length > 0)
          throw new Error(`${name} cannot be formatted: ${errors.map(({ message }) => message).join(", ")}`);
        return [basename(name), code] as const;
      }),
    ),
  );
}

function inOrderOfUse(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const done = new Set<FileDescriptorProto>();
  const visit = (file: FileDescriptorProto): void => {
    for (const name of file.dependency) {
      const used = byName.get(name);
      if (used !== undefined && !done.has(used)) visit(used);
    }
    done.add(file);
  };
  files.forEach(visit);
  return [...done];
}

/** How gRPC carries the class of an error, the same for everybody and not among Spark's own definitions. */
function errorInfo(): FileDescriptorProto {
  const { STRING, INT32, MESSAGE } = FieldDescriptorProto_Type;
  const { OPTIONAL, REPEATED } = FieldDescriptorProto_Label;
  const any = { type: MESSAGE, typeName: ".google.protobuf.Any" };
  const entry = { type: MESSAGE, typeName: ".google.rpc.ErrorInfo.MetadataEntry" };
  return create(FileDescriptorProtoSchema, {
    name: "google/rpc/error_details.proto",
    package: "google.rpc",
    syntax: "proto3",
    dependency: ["google/protobuf/any.proto"],
    messageType: [
      {
        name: "Status",
        field: [
          { name: "code", number: 1, type: INT32, label: OPTIONAL },
          { name: "message", number: 2, type: STRING, label: OPTIONAL },
          { name: "details", number: 3, ...any, label: REPEATED },
        ],
      },
      {
        name: "ErrorInfo",
        field: [
          { name: "reason", number: 1, type: STRING, label: OPTIONAL },
          { name: "domain", number: 2, type: STRING, label: OPTIONAL },
          { name: "metadata", number: 3, ...entry, label: REPEATED },
        ],
        nestedType: [
          {
            name: "MetadataEntry",
            options: { mapEntry: true },
            field: [
              { name: "key", number: 1, type: STRING, label: OPTIONAL },
              { name: "value", number: 2, type: STRING, label: OPTIONAL },
            ],
          },
        ],
      },
    ],
  });
}
