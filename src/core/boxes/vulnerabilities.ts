import { z } from 'zod'
import type { InstalledVersions } from './command-parts.ts'
import { isOlder, isUnknown } from './drift.ts'
import { Component } from './names.ts'

/** The versions with which an emergency rollout fixed a vulnerability. */
export type Fix = Readonly<{
  emergency: string
  cveId: string | null
  versions: Partial<InstalledVersions>
  /** Null while the emergency is not finished. */
  overAt: string | null
}>

/** A vulnerability that a version change reintroduces: the emergency that fixed it, and both versions. */
export const ReintroducedVulnerability = z.object({
  emergency: z.string(),
  cveId: z.string().nullable(),
  component: Component,
  fixed: z.string(),
  /** Null where it is unknown. */
  version: z.string().nullable(),
})
export type ReintroducedVulnerability = z.infer<typeof ReintroducedVulnerability>

type VersionChange = Readonly<{ from: InstalledVersions; to: InstalledVersions | null }>

/**
 * The fixed vulnerabilities that a version change reintroduces. An unknown target (`to` null) counts as vulnerable, an unknown current version as
 * fixed; a vulnerability that the box has already is not reintroduced.
 */
export const reintroducedVulnerabilities = (fixes: readonly Fix[], { from, to }: VersionChange): ReintroducedVulnerability[] =>
  fixes.flatMap(({ emergency, cveId, versions }) =>
    Component.options.flatMap((component) => {
      const fixed = versions[component]
      const version = to?.[component] ?? null
      if (fixed === undefined || isVulnerable(component, from[component], fixed)) return []
      return version === null || isUnknown(version) || isOlder(component, version, fixed)
        ? [{ emergency, cveId, component, fixed, version }]
        : []
    }),
  )

const isVulnerable = (component: Component, version: string, fixed: string): boolean =>
  !isUnknown(version) && isOlder(component, version, fixed)
