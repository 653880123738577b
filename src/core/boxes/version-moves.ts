import type { InstalledVersions } from './command-parts.ts'
import type { Component } from './names.ts'

const components = ['synapse', 'postgres', 'minio', 'migrationsHead'] as const satisfies readonly Component[]

/** `synapse 1.157.1 → 1.163.2`, for each changed component. */
export const versionMoves = (from: InstalledVersions, to: InstalledVersions): string =>
  components
    .filter((component) => from[component] !== to[component])
    .map((component) => `${component === 'migrationsHead' ? 'migrations' : component} ${from[component]} → ${to[component]}`)
    .join(', ')
