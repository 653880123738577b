import { hkdfSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { isProblem, type TenantId } from '../../../src/core/kit/index.ts'
import {
  assertSnapshotsConfigured,
  commandSecrets,
  reachesStore,
  recoveryPassword,
  snapshotRepository,
} from '../../../src/daemon/snapshots/index.ts'
import { maintenanceRepository } from '../../../src/daemon/snapshots/snapshot-store.ts'
import { aBoxesWorld, aLiveBox } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const backupKey = Buffer.alloc(32, 7).toString('base64')
const tenant = (id: string) => id as TenantId
const credentials = { accessKeyId: 'id', secretAccessKey: 'key' }

test.each([
  [{}, ['TENANTRY_BACKUP_KEY', 'TENANTRY_SNAPSHOT_STORE']],
  [{ backupKey }, ['TENANTRY_SNAPSHOT_STORE']],
  [{ snapshotStore: 'file:/srv/snapshots' }, ['TENANTRY_BACKUP_KEY']],
  [{ backupKey, snapshotStore: 's3://s3.example/box' }, ['CREDENTIALS']],
])('without key, store and credentials nothing is updated: %j', (settings, named) => {
  try {
    assertSnapshotsConfigured(settings)
    expect.unreachable()
  } catch (error) {
    expect(isProblem(error, 'CONFIG')).toBe(true)
    for (const name of named) expect((error as Error).message).toContain(name)
  }
})

test('each tenant has a repository and a password of its own', () => {
  const settings = { backupKey, snapshotStore: 'file:/srv/snapshots/' }
  const [a, b] = [snapshotRepository(settings, tenant('ten_a')), snapshotRepository(settings, tenant('ten_b'))]
  expect(a.repository).toBe('/srv/snapshots/ten_a/v1')
  expect(a.password).not.toBe(b.password)
  const derived = Buffer.from(hkdfSync('sha256', Buffer.alloc(32, 7), 'ten_a', 'snapshots v1', 32)).toString('base64url')
  expect(a).toEqual({ repository: '/srv/snapshots/ten_a/v1', password: derived, env: {} })
})

test('an S3 store is reached by https with its credentials', () => {
  const made = snapshotRepository(
    { backupKey, snapshotStore: 's3://s3.example/bucket', snapshotStoreCredentials: credentials },
    tenant('ten_a'),
  )
  expect(made.repository).toBe('s3:https://s3.example/bucket/ten_a/v1')
  expect(made.env).toEqual({ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key' })
})

test('maintenance by the daemon has a credential that agents lack; without one it uses theirs', () => {
  const settings = { backupKey, snapshotStore: 's3://s3.example/bucket', snapshotStoreCredentials: credentials }
  const upkeep = { accessKeyId: 'upkeep', secretAccessKey: 'other' }
  expect(maintenanceRepository({ ...settings, snapshotUpkeep: upkeep }, tenant('ten_a'))).toEqual({
    ...snapshotRepository(settings, tenant('ten_a')),
    env: { AWS_ACCESS_KEY_ID: 'upkeep', AWS_SECRET_ACCESS_KEY: 'other' },
  })
  expect(maintenanceRepository(settings, tenant('ten_a'))).toEqual(snapshotRepository(settings, tenant('ten_a')))
  expect(JSON.stringify(snapshotRepository({ ...settings, snapshotUpkeep: upkeep }, tenant('ten_a')))).not.toContain('upkeep')
})

test.each([
  ['s3://s3.example/bucket', true],
  ['s3+http://127.0.0.1:9000/bucket', true],
  ['file:/srv/snapshots', false],
  [undefined, false],
])('the daemon reaches the store %s: %j', (snapshotStore, reaches) => {
  expect(reachesStore({ snapshotStore })).toBe(reaches)
})

test('the recovery password depends only on the recovery key and the tenant, and is sent beside the password', () => {
  const recoveryKey = Buffer.alloc(32, 8).toString('base64')
  const derived = Buffer.from(hkdfSync('sha256', Buffer.alloc(32, 8), 'ten_a', 'snapshots recovery v1', 32)).toString('base64url')
  expect(recoveryPassword(recoveryKey, 'ten_a')).toBe(derived)
  const made = snapshotRepository({ backupKey, snapshotStore: 'file:/srv', recoveryKey }, tenant('ten_a'))
  expect(made.recoveryPassword).toBe(derived)
  expect(made.password).not.toBe(derived)
  expect(snapshotRepository({ backupKey, snapshotStore: 'file:/srv' }, tenant('ten_a'))).not.toHaveProperty('recoveryPassword')
})

onBothDialects('secrets of a command', (fresh) => {
  test('they are those of the tenant whose box it is for', async () => {
    const room = await aBoxesWorld(await fresh())
    const box = await aLiveBox(room, 'north')
    const settings = { backupKey, snapshotStore: 'file:/srv/snapshots' }
    const deps = { clock: room.clock, fetch: async () => Response.error() }
    const secrets = commandSecrets({ ...deps, settings })
    expect(await secrets(room.db, { boxId: box.id })).toEqual({
      snapshots: { ...snapshotRepository(settings, box.tenantId), mayCreate: true },
    })
    await expect(secrets(room.db, { boxId: 'box_none' })).rejects.toThrow(/box box_none does not exist/)
    await expect(commandSecrets({ ...deps, settings: {} })(room.db, { boxId: box.id })).rejects.toSatisfy((error) =>
      isProblem(error, 'CONFIG'),
    )
  })
})
