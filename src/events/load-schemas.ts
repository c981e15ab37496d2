// Loads zod for the first event that needs it: without zod, an import of the package takes half as long.
type Schemas = typeof import('./schemas.js');

/** The schemas and not their promise: in Workers, a request cannot wait for the promise of another. */
let loaded: Schemas | undefined;

/** What to do if the promise of {@link withSchemas} rejects. */
export const SCHEMAS_NOT_LOADED =
  'The receiver could not load the schemas that check what differs from the documented shape. ' +
  'Were files of node_modules replaced while the process ran? Restart it.';

/** For `constructEvent()`, which is synchronous. */
export function provideSchemas(schemas: Schemas): void {
  loaded = schemas;
}

/** Returns a promise only until the schemas are loaded. It rejects if they cannot be loaded. */
export function withSchemas<Result>(
  use: (schemas: Schemas) => Result | Promise<Result>,
): Result | Promise<Result> {
  if (loaded) return use(loaded);
  return import('./schemas.js').then((schemas) => {
    loaded = schemas;
    return use(schemas);
  });
}
