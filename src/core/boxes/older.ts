import semver from 'semver'
import type { Component } from './names.ts'

/** Nobody could read it, or it is a tag that says nothing. */
export const isUnknown = (version: string): boolean => version === 'unknown' || version === 'latest' || version === ''

/**
 * Whether a version lies before another of the same component. What cannot be compared does not; but of object storage one that names no time
 * of release lies before all that do.
 */
export function isOlder(component: Component, version: string, than: string): boolean {
  if (component === 'migrationsHead') return isHead(version) && isHead(than) && version < than
  if (component === 'minio') return releaseTime(version) < releaseTime(than)
  // PostgreSQL has two numbers and maybe the name of a build; Synapse has release candidates, which count.
  const read = (text: string) => (component === 'synapse' ? semver.parse(text, { loose: true }) : null) ?? semver.coerce(text)
  const [here, there] = [read(version), read(than)]
  return here !== null && there !== null && semver.lt(here, there)
}

const isHead = (text: string): boolean => /^[0-9]{4}$/.test(text)

/** `RELEASE.2025-09-07T16-13-09Z` and `2025-09-07T16:13:09Z` are the same moment: its digits in their order sort as time. */
const releaseTime = (version: string): string => (/\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d/.exec(version)?.[0] ?? '').replace(/\D/g, '')
