import type { EventStream, StreamedEvent } from "../endpoint.ts";
import type { JsonSchema, MediaType } from "./document.ts";

/** OpenAPI 3.1 cannot describe the events of a stream: the schema describes the text, an extension the events. */
export function eventStreamContent({ description, events, example }: EventStream): MediaType {
  return {
    schema: { type: "string", contentMediaType: "text/event-stream", description },
    example,
    "x-item-schema": { oneOf: Object.entries(events).map(eventSchema) },
  };
}

function eventSchema([name, { description, id, data }]: [string, StreamedEvent]): JsonSchema {
  return {
    type: "object",
    description,
    required: ["event", ...(id === undefined ? [] : ["id"]), "data"],
    properties: { event: { const: name }, ...(id === undefined ? {} : { id }), data },
  };
}
