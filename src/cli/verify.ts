// `verify`: whether a signature belongs to a body, and if not, how the two differ.
import { command, EXIT, jsonOption, keyFileOption } from './command.js';
import { explainSignature } from './explain-signature.js';
import { painter, printResult } from './print.js';
import { readKeys } from './private-key.js';
import { bodyOption, readBody } from './read-body.js';

export const verify = command({
  about:
    'Checks the signature over the bytes of the body. When they do not belong together it says how they differ: wrong key, re-serialised JSON, a byte-order mark, a trailing newline, upper case, or truncated (a signature of fewer than 64 digits, or a body that ends in the middle of its JSON). A key file may hold several keys, one a line.',
  arguments: [],
  options: {
    signature: {
      type: 'string',
      value: 'HEX',
      about: 'The value of X-SERVICE-SIGNATURE as it was received.',
    },
    body: bodyOption,
    'key-file': keyFileOption,
    json: jsonOption,
  },
  examples: [
    ['payment-webhooks verify --signature "$SIGNATURE" --body @captured.json', 'a delivery that you saved'],
    [
      'payment-webhooks verify --signature "$SIGNATURE" --key-file keys.txt < captured.json',
      'with any of several keys',
    ],
  ],
  async run({ values, terminal }) {
    const keys = await readKeys(values['key-file'], terminal);
    const verdict = explainSignature(await readBody(values.body, terminal), values.signature ?? '', keys);
    const paint = painter(terminal.stdout, terminal.env);
    const { json } = values;
    if (verdict.valid) {
      const which = keys.length > 1 ? ` It was made with key ${verdict.keyIndex + 1} of ${keys.length}.` : '';
      const text = `${paint('green', 'Valid:')} the signature belongs to this body.${which}`;
      printResult(terminal, { json, values: [verdict], text });
      return EXIT.ok;
    }
    const text = `${paint('red', 'Not valid:')} ${verdict.message}\n${verdict.cure}`;
    printResult(terminal, { json, values: [verdict], text });
    return EXIT.failed;
  },
});
