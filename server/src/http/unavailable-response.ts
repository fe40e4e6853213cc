import { Fault } from "../lib/fault.ts";
import { errorReply } from "./error-body.ts";

const RETRY_AFTER_SECONDS = 5;

/** The raw HTTP response that the port holder sends to clients while no server is running. */
export function unavailableResponse(): string {
  const fault = new Fault("unavailable", "Headgate is starting or has been stopped. Try again later.", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
  const { status, headers, body } = errorReply(fault);
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} Service Unavailable`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
    "",
    text,
  ].join("\r\n");
}
