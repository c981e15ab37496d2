// The doors of the build under test: of dist, or of the folder that BENCH_PACKAGE names.
import { pathToFileURL } from 'node:url';

const built = process.env.BENCH_PACKAGE
  ? pathToFileURL(`${process.env.BENCH_PACKAGE}/`)
  : new URL('../../../../dist/esm/', import.meta.url);

/** @param name such as `index` or `stores/redis` */
export function door(name) {
  return import(new URL(`${name}.js`, built));
}
