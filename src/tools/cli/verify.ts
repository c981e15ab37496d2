// `verify`: whether a signature belongs to a body, and if not, why they differ.
import { command, EXIT, jsonOption, keyFileOption, text } from './command.js';
import { explainSignature } from './explain-signature.js';
import { painter } from './print.js';
import { bodyOption, readBody, readKeys } from './read-input.js';

export const verify = command({
  about:
    'Checks the signature over the bytes of the body. If they do not match, it says why: wrong key, reserialized JSON, a byte-order mark, a trailing newline, upper case, or truncated (a signature of fewer than 64 digits, or a body that ends in the middle of its JSON). A key file may hold several keys, one per line.',
  options: {
    signature: text({ HEX: '"$SIGNATURE"' }, 'The value of X-SERVICE-SIGNATURE as received.'),
    body: bodyOption,
    'key-file': keyFileOption,
    json: jsonOption,
  },
  examples: {
    'payment-webhooks verify --signature "$SIGNATURE" --body @captured.json': 'a saved delivery',
    'payment-webhooks verify --signature "$SIGNATURE" --key-file keys.txt < captured.json':
      'with any of several keys',
  },
  async run({ values, terminal }) {
    const keys = await readKeys(values['key-file'], terminal);
    const body = await readBody('--body', values.body, terminal);
    const verdict = explainSignature(body, values.signature ?? '', keys);
    const paint = painter(terminal.stdout, terminal.env);
    if (verdict.valid) {
      const which = keys.length > 1 ? ` It was made with key ${verdict.keyIndex + 1} of ${keys.length}.` : '';
      const text = `${paint('green', 'Valid:')} the signature belongs to this body.${which}`;
      return { values: [verdict], text };
    }
    const { fix, ...difference } = verdict;
    const text = `${paint('red', 'Not valid:')} ${verdict.message}\n${fix}`;
    return { values: [{ ...difference, cure: fix }], text, exitCode: EXIT.failed };
  },
});
