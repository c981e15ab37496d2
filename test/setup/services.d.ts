export interface Service {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

export function freePort(): Promise<number>;
export function startPostgres(settings?: readonly string[]): Promise<Service>;
export function startRedis(settings?: readonly string[]): Promise<Service>;
export function startRedisCluster(): Promise<{ readonly ports: readonly number[]; stop(): Promise<void> }>;
