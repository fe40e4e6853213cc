import { Counter, type Registry } from "prom-client";
import type { CopyEnd } from "../../engines/s3-copy/report.ts";

/** The counters of copies on this node. */
export interface CopyMetrics {
  /** Call it once for each attempt. */
  ended(end: Pick<CopyEnd, "files" | "bytes" | "retries">): void;
}

export function copyMetrics(registry: Registry): CopyMetrics {
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers: [registry] });
  const files = counter("headgate_copy_files_total", "Files that copies on this node have copied");
  const bytes = counter("headgate_copy_bytes_total", "Bytes that copies on this node have copied");
  const retries = counter("headgate_copy_retries_total", "Requests that copies on this node have repeated");
  return {
    ended(end) {
      files.inc(end.files);
      bytes.inc(end.bytes);
      retries.inc(end.retries);
    },
  };
}
