export interface Service {
  readonly url: string;
  readonly port: number;
  /** Its own; the data of a Postgres is in `data`. */
  readonly dir: string;
  readonly pid: number;
  /** Down as if the power had failed, and up again on the same port with the same directory. */
  crash(): Promise<void>;
  /** SIGKILL, and down until `start()`. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Its root has no password. The database `mysql` is the one of the URL. */
export function startMariadb(settings?: readonly string[]): Promise<Service>;
export function startPostgres(
  settings?: readonly string[],
  fill?: (data: string, bin: string) => Promise<void>,
): Promise<Service>;
export function copyOfNew(data: string, bin: string): Promise<void>;
export function startPgBouncer(postgresPort: number, settings?: readonly string[]): Promise<Service>;
export function startNats(): Promise<Service>;
export function startRabbitmq(): Promise<Service>;
export function startRedis(settings?: readonly string[]): Promise<Service>;
export function startSentinel(masterPort: number, settings?: readonly string[]): Promise<Service>;
export function startRedisCluster(): Promise<{ readonly ports: readonly number[]; stop(): Promise<void> }>;
