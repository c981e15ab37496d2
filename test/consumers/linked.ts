// Gives many examples their packages from one installation: each sees what its README installs, and nothing else.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../setup/shell.js';
import { consumer } from './consumer.js';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly bin?: string | Readonly<Record<string, string>>;
}

const OURS = 'payment-webhooks';

/**
 * @param packages all that the examples need between them, next to ours
 * @returns links packages of it into the folder of an example
 */
export async function installOnce(
  packages: readonly string[],
): Promise<(names: readonly string[], folder: string) => void> {
  const others = [...new Set(packages)].filter((name) => name !== OURS).sort();
  const project = await consumer('examples', others);
  const installed = join(project.folder, 'node_modules');
  // Its addon is built by a script of npm, and none runs here.
  const addon = 'better-sqlite3/build';
  if (others.includes(dirname(addon)))
    cpSync(join(ROOT, 'node_modules', addon), join(installed, addon), { recursive: true });
  const link = (name: string, modules: string) => {
    const place = join(modules, name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(installed, name), place);
  };
  return (names, folder) => {
    const modules = join(folder, 'node_modules');
    mkdirSync(join(modules, '.bin'), { recursive: true });
    for (const name of names) {
      const manifest: Manifest = JSON.parse(readFileSync(join(installed, name, 'package.json'), 'utf8'));
      if (name === OURS) {
        // A folder of its own, not a link: what it imports is then looked for where the README has installed it.
        spawnSync('cp', ['-al', join(installed, name), join(modules, name)]);
        const own = join(modules, name, 'node_modules');
        for (const dependency of Object.keys(manifest.dependencies ?? {})) link(dependency, own);
      } else link(name, modules);
      const { bin = {} } = manifest;
      const programs = typeof bin === 'string' ? { [name.replace(/^@.*\//, '')]: bin } : bin;
      for (const [program, file] of Object.entries(programs))
        symlinkSync(join('..', name, file), join(modules, '.bin', program));
    }
  };
}
