import { readFileSync } from 'node:fs'

// CHANGED_AREAS, which scripts/changed-areas.js prints, says what is tested thoroughly. Where it is not set, everything is.

/**
 * `tests` run in CI when a file below one of `changes` changed, or below those of the area that it `uses`. Those of a `rare` area take minutes
 * for what other tests prove in part: they run after their own changes and before a release, not after a change on which all tests depend.
 */
type Area = Readonly<{ rare?: boolean; uses?: string; changes: readonly string[]; tests: readonly string[] }>

export const areas: Readonly<Record<string, Area>> = JSON.parse(readFileSync(new URL('../areas.json', import.meta.url), 'utf8'))

const isNamed = (name: string, changed: string | undefined) => changed === undefined || changed.split(',').includes(name)

/** Tests of the areas that are left out. */
export const testsOfUnchangedAreas = (changed: string | undefined): string[] =>
  Object.entries(areas).flatMap(([name, { tests }]) => (isNamed(name, changed) ? [] : tests))

/** Queues, leases and event streams, on which other features build. */
const alwaysThorough = ['daemon/db', 'daemon/events', 'daemon/work']

/** Whether a test file is run on PostgreSQL too: of a feature of the daemon only if that changed. */
export function isOfChangedFeature(testFile: string, changed: string | undefined): boolean {
  const feature = /\/test\/(daemon\/[^/]+)\//.exec(testFile)?.[1]
  return feature === undefined || alwaysThorough.includes(feature) || isNamed(feature, changed)
}
