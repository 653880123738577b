// A fleet that is behind its manifest, with a rollout to it that has just been started: what the benches of the engine drive.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { parseSynapseSchemas } from '../dist/core/boxes/index.js'
import { applyManifest } from '../dist/daemon/boxes/index.js'
import { migrate, openDatabase } from '../dist/daemon/db/index.js'
import { makeCommandBus } from '../dist/daemon/hosts/index.js'
import { makeRolloutBus } from '../dist/daemon/rollouts/index.js'
import { createRollout, startRollout } from '../dist/daemon/rollouts/testing.js'
import { packageRoot, silentLogger, systemClock, systemRandom } from '../dist/node/index.js'
import { seedFleet } from './fleet-seed.js'

const schemas = parseSynapseSchemas(parse(readFileSync(packageRoot('config/synapse-schema.yaml'), 'utf8')))
/** @type {{ kind: 'system', name: string }} */
const actor = { kind: 'system', name: 'bench' }
const versions = { migrationsHead: '0000', postgres: '15.18', synapse: '1.163.2', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const images = {
  edge: 'registry.bench/edge:1',
  synapse: 'registry.bench/synapse:v{version}',
  postgres: 'registry.bench/postgres:{version}',
  minio: 'registry.bench/minio:{version}',
}

const everyTier = (value) => ({ free: value, pro: value, enterprise: value })

/** Dependencies of rollouts. @returns {import('../dist/daemon/rollouts/index.js').RolloutsDeps} */
export const rolloutDeps = (db, owner) => ({
  db,
  clock: systemClock,
  random: systemRandom,
  log: silentLogger(),
  bus: makeCommandBus(),
  rolloutBus: makeRolloutBus(),
  owner,
  settings: { parallel: 3, perHost: 1, pollMs: 5000, actionDeadlineMs: 7_200_000 },
  probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 },
  staleAfterMs: 26 * 3_600_000,
  offlineAfterMs: 3_600_000,
  schemas,
  fenceMaxMs: 15 * 60_000,
  upgrades: { keepFormerDays: 7, rehearsalMaxAgeMs: 14 * 86_400_000 },
  copyBytesPerSecond: 64_000_000,
  migrations: [],
  windows: { timeZone: 'UTC', windows: { free: null, pro: null, enterprise: null } },
  approvalTokenSha256: undefined,
  hasRecoveryKey: true,
  assertSnapshotsConfigured: () => undefined,
  fences: everyTier('auto'),
  snapshots: everyTier('before'),
})

/** Answers the id of the started rollout. */
export async function seedRollout(databaseUrl, { hosts, boxesPerHost }) {
  await seedFleet(databaseUrl, 'http://127.0.0.1:1', { hosts, boxesPerHost })
  const { db, close } = openDatabase(databaseUrl)
  await migrate(db)
  const at = new Date().toISOString()
  await db.updateTable('boxes').set({ reported_at: at }).execute()
  await db.updateTable('hosts').set({ last_seen_at: at, protocol_version: 1, agent_version: '0.1.0' }).execute()
  const deps = rolloutDeps(db, 'seed')
  await applyManifest(deps, actor, { images, tiers: everyTier(versions) })
  const { id } = await createRollout(deps, actor, { skipRefused: false, allowLongFence: false, failureThreshold: 1 })
  await startRollout(deps, actor, { id })
  await close()
  return id
}
