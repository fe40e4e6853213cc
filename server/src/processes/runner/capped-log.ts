const largestTailBytes = 64 * 1024;

export interface CappedLog {
  /** Bytes beyond the limit are counted and left out. */
  add(chunk: Buffer): void;
  /** Writes the kept tail and then the lines. */
  end(lines: readonly string[]): void;
}

/**
 * Keeps the beginning of a text and its end, where an error usually is. Readers follow the file by offset, so written
 * bytes never change; the tail stays in memory until the end.
 */
export function openCappedLog(limitBytes: number, write: (bytes: Buffer) => void): CappedLog {
  const tailBytes = Math.min(largestTailBytes, Math.floor(limitBytes / 2));
  const tail = keepTail(tailBytes);
  let headRoom = limitBytes - tailBytes;
  let lastByte = newline;
  let cut = false;
  const put = (bytes: Buffer): void => {
    if (bytes.length === 0) return;
    lastByte = bytes.at(-1) ?? newline;
    write(bytes);
  };
  const line = (text: string): void => put(Buffer.from(`${lastByte === newline ? "" : "\n"}headgate: ${text}\n`));
  return {
    add(chunk) {
      const head = chunk.subarray(0, headRoom);
      headRoom -= head.length;
      put(head);
      tail.add(chunk.subarray(head.length));
      if (cut || tail.droppedBytes() === 0) return;
      cut = true;
      line(`the log has reached its limit of ${limitBytes} bytes; the last ${tailBytes} follow when the program ends`);
    },
    end(lines) {
      if (cut) line(`${tail.droppedBytes()} bytes were left out here`);
      for (const chunk of tail.take()) put(chunk);
      for (const text of lines) line(text);
    },
  };
}

const newline = 0x0a;

interface Tail {
  add(chunk: Buffer): void;
  droppedBytes(): number;
  take(): Buffer[];
}

function keepTail(sizeBytes: number): Tail {
  let chunks: Buffer[] = [];
  let held = 0;
  let dropped = 0;
  return {
    add(chunk) {
      if (chunk.length === 0) return;
      chunks.push(Buffer.from(chunk)); // a copy: the chunk may be a small part of a large buffer
      held += chunk.length;
      while (held > sizeBytes) {
        const first = chunks[0] ?? Buffer.alloc(0);
        const surplus = Math.min(first.length, held - sizeBytes);
        if (surplus === first.length) chunks.shift();
        else chunks[0] = first.subarray(surplus);
        held -= surplus;
        dropped += surplus;
      }
      if (chunks.length > 64) chunks = [Buffer.concat(chunks)];
    },
    droppedBytes: () => dropped,
    take() {
      const taken = chunks;
      chunks = [];
      return taken;
    },
  };
}
