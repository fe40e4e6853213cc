/**
 * A JSON object whose last field is a long text, written while the text is read: twenty megabytes, decoded and escaped
 * at once, would be several times that for every client. What is no UTF-8 becomes U+FFFD.
 */
export async function* streamedJson(
  fields: Readonly<Record<string, unknown>>,
  lastField: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  yield `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(lastField)}:"`;
  for await (const piece of bytes) yield escaped(decoder.decode(piece, { stream: true }));
  yield `${escaped(decoder.decode())}"}`;
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
