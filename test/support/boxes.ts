import type { Manifest, VersionsReport } from '../../src/core/boxes/index.ts'

const versions = { migrationsHead: '0000', postgres: '17.6', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }

/** The same versions for every tier, with changes for all of them. */
export const aManifest = (changes: Partial<typeof versions> = {}): Manifest => {
  const tier = { ...versions, ...changes }
  return {
    images: {
      edge: 'registry.example/edge:1.22',
      synapse: 'registry.example/synapse:v{version}',
      postgres: 'registry.example/postgres:{version}',
      minio: 'registry.example/minio:{version}',
    },
    tiers: { free: tier, pro: tier, enterprise: tier },
  }
}

export const aReport = (slug: string, changes: Partial<VersionsReport> = {}): VersionsReport => ({
  slug,
  at: '2026-01-05T02:00:00.000Z',
  installed: versions,
  services: {
    edge: { image: 'registry.example/edge:1.22', digest: null, state: 'running', restartCount: 0 },
    synapse: { image: 'registry.example/synapse:v1.157.1', digest: null, state: 'running', restartCount: 0 },
  } as VersionsReport['services'],
  fenced: false,
  ownershipEpoch: 1,
  managed: true,
  ...changes,
})

export const aProbe = (at = '2026-01-05T02:00:00.000Z') => {
  const ok = { ok: true, ms: 5 }
  return { at, verdict: 'ok' as const, components: { chatApi: ok, chatSync: ok, database: ok, objectStorage: ok } }
}
