import { z } from 'zod'
import type { InstalledVersions } from './command-parts.ts'
import { isOlder, isUnknown } from './drift.ts'
import { Component } from './names.ts'

/** What an emergency brought against a hole: below one of these versions it is open. */
export type Fix = Readonly<{
  emergency: string
  cveId: string | null
  versions: Partial<InstalledVersions>
  /** Null while it is not over. */
  overAt: string | null
}>

/** A hole that would be open again: the emergency that closed it, with what, and what the box would run. */
export const ReintroducedVulnerability = z.object({
  emergency: z.string(),
  cveId: z.string().nullable(),
  component: Component,
  fixed: z.string(),
  /** Null where it is not known. */
  version: z.string().nullable(),
})
export type ReintroducedVulnerability = z.infer<typeof ReintroducedVulnerability>

type Way = Readonly<{ from: InstalledVersions; to: InstalledVersions | null }>

/**
 * The holes that a box opens which goes from these versions to those; one that is open already it does not open. What it would run and nobody
 * knows (`to` null) counts as open, and what it runs and nobody knows as closed.
 */
export const reintroducedVulnerabilities = (fixes: readonly Fix[], { from, to }: Way): ReintroducedVulnerability[] =>
  fixes.flatMap(({ emergency, cveId, versions }) =>
    Component.options.flatMap((component) => {
      const fixed = versions[component]
      const version = to?.[component] ?? null
      if (fixed === undefined || isOpenAlready(component, from[component], fixed)) return []
      return version === null || isUnknown(version) || isOlder(component, version, fixed)
        ? [{ emergency, cveId, component, fixed, version }]
        : []
    }),
  )

const isOpenAlready = (component: Component, version: string, fixed: string): boolean =>
  !isUnknown(version) && isOlder(component, version, fixed)

/** `the hole of CVE-2026-12345 (synapse 1.157.1, and the emergency cve-… brought 1.163.2)`. */
export const vulnerabilitiesText = (holes: readonly ReintroducedVulnerability[]): string =>
  holes
    .map(({ emergency, cveId, component, fixed, version }) => {
      const runs = version === null ? `a ${component} that nobody knows` : `${component} ${version}`
      return `the hole of ${cveId ?? emergency} (${runs}, and the emergency ${emergency} brought ${fixed})`
    })
    .join(', and ')

/** Where a person let it be open: what it means, and what closes it. */
export const reintroducedText = (slug: string, holes: readonly ReintroducedVulnerability[]): string =>
  `${slug} will have ${vulnerabilitiesText(holes)} again. Once it is back: tenantry rollouts create --target ${slug} --start`
