import type { Component, InstalledVersions } from '../../core/boxes/index.ts'

const components = ['synapse', 'postgres', 'minio', 'migrationsHead'] as const satisfies readonly Component[]

/** `synapse 1.157.1 → 1.163.2`, for each component that moves. */
export const versionMoves = (from: InstalledVersions, to: InstalledVersions): string =>
  components
    .filter((component) => from[component] !== to[component])
    .map((component) => `${component === 'migrationsHead' ? 'migrations' : component} ${from[component]} → ${to[component]}`)
    .join(', ')
