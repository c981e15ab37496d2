// Types of check-release.js, which the release workflow runs before anything is installed.
export function checkRelease(release: {
  readonly tag?: string | undefined;
  readonly version: string;
  readonly changelog: string;
}): { problems: string[]; notes: string };
