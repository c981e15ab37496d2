// `node test/setup/check-release.js v1.2.3` checks that a tag may be released: it is the version of the package, and the
// changelog has a section for it. Prints that section, for the notes of the release.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * @param {{ tag?: string, version: string, changelog: string }} release
 * @returns {{ problems: string[], notes: string }}
 */
export function checkRelease({ tag = '', version, changelog }) {
  const sections = new Map(changelog.split(/^## /m).slice(1).map(titleAndText));
  const notes = sections.get(version) ?? '';
  const problems = [];
  if (tag !== `v${version}`) {
    problems.push(
      `The tag is ${JSON.stringify(tag)}, and the version in package.json is ${version}. Tag v${version}, or change the version.`,
    );
  }
  if (notes === '') {
    problems.push(
      `docs/changelog.md has no text below "## ${version}". Write what a user of ${version} will notice.`,
    );
  }
  if (sections.get('Unreleased')) {
    problems.push(`docs/changelog.md has text below "## Unreleased". Move it below "## ${version}".`);
  }
  return { problems, notes };
}

function titleAndText(section) {
  const [title = '', ...lines] = section.split('\n');
  return [title.trim(), lines.join('\n').trim()];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const read = (file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const { version } = JSON.parse(read('package.json'));
  const { problems, notes } = checkRelease({
    tag: process.argv[2],
    version,
    changelog: read('docs/changelog.md'),
  });
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(notes);
}
