import type { ObjectStore } from "./object-store.ts";
import { ObjectStoreError } from "./object-store-error.ts";
import { parseObjectUri, type ObjectScheme } from "./object-uri.ts";

/** Combines several stores into one that uses the store of each URI's scheme. */
export function byScheme(stores: Partial<Record<ObjectScheme, ObjectStore>>): ObjectStore {
  const of = (uri: string): ObjectStore => {
    const { scheme } = parseObjectUri(uri);
    const store = stores[scheme];
    if (store === undefined)
      throw new ObjectStoreError("bad-uri", `${scheme}: is not available here; use ${Object.keys(stores).join(", ")}`);
    return store;
  };
  return {
    get: async (uri, options) => of(uri).get(uri, options),
    put: async (uri, body, options) => of(uri).put(uri, body, options),
    list: (uri, options) => of(uri).list(uri, options),
    page: async (uri, options) => of(uri).page(uri, options),
    folder: (uri, options) => of(uri).folder(uri, options),
    delete: async (uri, options) => of(uri).delete(uri, options),
    stat: async (uri, options) => of(uri).stat(uri, options),
    removeFolder: async (uri, options) => of(uri).removeFolder(uri, options),
    discard: async (unfinished, options) => of(unfinished.uri).discard(unfinished, options),
    async close() {
      await Promise.all(Object.values(stores).map((store) => store.close()));
    },
  };
}
