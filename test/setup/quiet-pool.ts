// A pool of pg that says nothing when its server ends a connection: that is what is tested, or DROP DATABASE did it.
import { Pool } from 'pg';

export function quietPool(connectionString: string, max = 1): Pool {
  return new Pool({ connectionString, max }).on('error', () => {});
}
