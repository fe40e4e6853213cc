import type { Installation } from "./installation.ts";
import { send } from "./send-request.ts";

/** The fields of a command that attacks read. */
interface Called {
  readonly id?: number;
  readonly status?: string;
  readonly text: string;
}

/** Calls the API with the attacker's token. Without success, `text` is the status. */
export async function call(
  { url, attacker }: Installation,
  method: string,
  path: string,
  body?: string,
): Promise<Called> {
  const { text, status } = await send(url, {
    method,
    path,
    token: attacker.token,
    ...(body === undefined ? {} : { body }),
  });
  if (status !== "200") return { text: status };
  try {
    return { ...(JSON.parse(text) as { id?: number; status?: string }), text };
  } catch {
    return { text };
  }
}
