/** Reads JSON objects field by field. A schema library would take more memory than the rest of a runner. */
export interface Fields {
  names(): string[];
  value(name: string): unknown;
  string(name: string): string;
  optionalString(name: string): string | null;
  /** Without a default the field is required. */
  number(name: string, ifAbsent?: number): number;
  optionalNumber(name: string): number | null;
  strings(name: string): string[];
  optionalObject(name: string): Fields | null;
}

export function readFields(text: string): Fields {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null) throw new Error("not a JSON object");
  return fieldsOf(parsed);
}

function fieldsOf(object: object): Fields {
  const entries = new Map<string, unknown>(Object.entries(object));
  const value = (name: string): unknown => entries.get(name) ?? null;
  const wrong = (name: string): Error => new Error(`${name} is missing or of the wrong type`);
  const optionalNumber = (name: string): number | null => {
    const found = value(name);
    if (found === null) return null;
    if (typeof found !== "number" || !Number.isFinite(found)) throw wrong(name);
    return found;
  };
  const optionalString = (name: string): string | null => {
    const found = value(name);
    if (found === null || typeof found === "string") return found;
    throw wrong(name);
  };
  return {
    names: () => [...entries.keys()],
    value,
    optionalNumber,
    optionalString,
    string(name) {
      const found = optionalString(name);
      if (found === null) throw wrong(name);
      return found;
    },
    number(name, ifAbsent) {
      const found = optionalNumber(name) ?? ifAbsent;
      if (found === undefined) throw wrong(name);
      return found;
    },
    strings(name) {
      const found = value(name);
      if (!Array.isArray(found) || !found.every((entry) => typeof entry === "string")) throw wrong(name);
      return found;
    },
    optionalObject(name) {
      const found = value(name);
      if (found === null) return null;
      if (typeof found !== "object") throw wrong(name);
      return fieldsOf(found);
    },
  };
}
