import { describe, expect, test } from '@jest/globals';
import { delivery } from '../setup/delivery.js';
import { frameworks, startEndpoint } from '../setup/endpoint.js';

describe.each(frameworks)('the signature, on %s', (framework) => {
  test('a signature over these bytes is accepted', async () => {
    const endpoint = await startEndpoint({}, { framework });
    const reply = await endpoint.post(delivery());
    expect(reply).toMatchObject({ status: 200, body: { received: true, outcome: 'processed' } });
    expect(endpoint.handled).toHaveLength(1);
    expect(endpoint.records).toMatchObject([{ status: 200, outcome: 'processed', keyIndex: 0 }]);
  });
});
