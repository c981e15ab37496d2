// Runs what a compose file says as processes, because a machine with Node has no Docker for certain: the image is a folder, and
// the services share one network of their own, in which the name of each leads to an address of this machine.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Outcome, type Running, shell, start } from '../setup/shell.js';
import { until } from '../setup/waiting.js';
import { packedInto, QUICKLY } from './consumer.js';

interface Service {
  readonly command?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

export interface Composed {
  /** Starts a service, and waits until it is healthy if it says how. */
  up(service: string): Promise<Running>;
  /** Runs a command in the container of a service. */
  exec(service: string, script: string): Promise<Outcome>;
  down(): Promise<void>;
}

const PREPARED = 'the network is there';
const isRoot = process.getuid?.() === 0;

/** Why it cannot be run here; undefined: it can. */
export function missingNetwork(): string | undefined {
  const { status } = spawnSync('unshare', [...flags(), 'ip', 'link', 'set', 'lo', 'up']);
  return status === 0 ? undefined : 'a network of its own: unshare and ip';
}

function flags(): string[] {
  return isRoot ? ['--net', '--mount'] : ['--map-root-user', '--net', '--mount'];
}

/** @param folder a copy of what stands beside the compose file */
export async function compose(folder: string): Promise<Composed> {
  const { services } = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8')) as {
    services: Record<string, Service>;
  };
  const fallback = await buildImage(folder);
  const network = await openNetwork(folder, Object.keys(services));
  const running = new Map<string, Running>();
  const envOf = (name: string) => services[name]?.environment ?? {};
  return {
    async up(name) {
      const { command = fallback, healthcheck } = services[name] as Service;
      const service = start(network.inside(`exec ${command}`), envOf(name), folder);
      running.set(name, service);
      if (healthcheck) {
        const [, ...test] = healthcheck.test;
        const check = network.inside(test.map(quoted).join(' '));
        const isHealthy = async () => (await shell(check, { cwd: folder })).code === 0;
        await until(isHealthy).catch((error) => {
          throw new Error(`${error}\n${service.output()}`);
        });
      }
      return service;
    },
    exec: (name, script) => shell(network.inside(script), { cwd: folder, env: envOf(name) }),
    async down() {
      await Promise.all([...running.values()].map((service) => service.stop()));
      await network.close();
    },
  };
}

/** Does what the Dockerfile says in the folder, with the packed package in place of the published one. @returns its command */
async function buildImage(folder: string): Promise<string> {
  const manifest = join(folder, 'package.json');
  const { dependencies, ...others } = JSON.parse(readFileSync(manifest, 'utf8'));
  const packed = { ...dependencies, 'payment-webhooks': `file:${packedInto(folder)}` };
  writeFileSync(manifest, JSON.stringify({ ...others, dependencies: packed }));
  let command = '';
  for (const line of readFileSync(join(folder, 'Dockerfile'), 'utf8').split('\n')) {
    const [, instruction, rest = ''] = /^(RUN|CMD) (.*)$/.exec(line) ?? [];
    if (instruction === 'CMD') command = JSON.parse(rest).join(' ');
    if (instruction !== 'RUN') continue;
    const script = rest.replace('npm install', `npm install ${QUICKLY}`);
    const { code, stderr } = await shell(script, { cwd: folder });
    if (code !== 0) throw new Error(`RUN ${rest} failed:\n${stderr}`);
  }
  return command;
}

/** The names of a network are in a hosts file that only its processes see. */
async function openNetwork(folder: string, names: readonly string[]) {
  const addresses = names.map((name, index) => `127.0.0.${index + 2} ${name}`);
  const hosts = join(folder, 'hosts');
  writeFileSync(hosts, ['127.0.0.1 localhost', ...addresses, ''].join('\n'));
  const setUp = `ip link set lo up && mount --bind '${hosts}' /etc/hosts && echo "${PREPARED} in $$" && exec sleep infinity`;
  const holder = start(`exec unshare ${flags().join(' ')} bash -c ${quoted(setUp)}`);
  await holder.printed(new RegExp(`${PREPARED} in \\d+\n`));
  const [, pid] = /in (\d+)\n/.exec(holder.output()) ?? [];
  const user = isRoot ? '' : '--user --preserve-credentials';
  return {
    inside: (script: string) =>
      `exec nsenter --target ${pid} --net --mount ${user} --wd=. bash -c ${quoted(script)}`,
    close: () => holder.stop(),
  };
}

/** As one word of the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
