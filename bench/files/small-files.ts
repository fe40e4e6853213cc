import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { once } from "node:events";

const COUNT = 10_000;
const CONCURRENCY = 8;
const CONTENTS = Buffer.alloc(1024, "headgate");

/** Uploads 10,000 files of 1 KiB over eight connections; returns files per second. */
export async function uploadSmallFiles(urlOf: (index: number) => string, token?: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const headers = { "Content-Length": CONTENTS.length, ...(token === undefined ? {} : { "X-AUTH-TOKEN": token }) };
  const began = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < COUNT) {
      const url = urlOf(next++);
      const request = httpRequest(url, { method: "PUT", agent, headers }).end(CONTENTS);
      const [response] = (await once(request, "response")) as [IncomingMessage];
      response.resume();
      await once(response, "end");
      if (response.statusCode !== 200) throw new Error(`PUT ${url}: status ${response.statusCode}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  } finally {
    agent.destroy();
  }
  return (COUNT * 1000) / (performance.now() - began);
}

interface Page {
  readonly files: readonly { readonly path: string; readonly size: number }[];
  readonly next_after: string | null;
}

/** Reads the list page by page and fails unless it has each file once, with all its bytes. */
export async function checkSmallFiles(readPage: (query: string) => Promise<Page>, prefix: string): Promise<void> {
  const paths = new Set<string>();
  for (let after: string | null = ""; after !== null;) {
    const query = new URLSearchParams({ prefix, per_page: "100", ...(after === "" ? {} : { after }) });
    const page = await readPage(query.toString());
    for (const { path, size } of page.files) if (size === CONTENTS.length) paths.add(path);
    after = page.next_after;
  }
  if (paths.size !== COUNT) throw new Error(`the list has ${paths.size} of ${COUNT} files`);
}
