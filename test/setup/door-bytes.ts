// `tsx test/setup/door-bytes.ts FILE...`: what doors weigh in a bundle, minified, without the packages they import.
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

export interface DoorBytes {
  /** What an import loads. */
  readonly loaded: number;
  /** With what is loaded when it is first asked for. */
  readonly all: number;
}

export function bytesOf(file: string): DoorBytes {
  const { metafile } = buildSync({
    entryPoints: { door: file },
    ...{ bundle: true, minify: true, platform: 'node', format: 'esm', packages: 'external', write: false },
    ...{ splitting: true, outdir: 'out', metafile: true },
  });
  const loaded = new Map<string, number>();
  const load = (path: string) => {
    const output = metafile.outputs[path];
    if (!output || loaded.has(path)) return;
    loaded.set(path, output.bytes);
    for (const { path: next, kind } of output.imports) if (kind === 'import-statement') load(next);
  };
  load('out/door.js');
  const sum = (bytes: Iterable<number>) => [...bytes].reduce((total, each) => total + each, 0);
  return {
    loaded: sum(loaded.values()),
    all: sum(Object.values(metafile.outputs).map(({ bytes }) => bytes)),
  };
}

const [program, ...files] = process.argv.slice(1);
if (program === fileURLToPath(import.meta.url)) console.log(JSON.stringify(files.map(bytesOf)));
