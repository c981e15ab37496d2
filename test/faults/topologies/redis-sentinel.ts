// A Redis master with two replicas and three sentinels: the master killed, or suspended and back after the failover.
import type { TopologyCampaign } from '../topologies.js';

export const REDIS_SENTINEL: readonly TopologyCampaign[] = [];
