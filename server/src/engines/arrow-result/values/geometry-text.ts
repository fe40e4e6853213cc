import { ByteSink } from "./byte-sink.ts";
import { writeDouble } from "./number-text.ts";

const NAMES = ["POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"];
const MAX_DEPTH = 100;

/** Converts WKB to text such as `POINT(1 2)`, as later versions of Spark print it; Spark 4.1 cannot. */
export function geometryText(wkb: Uint8Array): string {
  return new WkbReader(wkb).geometry(0).text;
}

interface Shape {
  readonly text: string;
  /** The text between the parentheses; empty for an empty shape. */
  readonly content: string;
}

class WkbReader {
  readonly #view: DataView;
  #at = 0;
  #isLittle = true;
  #coordinates = 2;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.#view = new DataView(buffer, byteOffset, byteLength);
  }

  geometry(depth: number): Shape {
    if (depth > MAX_DEPTH) throw new Error(`a geometry is nested more than ${MAX_DEPTH} levels deep`);
    this.#isLittle = this.#view.getUint8(this.#at++) === 1;
    const code = this.#count();
    const [dimensions, kind] = [Math.floor(code / 1000), code % 1000];
    const name = NAMES[kind - 1];
    if (name === undefined || dimensions > 3) throw new Error(`unknown type of geometry: ${code}`);
    this.#coordinates = dimensions === 0 ? 2 : dimensions === 3 ? 4 : 3;
    const suffix = ["", " Z", " M", " ZM"][dimensions] ?? "";
    const content = this.#content(kind, depth);
    const shown = content === "" ? " EMPTY" : `${suffix === "" ? "" : " "}(${content})`;
    return { text: `${name}${suffix}${shown}`, content };
  }

  #content(kind: number, depth: number): string {
    switch (kind) {
      case 1:
        return this.#point();
      case 2:
        return this.#points();
      case 3:
        return this.#list(() => `(${this.#points()})`);
      case 7:
        return this.#list(() => this.geometry(depth + 1).text);
      default:
        return this.#list(() => {
          const { content } = this.geometry(depth + 1);
          return content === "" ? "EMPTY" : `(${content})`;
        });
    }
  }

  #points(): string {
    return this.#list(() => this.#point());
  }

  #list(next: () => string): string {
    const parts: string[] = [];
    for (let left = this.#count(); left > 0; left--) parts.push(next());
    return parts.join(",");
  }

  /** The coordinates of an empty point are NaN. */
  #point(): string {
    const values: number[] = [];
    for (let i = 0; i < this.#coordinates; i++) {
      values.push(this.#view.getFloat64(this.#at, this.#isLittle));
      this.#at += 8;
    }
    return values.some(Number.isNaN) ? "" : values.map(coordinate).join(" ");
  }

  #count(): number {
    const count = this.#view.getUint32(this.#at, this.#isLittle);
    this.#at += 4;
    return count;
  }
}

function coordinate(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return String(BigInt(value));
  const sink = new ByteSink(32);
  writeDouble(sink, value);
  return sink.toText(0);
}
