import { create } from "@bufbuild/protobuf";
import {
  DescriptorProtoSchema,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  type DescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import { fieldsKeptAsBytes } from "./needed-messages.ts";

type Needed = Readonly<Record<string, "all" | readonly string[]>>;

/** A file with the needed messages and fields alone. Names, numbers and types stay as they are. */
export function trimFile(file: FileDescriptorProto, needed: Needed, files: ReadonlySet<string>): FileDescriptorProto {
  const missing = Object.keys(needed).filter((path) => !hasMessage(file.messageType, path.split(".")));
  if (missing.length > 0) throw new Error(`${file.name} has no ${missing.join(", ")}`);
  return create(FileDescriptorProtoSchema, {
    name: file.name,
    package: file.package,
    syntax: file.syntax,
    dependency: file.dependency.filter((name) => files.has(name) || name === "google/protobuf/any.proto"),
    messageType: trimMessages(file.messageType, needed, ""),
    service: file.service.map(({ name, method }) => ({
      name,
      method: method.filter(({ inputType }) => Object.hasOwn(needed, inputType.replace(".spark.connect.", ""))),
    })),
  });
}

function trimMessages(messages: readonly DescriptorProto[], needed: Needed, prefix: string): DescriptorProto[] {
  return messages.flatMap((message) => {
    const path = `${prefix}${message.name}`;
    const fields = needed[path];
    return fields === undefined ? [] : [trimMessage(message, fields, needed, path)];
  });
}

function trimMessage(
  message: DescriptorProto,
  kept: "all" | readonly string[],
  needed: Needed,
  path: string,
): DescriptorProto {
  const field = kept === "all" ? message.field : kept.map((name) => findField(message, name, path));
  const inOrder = message.field.filter((one) => field.includes(one));
  // A oneof is named by its index, and one without fields is not allowed.
  const oneofs = [...new Set(inOrder.filter(isInOneof).map(({ oneofIndex }) => oneofIndex))].toSorted((a, b) => a - b);
  const used = new Set(inOrder.map(({ typeName }) => typeName));
  return create(DescriptorProtoSchema, {
    name: message.name,
    field: inOrder.map((one) => ({
      ...one,
      ...(isInOneof(one) ? { oneofIndex: oneofs.indexOf(one.oneofIndex) } : {}),
      // Bytes are written as messages are.
      ...(fieldsKeptAsBytes.has(`${path}.${one.name}`) ? { type: FieldDescriptorProto_Type.BYTES, typeName: "" } : {}),
    })),
    oneofDecl: oneofs.flatMap((index) => message.oneofDecl[index] ?? []),
    nestedType: [
      ...trimMessages(message.nestedType, needed, `${path}.`),
      ...message.nestedType.filter(
        (nested) => nested.options?.mapEntry && used.has(`.spark.connect.${path}.${nested.name}`),
      ),
    ],
    enumType: message.enumType.filter(({ name }) => used.has(`.spark.connect.${path}.${name}`)),
  });
}

function findField(message: DescriptorProto, name: string, path: string): FieldDescriptorProto {
  const found = message.field.find((field) => field.name === name);
  if (found === undefined) throw new Error(`${path} has no field ${name}`);
  return found;
}

/** Protobuf-ES gives an unset index as 0: only its presence tells. */
function isInOneof(field: FieldDescriptorProto): boolean {
  return Object.hasOwn(field, "oneofIndex");
}

function hasMessage(messages: readonly DescriptorProto[], [first, ...rest]: readonly string[]): boolean {
  const found = messages.find(({ name }) => name === first);
  return found !== undefined && (rest.length === 0 || hasMessage(found.nestedType, rest));
}

/** Names the messages that kept fields are of and nobody kept. */
export function danglingTypes(files: readonly FileDescriptorProto[]): string[] {
  const names = new Set<string>();
  const uses: string[] = [];
  const walk = (message: DescriptorProto, prefix: string): void => {
    const path = `${prefix}.${message.name}`;
    names.add(path);
    for (const { name } of message.enumType) names.add(`${path}.${name}`);
    for (const { type, typeName } of message.field) {
      if (type === FieldDescriptorProto_Type.MESSAGE || type === FieldDescriptorProto_Type.ENUM) uses.push(typeName);
    }
    for (const nested of message.nestedType) walk(nested, path);
  };
  for (const file of files) for (const message of file.messageType) walk(message, `.${file.package}`);
  return [...new Set(uses.filter((name) => !names.has(name) && !name.startsWith(".google.protobuf.")))];
}
