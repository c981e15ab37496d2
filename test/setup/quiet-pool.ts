// A pool of pg that says nothing when its server goes down: that is what is tested.
import { Pool } from 'pg';

export function quietPool(connectionString: string, max = 1): Pool {
  return new Pool({ connectionString, max }).on('error', () => {});
}
