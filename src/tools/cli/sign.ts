// `sign`: the signature of a body, as the service would send it.
import { sign as signature } from '../../signature.js';
import { command, jsonOption, keyFileOption } from './command.js';
import { bodyOption, readBody, readKey } from './read-input.js';

export const sign = command({
  about:
    'Prints the lower-case hexadecimal HMAC-SHA256 of the body, keyed with the private key: the value of X-SERVICE-SIGNATURE. Every byte counts, also a line break at the end of a file.',
  options: { body: bodyOption, 'key-file': keyFileOption, json: jsonOption },
  examples: {
    'printf %s \'{"a":1}\' | payment-webhooks sign':
      'the same digits as openssl dgst -sha256 -hmac "$SERVICE_PRIVATE_KEY"',
    'payment-webhooks sign --body @event.json --key-file key.txt': 'a body and a key from files',
  },
  async run({ values, terminal }) {
    const key = await readKey(values['key-file'], terminal);
    const digits = signature(await readBody('--body', values.body, terminal), key);
    return { values: [{ signature: digits }], text: digits };
  },
});
