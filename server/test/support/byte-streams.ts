/** Chunks of the given size, as a network would bring them. */
export async function* chunksOf(bytes: Uint8Array, size = 65_536): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size));
}

export async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function generatorOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

/** `variety` is the number of different pieces: 1 repeats one of them, many look like random bytes. */
export function sampleBytes(length: number, variety: number, seed = 1): Buffer {
  const next = generatorOf(seed);
  const pieces = Array.from({ length: Math.min(variety, 1 + length / 10) }, () => {
    return Buffer.from(Array.from({ length: 1 + Math.floor(next() * 40) }, () => Math.floor(next() * 256)));
  });
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length;) at += (pieces[Math.floor(next() * pieces.length)] ?? bytes).copy(bytes, at);
  return bytes;
}
