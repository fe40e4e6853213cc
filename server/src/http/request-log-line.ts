import type { LineForm } from "../lib/terminal/log-line.ts";
import { shortened } from "../lib/terminal/printable.ts";

const MAX_PATH_LENGTH = 100;

/** The record of a request as a line of text: `POST  /api/v1.2/commands  200  12 ms`. */
export const requestLogLine: LineForm = ({ method, path, status, milliseconds }) => {
  if (typeof method !== "string" || typeof path !== "string" || typeof status !== "number") return undefined;
  return [
    { text: method.padEnd(6) },
    { text: shortened(path, MAX_PATH_LENGTH) },
    { text: String(status), tone: toneOf(status) },
    { text: `${typeof milliseconds === "number" ? Math.round(milliseconds) : "?"} ms`, tone: "dim" },
  ];
};

function toneOf(status: number): "green" | "yellow" | "red" {
  if (status < 400) return "green";
  return status < 500 ? "yellow" : "red";
}
