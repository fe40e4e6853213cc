import { isReference, type OpenApiDocument, type Operation } from "../openapi/document.ts";

/** One entry of the reference: an operation with all its paths. */
export interface ReferenceEntry {
  /** In the newest version. */
  newest: ListedOperation;
  /** The same operation in older versions. */
  older: readonly ListedOperation[];
}

/** An operation of the document, with its method and path. */
export interface ListedOperation {
  method: string;
  path: string;
  operation: Operation;
}

/** The suffix of the operation ids of older versions, such as `_v1_2`. */
const OLDER_VERSION = /_v\d+(_\d+)?$/;

/** Sorts entries in the order of `endpointIds`. */
export function entriesOf(document: OpenApiDocument, endpointIds: readonly string[]): readonly ReferenceEntry[] {
  const listed = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): ListedOperation => ({ method, path, operation })),
  );
  const byId = Map.groupBy(listed, ({ operation }) => operation.operationId.replace(OLDER_VERSION, ""));
  const rank = ({ newest }: ReferenceEntry): number => endpointIds.indexOf(newest.operation.operationId);
  return [...byId.values()].flatMap(entryOf).toSorted((one, other) => rank(one) - rank(other));
}

function entryOf(twins: readonly ListedOperation[]): ReferenceEntry[] {
  const isOlder = ({ operation }: ListedOperation): boolean => OLDER_VERSION.test(operation.operationId);
  const [newest, ...older] = twins.toSorted((one, other) => Number(isOlder(one)) - Number(isOlder(other)));
  return newest === undefined ? [] : [{ newest, older }];
}

/** All paths of an operation in its version. */
export function pathsOf({ path, operation: { "x-also-at": alsoAt = [] } }: ListedOperation): string[] {
  return [path, ...alsoAt];
}

/** The parts of an older version that differ from the newest one. Undefined: it is the same at another path. */
export function differences({ operation }: ListedOperation, newest: ListedOperation): Partial<Operation> | undefined {
  const { parameters, requestBody, description, responses } = operation;
  const known = (newest.operation.description ?? "").split("\n\n");
  const added = (description ?? "").split("\n\n").filter((paragraph) => !known.includes(paragraph));
  const different = {
    ...(isEqual(parameters, newest.operation.parameters) ? {} : { parameters }),
    ...(isEqual(requestBody, newest.operation.requestBody) ? {} : { requestBody }),
    ...(isEqual(contentOf(operation), contentOf(newest.operation)) ? {} : { responses }),
    ...(added.length === 0 ? {} : { description: added.join("\n\n") }),
  };
  return Object.keys(different).length === 0 ? undefined : different;
}

function contentOf({ responses }: Operation): unknown {
  const reply = responses["200"];
  return reply === undefined || isReference(reply) ? undefined : reply.content;
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
