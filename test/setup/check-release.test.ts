// What keeps a release from npm: another version, no section in the changelog, or text that was not moved there.
import { describe, expect, test } from '@jest/globals';
import { checkRelease } from './check-release.js';
import { node } from './shell.js';

const CHANGELOG = `# Changelog

## 1.2.0

- Replays one event.
  It says which.

### Fixed

- A typo.

## 1.2.0-beta

- Replays.

## 1.1.0
`;

const release = { tag: 'v1.2.0', version: '1.2.0', changelog: CHANGELOG };

describe('a release', () => {
  test('passes when tag, version and changelog agree, and has the section as its notes', () => {
    expect(checkRelease(release)).toEqual({
      problems: [],
      notes: '- Replays one event.\n  It says which.\n\n### Fixed\n\n- A typo.',
    });
  });

  test.each([
    [
      'another version',
      { tag: 'v1.2.1' },
      ['The tag is "v1.2.1", and the version in package.json is 1.2.0.'],
    ],
    ['a tag without its letter', { tag: '1.2.0' }, ['The tag is "1.2.0"']],
    ['no tag', { tag: undefined }, ['The tag is ""']],
    [
      'a version that only begins like one in the changelog',
      { tag: 'v1.2', version: '1.2' },
      ['no text below "## 1.2"'],
    ],
    [
      'a section without text',
      { tag: 'v1.1.0', version: '1.1.0' },
      ['no text below "## 1.1.0". Write what a user of 1.1.0 will notice.'],
    ],
    [
      'text that is still unreleased',
      { changelog: CHANGELOG.replace('## 1.2.0', '## Unreleased\n\n- More.\n\n## 1.2.0') },
      ['text below "## Unreleased". Move it below "## 1.2.0".'],
    ],
    [
      'several of these',
      { tag: 'v9', changelog: '## Unreleased\n\n- More.\n' },
      ['The tag is "v9"', 'no text below', 'below "## Unreleased"'],
    ],
  ])('is stopped by %s', (_what, damage, expected) => {
    const { problems } = checkRelease({ ...release, ...damage });
    expect(problems).toEqual(expected.map((text) => expect.stringContaining(text)));
  });

  test('passes with an empty section for what comes next', () => {
    const changelog = CHANGELOG.replace('## 1.2.0', '## Unreleased\n\n## 1.2.0');
    expect(checkRelease({ ...release, changelog }).problems).toEqual([]);
  });
});

describe('as a program', () => {
  test('reads this package, and exits with 1 for the tag of another version', async () => {
    const { code, stdout, stderr } = await node(['test/setup/check-release.js', 'v999.0.0']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('The tag is "v999.0.0", and the version in package.json is ');
  });
});
